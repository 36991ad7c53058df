//! One run from the parent's side: order, child, report, end. Used by the daemon and by `pieme run` without one.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::panic::AssertUnwindSafe;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::FutureExt;
use nix::sys::signal::Signal;
use tokio::sync::watch;

use crate::config::Config;
use crate::config::secrets::{self, SecretError};
use crate::model::task::{Alert, Engine};
use crate::model::{Failure, Outcome, RunId, Task, Verdict, shortage};
use crate::protocol::{FrameError, Job, ParentSocket, Secrets};
use crate::store::{BeginOutcome, RunStart, Store, StoreError};
use crate::tasks;
use crate::tasks::{Problem, TaskFolder, TemplateText};

use super::child::requests::ChildRequests;
use super::collect::{Collector, RunReport, TraceListener};
use super::host_limiter::{ChildAnswer, SharedHostLimiter};
use super::process::ChildProcess;
use super::progress::ProgressBoard;
use super::schedule::crash_backoff;
use super::schedule::login_hold::LOGIN_HOLD_NOTE;
use super::scratch::ScratchFolder;
use super::spawn::Spawner;
use super::store_handle::StoreHandle;
use super::threads::{self, ThreadResult};

/// The child reports its own time-out; this much later it is killed.
const KILL_GRACE: Duration = Duration::from_secs(3);
/// Good runs that the child is told about.
const PAST_RUNS: u32 = 8;

/// Everything that running a task needs.
#[derive(Clone)]
pub struct Runner {
    pub config: Arc<Config>,
    pub store: StoreHandle,
    pub spawner: Spawner,
    /// One calendar of hosts for all runs.
    pub host_limiter: SharedHostLimiter,
    /// How far they all are.
    pub board: ProgressBoard,
}

/// One run to be made.
pub struct RunOrder {
    pub folder: Arc<TaskFolder>,
    pub start: RunStart,
    /// What is due after this run: kept in the store as soon as it has begun.
    pub next_due: Option<DateTime<Utc>>,
    pub listener: Option<TraceListener>,
    /// Turns true when the run must end now.
    pub stop: watch::Receiver<bool>,
}

/// How an order ended.
#[derive(Debug)]
pub enum RunResult {
    Run(Box<RunEnd>),
    /// Somebody has run this slot already.
    SlotTaken,
    /// The task has become another daemon's.
    NotOurs,
}

/// A run's end as the daemon needs to know it.
#[derive(Debug)]
pub struct RunEnd {
    pub verdict: Verdict,
    /// The template that the run has learned and that now stands in the folder.
    pub learned: Option<String>,
    /// It crashes again and again: until when the clock leaves it alone.
    pub backoff_until: Option<DateTime<Utc>>,
}

impl RunEnd {
    pub(super) fn failed(verdict: Verdict) -> RunEnd {
        RunEnd { verdict, learned: None, backoff_until: None }
    }
}

/// What made the parent end a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KillReason {
    NotKilled,
    TimeLimit,
    Stop,
}

impl Runner {
    /// As [`Runner::run`]; where that panics, the run ends as `crash`, so that its slot is free again.
    pub async fn run_catching_panics(&self, order: RunOrder) -> Result<RunResult, StoreError> {
        let (folder, run) = (Arc::clone(&order.folder), order.start.run);
        match AssertUnwindSafe(self.run(order)).catch_unwind().await {
            Ok(ended) => ended,
            Err(panic) => {
                let why = threads::panic_message(panic);
                tracing::error!(%run, task = %folder.name, "the daemon panicked around a run: {why}");
                Ok(RunResult::Run(Box::new(self.record_end(&folder, run, RunEnd::failed(crash_verdict(&why))).await)))
            }
        }
    }

    pub async fn run(&self, order: RunOrder) -> Result<RunResult, StoreError> {
        let RunOrder { folder, start, next_due, listener, stop } = order;
        let run = start.run;
        let name = folder.name.clone();
        let begin = move |store: &mut Store| {
            let begun = store.begin_run(&start)?;
            // Not before: until it has begun, its own slot is what is owed.
            if next_due.is_some() && begun != BeginOutcome::OwnedElsewhere {
                store.set_next_due(&start.task, next_due)?;
            }
            Ok::<_, StoreError>(begun)
        };
        let begun = self.store.call(begin).await?;
        match begun {
            BeginOutcome::SlotTaken => return Ok(RunResult::SlotTaken),
            BeginOutcome::OwnedElsewhere => return Ok(RunResult::NotOurs),
            BeginOutcome::Started => {}
        }
        tracing::debug!(%run, task = %name, "run starts");
        let mut end = self.run_child_job(&folder, run, listener.clone(), stop.clone()).await;
        let found = self.repair(&folder, run, &mut end.verdict, stop.clone()).await;
        let end = self.record_end(&folder, run, end).await;
        match found.filter(|found| found.is_auto_accepted(&folder, &end.verdict)) {
            Some(found) => Ok(RunResult::Run(Box::new(self.run_repaired(&folder, found, end, listener, stop).await?))),
            None => Ok(RunResult::Run(Box::new(end))),
        }
    }

