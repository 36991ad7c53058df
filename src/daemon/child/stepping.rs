//! Step-by-step execution for the dashboard: a sandboxed child whose robot waits for a command before each step.
//! Nothing is published or kept.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::Utc;
use tokio::sync::mpsc;

use crate::model::{RunId, StepwiseState};
use crate::protocol::{ParentAnswer, StepJob, StepMessage};
use crate::tasks::TaskFolder;

use super::answers::{self, AnswerSender, ChildAnswer};
use super::host_limiter::SharedHostLimiter;
use super::lifecycle::{ChildMessages, RunningChild, SpawnedChild};
use super::requests::ChildRequests;
use super::scratch::ScratchFolder;
use super::spawn::Spawner;

/// A stepping session. Its child process ends with it.
pub struct StepProcess {
    answers: AnswerSender,
    states: mpsc::Receiver<(StepwiseState, Vec<u8>)>,
    /// Commands so far: the child sends one state for each.
    commands: Arc<AtomicUsize>,
    _child: RunningChild<()>,
    _scratch: Option<ScratchFolder>,
}

impl StepProcess {
    pub async fn start(
        spawner: &Spawner,
        host_limiter: SharedHostLimiter,
        folder: &TaskFolder,
        job: StepJob,
        scratch: Option<ScratchFolder>,
    ) -> io::Result<StepProcess> {
        let child = SpawnedChild::spawn(spawner).await?;
        let (answers, answered) = answers::channel();
        let requests = ChildRequests::open(RunId::new(), folder, &job.fetch.addresses, host_limiter, answers.clone());
        let (sender, states) = mpsc::channel(1);
        // The process ends when its stdin is closed, the threads when the process ends.
        let commands = Arc::new(AtomicUsize::new(0));
        let expected = Arc::clone(&commands);
        let child = child.deliver(job, Vec::new(), answered, move |messages| {
            serve_requests(messages, requests, &sender, &expected);
        })?;
        Ok(StepProcess { answers, states, commands, _child: child, _scratch: scratch })
    }

    /// The state before the first step. `None` when the robot could not be started.
    pub async fn first_state(&mut self) -> Option<StepwiseState> {
        self.states.recv().await.map(|(state, _)| state)
    }

    /// Executes a step, or undoes one. `None` when the process has ended.
    pub async fn step(&mut self, forward: bool) -> Option<(StepwiseState, Vec<u8>)> {
        self.commands.fetch_add(1, Ordering::SeqCst);
        if !self.answers.send(ChildAnswer::Reply(ParentAnswer::Step { forward }, Vec::new())) {
            return None;
        }
        self.states.recv().await
    }
}

/// Answers the child's requests as for a run.
fn serve_requests(
    mut messages: ChildMessages<StepMessage>,
    mut requests: ChildRequests,
    states: &mpsc::Sender<(StepwiseState, Vec<u8>)>,
    commands: &AtomicUsize,
) {
    let mut reported = 0;
    loop {
        let (message, raw) = match messages.next_message() {
            Ok(Some(message)) => message,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!("the process of a stepping session was ended: it {error}");
                return;
            }
        };
        match message {
            StepMessage::Request(request) => requests.answer(request, Utc::now()),
            // One state before the first step, and one for each command.
            StepMessage::State(_) if reported > commands.load(Ordering::SeqCst) => {
                tracing::warn!("the process of a stepping session was ended: it sent a state that was not asked for");
                return;
            }
            StepMessage::State(state) => {
                reported += 1;
                requests.release_while_idle();
                if states.blocking_send((state, raw)).is_err() {
                    return;
                }
            }
        }
    }
}
