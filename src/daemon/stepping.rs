//! Step-by-step execution for `pieme step`: a sandboxed child whose robot waits for a command before each step. Nothing
//! is published or kept.

use std::io;
use std::process::ChildStdout;
use std::sync::Arc;

use chrono::Utc;
use tokio::sync::mpsc;

use crate::model::{RunId, StepwiseState, shortage};
use crate::protocol;
use crate::protocol::{Job, MAX_MESSAGES, Message, ParentAnswer};
use crate::tasks::TaskFolder;

use super::child::requests::ChildRequests;
use super::host_limiter::{AnswerSender, ChildAnswer};
use super::process::ChildProcess;
use super::runner::{Runner, write_job_and_answers};
use super::scratch::ScratchFolder;
use super::threads;

/// A stepping session. Its child process ends with it.
pub struct StepProcess {
    answers: AnswerSender,
    reports: mpsc::Receiver<(StepwiseState, Vec<u8>)>,
    _process: ChildProcess,
    _scratch: Option<ScratchFolder>,
}

impl Runner {
    /// Starts the child and waits until it is ready for the first step.
    pub async fn start_stepping(&self, folder: &Arc<TaskFolder>) -> Result<(StepProcess, StepwiseState), String> {
        let run = RunId::new();
        let (mut job, scratch) = self.job_for_child(folder, run).await.map_err(|verdict| verdict.sentence)?;
        job.stepwise = true;
        let begun = self.start_step_process(folder, job, scratch).await;
        let mut stepping =
            begun.map_err(|error| format!("starting the process failed: {}", shortage::in_words(&error)))?;
        match stepping.reports.recv().await {
            Some((stepped, _)) => Ok((stepping, stepped)),
            None => Err(format!("the robot could not be started; `pieme run {}` says why", folder.name)),
        }
    }

    async fn start_step_process(
        &self,
        folder: &Arc<TaskFolder>,
        job: Job,
        scratch: Option<ScratchFolder>,
    ) -> io::Result<StepProcess> {
        let (child, outlet) = self.spawner.spawn().await?;
        let (process, stdout) = ChildProcess::supervise(child)?;
        let (answers, answered) = std::sync::mpsc::channel();
        let desk = ChildRequests::open(job.run, folder, self.host_limiter.clone(), answers.clone());
        let (tell, news) = mpsc::channel(1);
        // The process ends when its stdin is closed, the threads when the process ends.
        threads::start("step-give", move || write_job_and_answers(outlet, &job, answered))?;
        threads::start("step-hear", move || serve_requests(stdout, desk, &tell))?;
        Ok(StepProcess { answers, reports: news, _process: process, _scratch: scratch })
    }
}

impl StepProcess {
    /// Executes a step, or undoes one. `None` when the process has ended.
    pub async fn step(&mut self, forward: bool) -> Option<(StepwiseState, Vec<u8>)> {
        self.answers.send(ChildAnswer::Reply(ParentAnswer::Step { forward }, Vec::new())).ok()?;
        self.reports.recv().await
    }
}

/// Answers the child's requests as for a run, but keeps nothing.
fn serve_requests(mut pipe: ChildStdout, mut desk: ChildRequests, tell: &mpsc::Sender<(StepwiseState, Vec<u8>)>) {
    for _ in 0..MAX_MESSAGES {
        let Ok(Some((message, raw))) = protocol::read::<Message>(&mut pipe) else { return };
        match message {
            Message::Turn { host, delay_ms } => desk.request_turn(&host, delay_ms),
            Message::TurnFinished { pause_ms } => desk.release_turn(pause_ms, Utc::now()),
            Message::Body { url } => desk.send_cached_body(&url, Utc::now()),
            Message::Connect { question, host, port } => desk.connector.connect(question, host, port),
            Message::StepState(stepped) => {
                desk.release_while_idle();
                if tell.blocking_send((stepped, raw)).is_err() {
                    return;
                }
            }
            Message::End(_) => return,
            Message::Trace(_)
            | Message::Page { .. }
            | Message::Rows { .. }
            | Message::Progress { .. }
            | Message::Cookies { .. }
            | Message::Learned { .. }
            | Message::LearnedDetails { .. }
            | Message::CachePage(_)
            | Message::Robots(_)
            | Message::Repaired(_)
            | Message::Inspected { .. } => {}
        }
    }
}