    /// From the order to the verdict, which nobody has written down yet.
    pub(super) async fn run_child_job(
        &self,
        folder: &TaskFolder,
        run: RunId,
        listener: Option<TraceListener>,
        stop: watch::Receiver<bool>,
    ) -> RunEnd {
        let going = async {
            match self.job_for_child(folder, run).await {
                Ok((assignment, _scratch)) => self.supervise_child(folder, assignment, listener, stop).await,
                Err(verdict) => RunEnd::failed(verdict),
            }
        };
        // A run whose end nobody writes down would be shown as running for ever.
        AssertUnwindSafe(going).catch_unwind().await.unwrap_or_else(|panic| {
            let why = threads::panic_message(panic);
            tracing::error!(%run, task = %folder.name, "the daemon panicked during a run: {why}");
            RunEnd::failed(crash_verdict(&why))
        })
    }

    /// Writes the end down and says it.
    pub(super) async fn record_end(&self, folder: &Arc<TaskFolder>, run: RunId, end: RunEnd) -> RunEnd {
        let (verdict, left_alone_until) = self.store_end(folder, run, end.verdict).await;
        // The one line that a run has in the journal, which shows messages without their fields.
        let (task, outcome, cause) = (&folder.name, verdict.outcome.word(), verdict.outcome.cause());
        tracing::info!(%run, %task, outcome, cause, rows = verdict.rows, "{task}: {outcome} ({cause}): {}", verdict.sentence);
        RunEnd { verdict, backoff_until: left_alone_until, ..end }
    }

    /// The order for the child, and a folder that is there for as long as it runs.
    pub(super) async fn job_for_child(
        &self,
        folder: &TaskFolder,
        run: RunId,
    ) -> Result<(Job, Option<ScratchFolder>), Verdict> {
        let name = folder.name.clone();
        let labels = tasks::read_labels(&folder.dir).map_err(file_failure)?;
        let mut past = self.store.call(move |store| store.good_runs(&name, PAST_RUNS)).await.map_err(store_failure)?;
        past.retain(|run| labels.last().is_none_or(|said| run.started_at >= said));
        let scratch = match folder.task.fetch.engine {
            Engine::Http => None,
            Engine::Browser => Some(ScratchFolder::new(&self.config, run).map_err(|error| {
                let why = shortage::in_words(&error);
                Verdict::failed(Failure::Internal, format!("no folder could be made for the browser: {why}"))
            })?),
        };
        let assignment = Job {
            run,
            name: folder.name.clone(),
            // Where alerts go is none of a run's business.
            task: Task { alert: Alert::default(), ..folder.task.clone() },
            script: folder.script.clone(),
            template: folder.template.as_ref().map(TemplateText::text),
            details: tasks::read_details(&folder.dir).map_err(file_failure)?,
            files: tasks::read_items(&folder.dir, &folder.script).map_err(file_failure)?,
            confirmed: labels.is_confirmed(),
            secrets: self.secrets(folder).map_err(|error| secret_failure(&error))?,
            cookies: tasks::read_cookies(&folder.dir).map_err(file_failure)?,
            kept: Vec::new(),
            robots: tasks::read_robots(&folder.dir),
            browser: self.config.browser.clone(),
            scratch: scratch.as_ref().map(|scratch| scratch.path().to_owned()),
            past,
            parent_pid: std::process::id(),
            stepwise: false,
            page_job: None,
        };
        Ok((assignment, scratch))
    }

    fn secrets(&self, folder: &TaskFolder) -> Result<Secrets, SecretError> {
        let names = secrets::names(&folder.task, &folder.script);
        secrets::lookup_all(&self.config, &names).map(Secrets)
    }

