//! A sealed process that looks at a page which a run has kept: the daemon itself parses none. It gets no secret, asks for no
//! connection, and has one thing to say.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::process::ChildStdout;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::model::task::{Alert, Engine, Fetch};
use crate::model::{RunId, Script, Task, shortage};
use crate::study::{Answer, Ask, Known, Question};
use crate::taskdir::{TaskFolder, TemplateText};
use crate::wire::{self, Assignment, Message, Outlet, Secrets, Still, WireError};

use super::process::Process;
use super::runner::Runner;
use super::threads::{self, Working};

/// Learning a page of 2.3 MB takes 1.6 s. Whoever needs longer than this is asked without.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// It has one thing to say.
const MAX_MESSAGES: usize = 100;
/// People who look at pages at the same time; whoever comes later waits a moment.
const AT_ONCE: usize = 4;

/// A process that looks at a page, and the threads that speak with it.
type Looking = (Process, Working<Result<Outlet, WireError>>, Working<Option<(Message, Vec<u8>)>>);

/// Has pages studied, each question in a process of its own.
///
/// None is kept from one question to the next: on the practice shop (debug build, busy machine) the page is there 33 ms after it was
/// asked for, process, seal, parsing and all, and the learning that follows takes 140 to 310 ms more. What a living process would save is
/// not noticed, and there is no state to lose or to bound.
#[derive(Clone)]
pub struct Scholar {
    runner: Runner,
    room: Arc<Semaphore>,
}

impl Scholar {
    pub fn new(runner: Runner) -> Scholar {
        Scholar { runner, room: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The answer, and the bytes that go with it; none where the process has broken, or needed too long.
    pub async fn ask(
        &self,
        folder: Arc<TaskFolder>,
        known: Known,
        packed: Vec<u8>,
        ask: Ask,
    ) -> Option<(Answer, Vec<u8>)> {
        let (runner, room) = (self.runner.clone(), Arc::clone(&self.room));
        // In a task of its own: whoever asked may go away, and the process must be seen to its end all the same.
        let asking = tokio::spawn(async move {
            let _permit = room.acquire_owned().await.ok()?;
            let (run, still) = (known.run, Still::Study(Box::new(Question { known, ask })));
            let asked = runner.ask_still(assignment(&folder, run, still), packed, std::future::pending());
            match asked.await? {
                (Message::Studied { answer }, raw) => Some((answer, raw)),
                _ => None,
            }
        });
        asking.await.unwrap_or(None)
    }
}

impl Runner {
    /// What such a process says, with the bytes that go with it; none where it has broken, or must stop.
    pub(super) async fn ask_still(
        &self,
        assignment: Assignment,
        raw: Vec<u8>,
        stopped: impl Future<Output = ()>,
    ) -> Option<(Message, Vec<u8>)> {
        let run = assignment.run;
        let started = self.start_still(assignment, raw).await;
        let started = started.inspect_err(|error| {
            tracing::warn!(%run, "no process could be started to look at a page: {}", shortage::in_words(error));
        });
        let (process, giving, mut hearing) = started.ok()?;
        let heard = tokio::select! {
            heard = &mut hearing => heard.flatten(),
            () = tokio::time::sleep(PATIENCE) => None,
            () = stopped => None,
        };
        process.ended().await;
        drop(giving.await);
        heard
    }

    async fn start_still(&self, assignment: Assignment, raw: Vec<u8>) -> io::Result<Looking> {
        let (child, mut outlet) = self.spawner.spawn().await?;
        let (process, stdout) = Process::follow(child)?;
        // Held open to the end: the child ends itself when it sees its stdin close.
        let giving = threads::start("page-give", move || outlet.write(&assignment, &raw).map(|()| outlet))?;
        let hearing = threads::start("page-hear", move || hear(stdout))?;
        Ok((process, giving, hearing))
    }
}

fn hear(mut pipe: ChildStdout) -> Option<(Message, Vec<u8>)> {
    for _ in 0..MAX_MESSAGES {
        if let (message @ (Message::Mended(_) | Message::Studied { .. }), raw) =
            wire::read::<Message>(&mut pipe).ok()??
        {
            return Some((message, raw));
        }
    }
    None
}

/// What the process gets to know of the task.
pub(super) fn assignment(folder: &TaskFolder, run: RunId, still: Still) -> Assignment {
    // Nothing is fetched, so that no browser is needed, and the seal is whole.
    let fetch = Fetch { engine: Engine::Http, ..folder.task.fetch.clone() };
    Assignment {
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
        still: Some(still),
    }
}
