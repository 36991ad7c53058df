//! Page jobs: a sandboxed child that parses a stored page, since the daemon itself parses no HTML. The child gets no
//! secrets and no connections, and sends one answer or a few.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::config::LiveGrants;
use crate::labelling::page::{LabellingAnswer, LabellingContext, LabellingQuestion, LabellingRequest};
use crate::model::{RunId, shortage};
use crate::protocol::{ChildJob, InspectJob};
use crate::tasks::TaskFolder;

use super::answers;
use super::lifecycle::{RunningChild, SpawnedChild};
use super::spawn::Spawner;

/// Learning a page of 2.3 MB takes 1.6 s. A job that takes longer than this is given up.
const PAGE_JOB_TIMEOUT: Duration = Duration::from_secs(60);
/// Page jobs at the same time; further ones wait.
const MAX_CONCURRENT: usize = 4;

/// The answer to a page job, with its raw bytes.
type PageAnswer<J> = (<J as ChildJob>::Message, Vec<u8>);

/// Inspects stored pages for labelling, each question in a child of its own.
///
/// No child is kept from one question to the next: on the practice shop (debug build, busy machine) the page is there
/// 33 ms after the request, with process, sandbox and parsing, and the learning that follows takes 140 to 310 ms more.
/// A long-lived child would save nothing noticeable, and there is no state to lose or to bound.
#[derive(Clone)]
pub struct PageInspector {
    spawner: Spawner,
    permits: Arc<Semaphore>,
    grants: LiveGrants,
    in_parts: bool,
}

impl PageInspector {
    pub fn new(spawner: Spawner, grants: LiveGrants) -> PageInspector {
        PageInspector { spawner, permits: Arc::new(Semaphore::new(MAX_CONCURRENT)), grants, in_parts: false }
    }

    /// For `pieme label`, which takes larger pages than the daemon, in several messages.
    pub fn in_parts(spawner: Spawner, grants: LiveGrants) -> PageInspector {
        PageInspector { in_parts: true, ..PageInspector::new(spawner, grants) }
    }

    /// The answer with its raw bytes; `None` when the child failed or took too long.
    pub async fn inspect(
        &self,
        folder: Arc<TaskFolder>,
        known: LabellingContext,
        packed: Vec<u8>,
        ask: LabellingQuestion,
    ) -> Option<(LabellingAnswer, Vec<u8>)> {
        self.inspect_all(folder, known, packed, ask).await?.into_iter().next()
    }

    /// As [`PageInspector::inspect`], with all answers.
    pub async fn inspect_all(
        &self,
        folder: Arc<TaskFolder>,
        known: LabellingContext,
        packed: Vec<u8>,
        ask: LabellingQuestion,
    ) -> Option<Vec<(LabellingAnswer, Vec<u8>)>> {
        let (spawner, permits) = (self.spawner.clone(), Arc::clone(&self.permits));
        let in_parts = self.in_parts;
        let limits = self.grants.current().ceiling.lower(&folder.task.limits);
        // In a tokio task of its own: the caller may be cancelled, and the child must be reaped all the same.
        let asking = tokio::spawn(async move {
            let _permit = permits.acquire_owned().await.ok()?;
            let run = known.run;
            let request = LabellingRequest { known, ask };
            let job = InspectJob { parent_pid: std::process::id(), limits, in_parts, request };
            let most = job.max_answers();
            let answers = run_page_job(&spawner, run, job, packed, most, std::future::pending()).await?;
            Some(answers.into_iter().map(|(answer, raw)| (answer.0, raw)).collect())
        });
        asking.await.unwrap_or(None)
    }
}

/// Runs a page job. Returns its first answers with their raw bytes, one at least; `None` when the child failed, timed
/// out or was stopped.
pub async fn run_page_job<J: ChildJob>(
    spawner: &Spawner,
    run: RunId,
    job: J,
    raw: Vec<u8>,
    most_answers: usize,
    stop: impl Future<Output = ()>,
) -> Option<Vec<PageAnswer<J>>> {
    let started = start(spawner, run, job, raw, most_answers).await;
    let started = started.inspect_err(|error| {
        tracing::warn!(%run, "starting a page job failed: {}", shortage::in_words(error));
    });
    let end = started.ok()?.finish(PAGE_JOB_TIMEOUT, stop).await;
    end.result.filter(|answers| end.killed.is_none() && !answers.is_empty())
}

async fn start<J: ChildJob>(
    spawner: &Spawner,
    run: RunId,
    job: J,
    raw: Vec<u8>,
    most_answers: usize,
) -> io::Result<RunningChild<Vec<PageAnswer<J>>>> {
    let child = SpawnedChild::spawn(spawner).await?;
    // A page job asks for nothing.
    let (_, no_answers) = answers::channel();
    child.deliver(job, raw, no_answers, move |mut messages| {
        let answers = std::iter::from_fn(|| messages.next_message().transpose()).take(most_answers);
        let answers: Result<Vec<_>, _> = answers.collect();
        let answers =
            answers.inspect_err(|error| tracing::warn!(%run, "the process of a page job was ended: it {error}"));
        answers.unwrap_or_default()
    })
}