    async fn supervise_child(
        &self,
        folder: &TaskFolder,
        assignment: Job,
        listener: Option<TraceListener>,
        mut stop: watch::Receiver<bool>,
    ) -> RunEnd {
        let time_limit = assignment.task.limits.timeout.0 + KILL_GRACE;
        let RunningChild { process, answer_writer: giving, collector: mut collecting } =
            match self.start_child(folder, assignment, listener).await {
                Ok(going) => going,
                Err(error) => {
                    let sentence = format!("no process could be started: {}", shortage::in_words(&error));
                    return RunEnd::failed(Verdict::failed(Failure::Internal, sentence));
                }
            };
        let mut killed = KillReason::NotKilled;
        let report = tokio::select! {
            report = &mut collecting => report,
            () = tokio::time::sleep(time_limit) => { killed = KillReason::TimeLimit; process.kill(); collecting.await }
            () = wait_for_stop(&mut stop) => { killed = KillReason::Stop; process.kill(); collecting.await }
        };
        let report = report.unwrap_or_default();
        // Whatever it still does, it has said what it had to say: nothing of its group stays behind.
        let (words, status) = process.kill_and_wait().await;
        drop(giving.await);
        self.keep_files(folder, &report);
        let learned = report.template.clone();
        RunEnd { learned, ..RunEnd::failed(child_verdict(folder, report, killed, status, &words)) }
    }

    /// Starts the child and the threads that speak with it.
    async fn start_child(
        &self,
        folder: &TaskFolder,
        mut assignment: Job,
        listener: Option<TraceListener>,
    ) -> io::Result<RunningChild> {
        let run = assignment.run;
        let (child, outlet) = self.spawner.spawn().await?;
        let (process, stdout) = ChildProcess::supervise(child)?;
        let pid = process.id();
        let named = self.store.call(move |store| store.set_pid(run, pid)).await;
        if let Err(error) = named {
            tracing::warn!(%run, "{error}");
        }
        let (answers, answered) = std::sync::mpsc::channel();
        let desk = ChildRequests::open(run, folder, self.host_limiter.clone(), answers);
        assignment.kept = desk.page_cache.pages();
        let collector = Collector {
            store: self.store.clone(),
            run,
            task: folder.name.clone(),
            key: folder.task.data.key.clone(),
            listener,
            requests: desk,
            progress: self.board.register(run, folder.name.clone(), Utc::now()),
        };
        let giving = threads::start("run-give", move || write_job_and_answers(outlet, &assignment, answered))?;
        let collecting = threads::start("run-collect", move || collector.collect(stdout))?;
        Ok(RunningChild { process, answer_writer: giving, collector: collecting })
    }

    /// Writes what the child wants kept in the task's folder; a child cannot write there itself.
    fn keep_files(&self, folder: &TaskFolder, report: &RunReport) {
        if let Some(json) = &report.cookies
            && let Err(error) = tasks::write_cookies(&folder.dir, json)
        {
            tracing::warn!(task = %folder.name, "the session could not be kept: {error}");
        }
        if let Some(template) = &report.template
            && let Err(error) = tasks::write_template(&folder.dir, template)
        {
            tracing::warn!(task = %folder.name, "the template could not be kept: {error}");
        }
        if let Some(template) = &report.details
            && let Err(error) = tasks::write_details(&folder.dir, template)
        {
            tracing::warn!(task = %folder.name, "the template of the detail pages could not be kept: {error}");
        }
    }

    /// Ends the run in the store. When that fails, it has failed: that needs far less room, and is written down as soon as
    /// there is any.
    async fn store_end(
        &self,
        folder: &Arc<TaskFolder>,
        run: RunId,
        mut verdict: Verdict,
    ) -> (Verdict, Option<DateTime<Utc>>) {
        let folder = Arc::clone(folder);
        let work = move |store: &mut Store| {
            let now = Utc::now();
            // A store that cannot be read says so when the run is ended.
            let until = crash_backoff::apply_to_verdict(store, &folder, run, &mut verdict, now).unwrap_or(None);
            let verdict = store.end_run(run, &verdict, now).unwrap_or_else(|error| {
                let failed = store_failure(error);
                store.end_failed(run, &failed, now);
                failed
            });
            Ok::<_, StoreError>((verdict, until))
        };
        match self.store.call(work).await {
            Ok(ended) => ended,
            Err(error) => (self.store_failed_end(run, error).await, None),
        }
    }

