//! Step-by-step execution for the dashboard: a sandboxed child whose robot waits for a command before each step.
//! Nothing is published or kept.

use std::io;

use chrono::Utc;
use tokio::sync::mpsc;

use crate::model::{RunId, StepwiseState};
use crate::protocol::{ParentAnswer, StepJob, StepMessage};
use crate::tasks::TaskFolder;

use super::answers::{AnswerSender, ChildAnswer};
use super::host_limiter::SharedHostLimiter;
use super::lifecycle::{MessageReader, RunningChild, SpawnedChild};
use super::requests::ChildRequests;
use super::scratch::ScratchFolder;
use super::spawn::Spawner;

/// A stepping session. Its child process ends with it.
pub struct StepProcess {
    answers: AnswerSender,
    states: mpsc::Receiver<(StepwiseState, Vec<u8>)>,
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
        let (answers, answered) = std::sync::mpsc::channel();
        let requests = ChildRequests::open(RunId::new(), folder, &job.fetch.addresses, host_limiter, answers.clone());
        let (sender, states) = mpsc::channel(1);
        // The process ends when its stdin is closed, the threads when the process ends.
        let child =
            child.deliver(job, Vec::new(), answered, move |messages| serve_requests(messages, requests, &sender))?;
        Ok(StepProcess { answers, states, _child: child, _scratch: scratch })
    }

    /// The state before the first step. `None` when the robot could not be started.
    pub async fn first_state(&mut self) -> Option<StepwiseState> {
        self.states.recv().await.map(|(state, _)| state)
    }

    /// Executes a step, or undoes one. `None` when the process has ended.
    pub async fn step(&mut self, forward: bool) -> Option<(StepwiseState, Vec<u8>)> {
        self.answers.send(ChildAnswer::Reply(ParentAnswer::Step { forward }, Vec::new())).ok()?;
        self.states.recv().await
    }
}

/// Answers the child's requests as for a run.
fn serve_requests(
    mut messages: MessageReader<StepMessage>,
    mut requests: ChildRequests,
    states: &mpsc::Sender<(StepwiseState, Vec<u8>)>,
) {
    while let Ok(Some((message, raw))) = messages.next_message() {
        match message {
            StepMessage::Request(request) => requests.answer(request, Utc::now()),
            StepMessage::State(state) => {
                requests.release_while_idle();
                if states.blocking_send((state, raw)).is_err() {
                    return;
                }
            }
        }
    }
}
