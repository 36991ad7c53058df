//! The lifecycle of a child, the same for every job: spawn, deliver the job and the answers to its requests, wait for
//! its result until the deadline or a stop, kill its process group, reap it.
//!
//! [`SpawnedChild`] → [`RunningChild`] → [`ChildEnd`]. Dropping one of the first two kills and reaps the child as well.

use std::future::Future;
use std::io;
use std::process::{ChildStdout, ExitStatus};
use std::time::Duration;

use tokio::sync::watch;

use crate::daemon::threads::{self, ThreadResult};
use crate::process::ChildProcess;
use crate::protocol::{ChildJob, FrameError, Job, MessageReader, ParentSocket};

use super::answers::AnswerReceiver;
use super::spawn::Spawner;

/// A child that waits for its job.
pub struct SpawnedChild {
    process: ChildProcess,
    socket: ParentSocket,
    stdout: ChildStdout,
}

impl SpawnedChild {
    pub async fn spawn(spawner: &Spawner) -> io::Result<SpawnedChild> {
        let (mut child, socket) = spawner.spawn().await?;
        let stdout = child.stdout.take();
        let process = ChildProcess::supervise(child)?;
        let stdout = stdout.ok_or_else(|| io::Error::other("its stdout is not piped"))?;
        Ok(SpawnedChild { process, socket, stdout })
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Delivers the job with its raw bytes, and then the answers to the child's requests. `read` reads its messages in
    /// a thread of its own; what it returns is the child's result.
    pub fn deliver<J: ChildJob, R: Send + 'static>(
        self,
        job: J,
        raw: Vec<u8>,
        answers: AnswerReceiver,
        read: impl FnOnce(ChildMessages<J::Message>) -> R + Send + 'static,
    ) -> io::Result<RunningChild<R>> {
        let SpawnedChild { process, socket, stdout } = self;
        let messages = MessageReader::new(stdout, job.budget());
        let job = job.into();
        let writer = threads::start("child-write", move || write_job_and_answers(socket, &job, &raw, answers))?;
        let reader = threads::start("child-read", move || read(messages))?;
        Ok(RunningChild { process, writer, reader })
    }
}

/// The socket is held open to the end: the child exits when its stdin is closed.
fn write_job_and_answers(
    mut socket: ParentSocket,
    job: &Job,
    raw: &[u8],
    answers: AnswerReceiver,
) -> Result<ParentSocket, FrameError> {
    socket.write(job, raw)?;
    answers.write_all(&mut socket)?;
    Ok(socket)
}

/// The messages of a child, within the budget of its job.
pub type ChildMessages<M> = MessageReader<ChildStdout, M>;

/// A child at work, and the threads that exchange messages with it.
pub struct RunningChild<R> {
    process: ChildProcess,
    writer: ThreadResult<Result<ParentSocket, FrameError>>,
    reader: ThreadResult<R>,
}

/// Why the parent killed a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillReason {
    TimeLimit,
    Stop,
}

/// A child that has ended and is reaped.
pub struct ChildEnd<R> {
    /// `None` when the reader panicked.
    pub result: Option<R>,
    /// `None` when the child ended by itself.
    pub killed: Option<KillReason>,
    /// The end of its stderr.
    pub stderr: String,
    pub status: Option<ExitStatus>,
}

impl<R> RunningChild<R> {
    /// Waits for the child's result, at most until the time limit or the stop. The whole process group is killed in
    /// any case, whatever it still does.
    pub async fn finish(mut self, time_limit: Duration, stop: impl Future<Output = ()>) -> ChildEnd<R> {
        let (result, killed) = tokio::select! {
            result = &mut self.reader => (result, None),
            () = tokio::time::sleep(time_limit) => self.kill(KillReason::TimeLimit).await,
            () = stop => self.kill(KillReason::Stop).await,
        };
        let (stderr, status) = self.process.kill_and_wait().await;
        drop(self.writer.await);
        ChildEnd { result, killed, stderr, status }
    }

    /// What the child had sent by then is still its result.
    async fn kill(&mut self, reason: KillReason) -> (Option<R>, Option<KillReason>) {
        self.process.kill();
        ((&mut self.reader).await, Some(reason))
    }
}

/// Completes when the flag becomes true.
pub async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|&now| now).await.is_err() {
        // The sender is gone, so no stop can come.
        std::future::pending::<()>().await;
    }
}