    /// The store has panicked over a run's rows: without them it can be ended.
    async fn store_failed_end(&self, run: RunId, error: StoreError) -> Verdict {
        let failed = store_failure(error);
        let verdict = failed.clone();
        let ending = move |store: &mut Store| {
            store.end_failed(run, &verdict, Utc::now());
            Ok::<_, StoreError>(())
        };
        if let Err(error) = self.store.call(ending).await {
            tracing::error!(%run, "the end of a run could not be written down: {error}");
        }
        failed
    }
}

/// What the store refuses costs the run, and only the run.
pub(super) fn store_failure(error: StoreError) -> Verdict {
    Verdict::failed(Failure::Internal, format!("the store could not take it: {error}"))
}

/// A child that was set going, and the threads that speak with it.
struct RunningChild {
    process: ChildProcess,
    answer_writer: ThreadResult<Result<ParentSocket, FrameError>>,
    collector: ThreadResult<RunReport>,
}

/// Hands a child its assignment and then the answers to what it asks. What it is written to is held open to the end: the child
/// ends itself when it sees its stdin close.
pub(super) fn write_job_and_answers(
    mut outlet: ParentSocket,
    assignment: &Job,
    answered: std::sync::mpsc::Receiver<ChildAnswer>,
) -> Result<ParentSocket, FrameError> {
    outlet.write(assignment, &[])?;
    answered.into_iter().try_for_each(|given| match given {
        ChildAnswer::Reply(answer, raw) => outlet.write(&answer, &raw),
        ChildAnswer::Connection(answer, connection) => outlet.write_with_connection(&answer, connection),
    })?;
    Ok(outlet)
}

/// The verdict over a run in whose middle the daemon itself has panicked.
pub(super) fn crash_verdict(why: &str) -> Verdict {
    Verdict::failed(Failure::Crash, format!("the daemon failed during this run ({why}); this is a mistake in pieme"))
}

/// The same of a secret's file.
fn secret_failure(error: &SecretError) -> Verdict {
    let cause = if error.is_shortage() { Failure::Internal } else { Failure::Config };
    Verdict::failed(cause, error.to_string())
}

/// What a folder's file has to do with it: a mistake in it is the task's, a shortage is the daemon's.
fn file_failure(problem: impl Into<Problem>) -> Verdict {
    let problem = problem.into();
    let cause = if problem.is_shortage { Failure::Internal } else { Failure::Config };
    Verdict::failed(cause, problem.to_string())
}

pub(super) async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|&now| now).await.is_err() {
        // Nobody is left who could say stop.
        std::future::pending::<()>().await;
    }
}

/// The verdict over a child: its own, or the one that its end speaks.
fn child_verdict(
    folder: &TaskFolder,
    report: RunReport,
    killed: KillReason,
    status: Option<ExitStatus>,
    words: &str,
) -> Verdict {
    if let Some(error) = report.error {
        return Verdict::failed(error.cause(), error.to_string());
    }
    if let Some(mut verdict) = report.verdict {
        if verdict.outcome == Outcome::Failed(Failure::Login)
            && !secrets::names(&folder.task, &folder.script).is_empty()
        {
            verdict.sentence = format!("{}; {LOGIN_HOLD_NOTE}", verdict.sentence);
        }
        return verdict;
    }
    match killed {
        KillReason::TimeLimit => {
            let limit = folder.task.limits.timeout;
            return Verdict::failed(Failure::Timeout, format!("not done after {limit} (limits.timeout)"));
        }
        KillReason::Stop => {
            let mut verdict = Verdict::interrupted();
            verdict.sentence.push_str("; it is made up at the next start");
            return verdict;
        }
        KillReason::NotKilled => {}
    }
    if words.contains("memory allocation of") {
        let limit = folder.task.limits.memory;
        return Verdict::failed(Failure::Memory, format!("it needed more than {limit} of memory (limits.memory)"));
    }
    let signal = status.and_then(|it| it.signal());
    if signal == Some(Signal::SIGXCPU as i32) {
        return Verdict::failed(Failure::Timeout, "it used up its processor time (limits.timeout)");
    }
    let how = match (signal, status.and_then(|it| it.code())) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with code {code} and no report"),
        (None, None) => "vanished".to_owned(),
    };
    let panic = words.lines().find(|line| !line.trim().is_empty()).map(|line| format!(": {line}")).unwrap_or_default();
    Verdict::failed(Failure::Crash, format!("the run's process {how}{panic}"))
}

#[cfg(test)]
mod tests;
