//! Page jobs: a sandboxed child that parses a stored page, since the daemon itself parses no HTML. The child gets no
//! secrets and no connections, and sends one answer.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::process::ChildStdout;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::labelling::page::{LabellingAnswer, LabellingContext, LabellingQuestion, LabellingRequest};
use crate::model::task::{Alert, Engine, Fetch};
use crate::model::{RunId, Script, Task, shortage};
use crate::protocol;
use crate::protocol::{FrameError, Job, Message, PageJob, ParentSocket, Secrets};
use crate::tasks::{TaskFolder, TemplateText};

use crate::daemon::process::ChildProcess;
use crate::daemon::runner::Runner;
use crate::daemon::threads;
use crate::daemon::threads::ThreadResult;

/// Learning a page of 2.3 MB takes 1.6 s. A job that takes longer than this is given up.
pub(in crate::daemon) const PAGE_JOB_TIMEOUT: Duration = Duration::from_secs(60);
/// The child sends one answer; more messages than this are not read.
const MAX_MESSAGES: usize = 100;
/// Page jobs at the same time; further ones wait.
const MAX_CONCURRENT: usize = 4;

/// The child of a page job, and the threads that exchange messages with it.
type PageJobChild =
    (ChildProcess, ThreadResult<Result<ParentSocket, FrameError>>, ThreadResult<Option<(Message, Vec<u8>)>>);

/// Inspects stored pages for labelling, each question in a child of its own.
///
/// No child is kept from one question to the next: on the practice shop (debug build, busy machine) the page is there
/// 33 ms after the request, with process, sandbox and parsing, and the learning that follows takes 140 to 310 ms more.
/// A long-lived child would save nothing noticeable, and there is no state to lose or to bound.
#[derive(Clone)]
pub struct PageInspector {
    runner: Runner,
    permits: Arc<Semaphore>,
}

impl PageInspector {
    pub fn new(runner: Runner) -> PageInspector {
        PageInspector { runner, permits: Arc::new(Semaphore::new(MAX_CONCURRENT)) }
    }

    /// The answer with its raw bytes; `None` when the child failed or took too long.
    pub async fn inspect(
        &self,
        folder: Arc<TaskFolder>,
        known: LabellingContext,
        packed: Vec<u8>,
        ask: LabellingQuestion,
    ) -> Option<(LabellingAnswer, Vec<u8>)> {
        let (runner, room) = (self.runner.clone(), Arc::clone(&self.permits));
        // In a tokio task of its own: the caller may be cancelled, and the child must be reaped all the same.
        let asking = tokio::spawn(async move {
            let _permit = room.acquire_owned().await.ok()?;
            let (run, still) = (known.run, PageJob::Inspect(Box::new(LabellingRequest { known, ask })));
            let asked = runner.run_page_job(page_job(&folder, run, still), packed, std::future::pending());
            match asked.await? {
                (Message::Inspected { answer }, raw) => Some((answer, raw)),
                _ => None,
            }
        });
        asking.await.unwrap_or(None)
    }
}

impl Runner {
    /// Runs a page job. Returns the answer with its raw bytes; `None` when the child failed, timed out or was stopped.
    pub(in crate::daemon) async fn run_page_job(
        &self,
        job: Job,
        raw: Vec<u8>,
        stopped: impl Future<Output = ()>,
    ) -> Option<(Message, Vec<u8>)> {
        let run = job.run;
        let started = self.start_page_job(job, raw).await;
        let started = started.inspect_err(|error| {
            tracing::warn!(%run, "starting a page job failed: {}", shortage::in_words(error));
        });
        let (process, giving, mut hearing) = started.ok()?;
        let heard = tokio::select! {
            heard = &mut hearing => heard.flatten(),
            () = tokio::time::sleep(PAGE_JOB_TIMEOUT) => None,
            () = stopped => None,
        };
        process.kill_and_wait().await;
        drop(giving.await);
        heard
    }

    async fn start_page_job(&self, job: Job, raw: Vec<u8>) -> io::Result<PageJobChild> {
        let (child, mut outlet) = self.spawner.spawn().await?;
        let (process, stdout) = ChildProcess::supervise(child)?;
        // Held open to the end: the child exits when its stdin is closed.
        let giving = threads::start("page-give", move || outlet.write(&job, &raw).map(|()| outlet))?;
        let hearing = threads::start("page-hear", move || read_answer(stdout))?;
        Ok((process, giving, hearing))
    }
}

fn read_answer(mut pipe: ChildStdout) -> Option<(Message, Vec<u8>)> {
    for _ in 0..MAX_MESSAGES {
        if let (message @ (Message::Repaired(_) | Message::Inspected { .. }), raw) =
            protocol::read::<Message>(&mut pipe).ok()??
        {
            return Some((message, raw));
        }
    }
    None
}

/// The job for the child, with as little of the task as it needs.
pub(in crate::daemon) fn page_job(folder: &TaskFolder, run: RunId, still: PageJob) -> Job {
    // Nothing is fetched, so no browser is needed and the sandbox has no exceptions.
    let fetch = Fetch { engine: Engine::Http, ..folder.task.fetch.clone() };
    Job {
        run,
        name: folder.name.clone(),
        task: Task { alert: Alert::default(), fetch, ..folder.task.clone() },
        script: Script::default(),
        template: folder.template.as_ref().map(TemplateText::text),
        details: None,
        files: BTreeMap::new(),
        confirmed: true,
        secrets: Secrets::default(),
        cookies: None,
        kept: Vec::new(),
        robots: Vec::new(),
        browser: None,
        scratch: None,
        past: Vec::new(),
        parent_pid: std::process::id(),
        stepwise: false,
        page_job: Some(still),
    }
}
