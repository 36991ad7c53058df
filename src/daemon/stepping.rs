//! A walk that a person looks at step by step: a run's sealed process, whose steps wait for a word. Nothing of it is published and
//! nothing is kept.

use std::io;
use std::process::ChildStdout;
use std::sync::Arc;

use chrono::Utc;
use tokio::sync::mpsc;

use crate::model::{RunId, Stepped, shortage};
use crate::taskdir::TaskFolder;
use crate::wire::{self, Answer, Assignment, MAX_MESSAGES, Message};

use super::desk::Desk;
use super::process::Process;
use super::runner::{Runner, give};
use super::scratch::Scratch;
use super::threads;
use super::turns::{Answers, Given};

/// A walk under way. Its process ends with it.
pub struct Stepping {
    answers: Answers,
    news: mpsc::Receiver<(Stepped, Vec<u8>)>,
    _process: Process,
    _scratch: Option<Scratch>,
}

impl Runner {
    /// Starts a walk and waits until it stands before its first step; else says why it does not.
    pub async fn step_through(&self, folder: &Arc<TaskFolder>) -> Result<(Stepping, Stepped), String> {
        let run = RunId::new();
        let (mut assignment, scratch) = self.assignment(folder, run).await.map_err(|verdict| verdict.sentence)?;
        assignment.stepwise = true;
        let begun = self.begin_stepping(folder, assignment, scratch).await;
        let mut stepping =
            begun.map_err(|error| format!("no process could be started: {}", shortage::in_words(&error)))?;
        match stepping.news.recv().await {
            Some((stepped, _)) => Ok((stepping, stepped)),
            None => Err("the walk could not begin; a run of the task says why".to_owned()),
        }
    }

    async fn begin_stepping(
        &self,
        folder: &Arc<TaskFolder>,
        assignment: Assignment,
        scratch: Option<Scratch>,
    ) -> io::Result<Stepping> {
        let (child, outlet) = self.spawner.spawn().await?;
        let (process, stdout) = Process::follow(child)?;
        let (answers, answered) = std::sync::mpsc::channel();
        let desk = Desk::open(assignment.run, folder, self.turns.clone(), answers.clone());
        let (tell, news) = mpsc::channel(1);
        // Each ends when the other side does: the process with its stdin, our threads with the process.
        threads::start("step-give", move || give(outlet, &assignment, answered))?;
        threads::start("step-hear", move || hear(stdout, desk, &tell))?;
        Ok(Stepping { answers, news, _process: process, _scratch: scratch })
    }
}

impl Stepping {
    /// Does a step, or takes one back; none: the process is gone.
    pub async fn go(&mut self, forward: bool) -> Option<(Stepped, Vec<u8>)> {
        self.answers.send(Given::Said(Answer::Step { forward }, Vec::new())).ok()?;
        self.news.recv().await
    }
}

/// Grants what the walk asks for, as a run's desk does, and keeps nothing of it.
fn hear(mut pipe: ChildStdout, mut desk: Desk, tell: &mpsc::Sender<(Stepped, Vec<u8>)>) {
    for _ in 0..MAX_MESSAGES {
        let Ok(Some((message, raw))) = wire::read::<Message>(&mut pipe) else { return };
        match message {
            Message::Turn { host, delay_ms } => desk.turn(&host, delay_ms),
            Message::Over { pause_ms } => desk.over(pause_ms, Utc::now()),
            Message::Body { url } => desk.body(&url, Utc::now()),
            Message::Connect { question, host, port } => desk.broker.connect(question, host, port),
            Message::Stepped(stepped) => {
                desk.rest();
                if tell.blocking_send((stepped, raw)).is_err() {
                    return;
                }
            }
            Message::End(_) => return,
            Message::Trace(_)
            | Message::Page { .. }
            | Message::Rows { .. }
            | Message::SoFar { .. }
            | Message::Cookies { .. }
            | Message::Learned { .. }
            | Message::LearnedDetails { .. }
            | Message::Keep(_)
            | Message::Robots(_)
            | Message::Mended(_)
            | Message::Studied { .. } => {}
        }
    }
}
