//! A sealed process that looks at a page which a run has kept: the daemon itself parses none. It gets no secret, asks for no
//! connection, and has one thing to say.

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

/// Learning a page of 2.3 MB takes 1.6 s. Whoever needs longer than this is asked without.
pub(in crate::daemon) const PAGE_JOB_TIMEOUT: Duration = Duration::from_secs(60);
/// It has one thing to say.
const MAX_MESSAGES: usize = 100;
/// People who look at pages at the same time; whoever comes later waits a moment.
const MAX_CONCURRENT: usize = 4;

/// A process that looks at a page, and the threads that speak with it.
type PageJobChild =
    (ChildProcess, ThreadResult<Result<ParentSocket, FrameError>>, ThreadResult<Option<(Message, Vec<u8>)>>);

/// Has pages studied, each question in a process of its own.
///
/// None is kept from one question to the next: on the practice shop (debug build, busy machine) the page is there 33 ms after it was
/// asked for, process, seal, parsing and all, and the learning that follows takes 140 to 310 ms more. What a living process would save is
/// not noticed, and there is no state to lose or to bound.
#[derive(Clone)]
pub struct PageInspector {
    runner: Runner,
    permits: Arc<Semaphore>,
}

impl PageInspector {
    pub fn new(runner: Runner) -> PageInspector {
        PageInspector { runner, permits: Arc::new(Semaphore::new(MAX_CONCURRENT)) }
    }

    /// The answer, and the bytes that go with it; none where the process has broken, or needed too long.
    pub async fn inspect(
        &self,
        folder: Arc<TaskFolder>,
        known: LabellingContext,
        packed: Vec<u8>,
        ask: LabellingQuestion,
    ) -> Option<(LabellingAnswer, Vec<u8>)> {
        let (runner, room) = (self.runner.clone(), Arc::clone(&self.permits));
        // In a task of its own: whoever asked may go away, and the process must be seen to its end all the same.
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
    /// What such a process says, with the bytes that go with it; none where it has broken, or must stop.
    pub(in crate::daemon) async fn run_page_job(
        &self,
        assignment: Job,
        raw: Vec<u8>,
        stopped: impl Future<Output = ()>,
    ) -> Option<(Message, Vec<u8>)> {
        let run = assignment.run;
        let started = self.start_page_job(assignment, raw).await;
        let started = started.inspect_err(|error| {
            tracing::warn!(%run, "no process could be started to look at a page: {}", shortage::in_words(error));
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

    async fn start_page_job(&self, assignment: Job, raw: Vec<u8>) -> io::Result<PageJobChild> {
        let (child, mut outlet) = self.spawner.spawn().await?;
        let (process, stdout) = ChildProcess::supervise(child)?;
        // Held open to the end: the child ends itself when it sees its stdin close.
        let giving = threads::start("page-give", move || outlet.write(&assignment, &raw).map(|()| outlet))?;
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

/// What the process gets to know of the task.
pub(in crate::daemon) fn page_job(folder: &TaskFolder, run: RunId, still: PageJob) -> Job {
    // Nothing is fetched, so that no browser is needed, and the seal is whole.
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
