//! The child process of one job: reads a [`Job`] on stdin, enters the sandbox, and sends the job's messages on stdout.
//!
//! It has no database, no environment and no task folder; it sends what it learns or wants stored to the parent. What
//! it may send depends on the job: a run and a stepping session get a sender of their own type of message, a repair
//! returns one answer, an inspection one or a few.

pub mod browser_launcher;
mod connector;
mod detail_pages;
mod inspect;
mod message_sender;
mod parent_host;
mod parent_listener;
mod repair;
mod row_collector;
mod run;
mod step;
mod values;

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;

use serde::Serialize;

use crate::model::task::Engine;
use crate::model::{Failure, Verdict};
use crate::protocol::{self, ChildSocket, FrameMessage, Job, RunMessage};
use crate::robot::{BrowserPaths, LaunchedBrowser};
use crate::sandbox;
use crate::sandbox::SandboxUse;

/// The job could not be started.
const CANNOT_START: u8 = 78;

/// Reads the job, enters the sandbox and does the job. Exit code 78 means that it could not start.
pub fn main() -> ExitCode {
    sandbox::close_inherited_descriptors();
    sandbox::harden_process();
    let Ok(stdin) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::from(CANNOT_START) };
    let mut inlet = ChildSocket::new(stdin);
    let (job, raw) = match protocol::read_from_parent::<Job>(&mut inlet) {
        Ok(Some(given)) => given,
        Ok(None) | Err(_) => return ExitCode::from(CANNOT_START),
    };
    // Built before the sandbox: the runtime's signal handling needs a socket pair, which the sandbox forbids.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return cannot_start(&job, format!("the async runtime could not be started: {error}")),
    };
    if let Err(problem) = sandbox::apply(job.limits(), job.engine(), job.parent_pid()) {
        return cannot_start(&job, format!("the sandbox could not be set up: {problem}"));
    }
    let browser = launch_browser(&job);
    if browser.is_some()
        && let Err(problem) = sandbox::restrict(SandboxUse::BrowserRun)
    {
        return cannot_start(&job, format!("the sandbox could not be set up: {problem}"));
    }
    match job {
        Job::Run(job) => run::run(&runtime, &job, browser.as_ref(), inlet),
        Job::Step(job) => step::run(&runtime, &job, browser.as_ref(), inlet),
        Job::Repair(job) => {
            if let Some((answer, page)) = repair::answer(&job, &raw) {
                write_answer(&answer, &page);
            }
        }
        Job::Inspect(job) => {
            for (answer, page) in inspect::answer(*job, &raw) {
                write_answer(&answer, &page);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Starts Chromium where the job needs one. From then on this process needs no right that the sandbox takes.
fn launch_browser(job: &Job) -> Option<LaunchedBrowser> {
    let fetch = match job {
        Job::Run(job) => &job.fetch,
        Job::Step(job) => &job.fetch,
        Job::Repair(_) | Job::Inspect(_) => return None,
    };
    let paths = BrowserPaths { program: fetch.browser.as_deref(), scratch: fetch.scratch.as_deref() };
    (fetch.task.fetch.engine == Engine::Browser).then(|| LaunchedBrowser::launch(paths))
}

/// A run says why it cannot start; of the other jobs the parent only notices that there is no answer.
fn cannot_start(job: &Job, sentence: String) -> ExitCode {
    if let Job::Run(_) = job {
        write_answer(&RunMessage::End(Verdict::failed(Failure::Internal, sentence)), &[]);
    }
    ExitCode::from(CANNOT_START)
}

fn write_answer(answer: &(impl Serialize + FrameMessage), raw: &[u8]) {
    // A parent that has closed the pipe needs no answer.
    let _ = protocol::write(&mut io::stdout().lock(), answer, raw);
}
