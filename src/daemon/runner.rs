//! Executes one run from the parent's side: job, child process, report, verdict. Used by the daemon, and by `pieme run`
//! when no daemon is running.

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

/// The child reports its own timeout; if it has not, it is killed this much later.
const KILL_GRACE: Duration = Duration::from_secs(3);
/// Earlier good runs that the child gets for comparison.
const PAST_RUNS: u32 = 8;

/// Everything that running a task needs.
#[derive(Clone)]
pub struct Runner {
    pub config: Arc<Config>,
    pub store: StoreHandle,
    pub spawner: Spawner,
    /// One per-host rate limiter for all runs.
    pub host_limiter: SharedHostLimiter,
    /// The progress of all runs.
    pub board: ProgressBoard,
}

/// What a run is started with.
pub struct RunOrder {
    pub folder: Arc<TaskFolder>,
    pub start: RunStart,
    /// The task's next due time, stored as soon as this run has begun.
    pub next_due: Option<DateTime<Utc>>,
    pub listener: Option<TraceListener>,
    /// Becomes true when the run must end now.
    pub stop: watch::Receiver<bool>,
}

/// How an order ended.
#[derive(Debug)]
pub enum RunResult {
    Run(Box<RunEnd>),
    /// This slot of the schedule has had its run already.
    SlotTaken,
    /// The task was assigned to another daemon.
    NotOurs,
}

/// How a run ended.
#[derive(Debug)]
pub struct RunEnd {
    pub verdict: Verdict,
    /// The template that the run has learned and that was written to the folder.
    pub learned: Option<String>,
    /// Set by crash backoff: the schedule skips the task until then.
    pub backoff_until: Option<DateTime<Utc>>,
}

impl RunEnd {
    pub(super) fn failed(verdict: Verdict) -> RunEnd {
        RunEnd { verdict, learned: None, backoff_until: None }
    }
}

/// Why the parent killed a child.
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
                tracing::error!(%run, task = %folder.name, "{}: the daemon panicked around a run: {why}", folder.name);
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
            // Not earlier: until the run has begun, its own slot is the one that is due.
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

    /// Runs the child and returns the verdict, which is not stored yet.
    pub(super) async fn run_child_job(
        &self,
        folder: &TaskFolder,
        run: RunId,
        listener: Option<TraceListener>,
        stop: watch::Receiver<bool>,
    ) -> RunEnd {
        let going = async {
            match self.job_for_child(folder, run).await {
                Ok((job, _scratch)) => self.supervise_child(folder, job, listener, stop).await,
                Err(verdict) => RunEnd::failed(verdict),
            }
        };
        // A run whose end is not stored would be shown as running for ever.
        AssertUnwindSafe(going).catch_unwind().await.unwrap_or_else(|panic| {
            let why = threads::panic_message(panic);
            tracing::error!(%run, task = %folder.name, "{}: the daemon panicked during a run: {why}", folder.name);
            RunEnd::failed(crash_verdict(&why))
        })
    }

    /// Stores the end of a run and logs it.
    pub(super) async fn record_end(&self, folder: &Arc<TaskFolder>, run: RunId, end: RunEnd) -> RunEnd {
        let (verdict, left_alone_until) = self.store_end(folder, run, end.verdict).await;
        // The only line of a run at level info. `journalctl` shows messages without fields, so the facts stand in both.
        let (task, outcome, cause) = (&folder.name, verdict.outcome.word(), verdict.outcome.cause());
        let (rows, sentence) = (verdict.rows, &verdict.sentence);
        tracing::info!(%run, %task, outcome, cause, rows, "{task}: {outcome} ({cause}): {sentence}");
        RunEnd { verdict, backoff_until: left_alone_until, ..end }
    }

    /// The job for the child, and a scratch folder for a browser.
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
                Verdict::failed(Failure::Internal, format!("creating the browser's profile folder failed: {why}"))
            })?),
        };
        let job = Job {
            run,
            name: folder.name.clone(),
            // A run does not need the alert targets.
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
        Ok((job, scratch))
    }

    fn secrets(&self, folder: &TaskFolder) -> Result<Secrets, SecretError> {
        let names = secrets::names(&folder.task, &folder.script);
        secrets::lookup_all(&self.config, &names).map(Secrets)
    }

    async fn supervise_child(
        &self,
        folder: &TaskFolder,
        job: Job,
        listener: Option<TraceListener>,
        mut stop: watch::Receiver<bool>,
    ) -> RunEnd {
        let time_limit = job.task.limits.timeout.0 + KILL_GRACE;
        let RunningChild { process, answer_writer: giving, collector: mut collecting } =
            match self.start_child(folder, job, listener).await {
                Ok(going) => going,
                Err(error) => {
                    let sentence = format!("starting the run's process failed: {}", shortage::in_words(&error));
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
        // The report is complete; the child's process group is killed whatever it still does.
        let (words, status) = process.kill_and_wait().await;
        drop(giving.await);
        self.keep_files(folder, &report);
        let learned = report.template.clone();
        RunEnd { learned, ..RunEnd::failed(child_verdict(folder, report, killed, status, &words)) }
    }

    /// Starts the child and the threads that exchange messages with it.
    async fn start_child(
        &self,
        folder: &TaskFolder,
        mut job: Job,
        listener: Option<TraceListener>,
    ) -> io::Result<RunningChild> {
        let run = job.run;
        let (child, outlet) = self.spawner.spawn().await?;
        let (process, stdout) = ChildProcess::supervise(child)?;
        let pid = process.id();
        let named = self.store.call(move |store| store.set_pid(run, pid)).await;
        if let Err(error) = named {
            tracing::warn!(%run, "storing the process id of a run failed: {error}");
        }
        let (answers, answered) = std::sync::mpsc::channel();
        let desk = ChildRequests::open(run, folder, self.host_limiter.clone(), answers);
        job.kept = desk.page_cache.pages();
        let collector = Collector {
            store: self.store.clone(),
            run,
            task: folder.name.clone(),
            key: folder.task.data.key.clone(),
            listener,
            requests: desk,
            progress: self.board.register(run, folder.name.clone(), Utc::now()),
        };
        let giving = threads::start("run-give", move || write_job_and_answers(outlet, &job, answered))?;
        let collecting = threads::start("run-collect", move || collector.collect(stdout))?;
        Ok(RunningChild { process, answer_writer: giving, collector: collecting })
    }

    /// Writes the child's session and templates into the task's folder; a child cannot write there itself.
    fn keep_files(&self, folder: &TaskFolder, report: &RunReport) {
        if let Some(json) = &report.cookies
            && let Err(error) = tasks::write_cookies(&folder.dir, json)
        {
            tracing::warn!(task = %folder.name, "{}: storing the session failed: {error}", folder.name);
        }
        if let Some(template) = &report.template
            && let Err(error) = tasks::write_template(&folder.dir, template)
        {
            tracing::warn!(task = %folder.name, "{}: storing the template failed: {error}", folder.name);
        }
        if let Some(template) = &report.details
            && let Err(error) = tasks::write_details(&folder.dir, template)
        {
            tracing::warn!(task = %folder.name, "{}: storing the detail template failed: {error}", folder.name);
        }
    }

    /// Ends the run in the store. If that fails, the run is recorded as failed, which needs far less space and is
    /// written as soon as there is any.
    async fn store_end(
        &self,
        folder: &Arc<TaskFolder>,
        run: RunId,
        mut verdict: Verdict,
    ) -> (Verdict, Option<DateTime<Utc>>) {
        let folder = Arc::clone(folder);
        let work = move |store: &mut Store| {
            let now = Utc::now();
            // A read error shows again when the run is ended.
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

    /// Ends a run without its rows, after the store panicked over them.
    async fn store_failed_end(&self, run: RunId, error: StoreError) -> Verdict {
        let failed = store_failure(error);
        let verdict = failed.clone();
        let ending = move |store: &mut Store| {
            store.end_failed(run, &verdict, Utc::now());
            Ok::<_, StoreError>(())
        };
        if let Err(error) = self.store.call(ending).await {
            tracing::error!(%run, "storing the end of run {run} failed: {error}");
        }
        failed
    }
}

/// A store error fails the run, and only the run.
pub(super) fn store_failure(error: StoreError) -> Verdict {
    Verdict::failed(Failure::Internal, format!("storing the run failed: {error}"))
}

/// A started child, and the threads that exchange messages with it.
struct RunningChild {
    process: ChildProcess,
    answer_writer: ThreadResult<Result<ParentSocket, FrameError>>,
    collector: ThreadResult<RunReport>,
}

/// Writes the job to the child, and then the answers to its requests. The socket is held open to the end: the child
/// exits when its stdin is closed.
pub(super) fn write_job_and_answers(
    mut outlet: ParentSocket,
    job: &Job,
    answered: std::sync::mpsc::Receiver<ChildAnswer>,
) -> Result<ParentSocket, FrameError> {
    outlet.write(job, &[])?;
    answered.into_iter().try_for_each(|given| match given {
        ChildAnswer::Reply(answer, raw) => outlet.write(&answer, &raw),
        ChildAnswer::Connection(answer, connection) => outlet.write_with_connection(&answer, connection),
    })?;
    Ok(outlet)
}

/// The verdict of a run during which the daemon itself panicked.
pub(super) fn crash_verdict(why: &str) -> Verdict {
    Verdict::failed(
        Failure::Crash,
        format!("the daemon panicked during this run ({why}); this is a bug in pieme, please report it"),
    )
}

/// As [`file_failure`], for a secret.
fn secret_failure(error: &SecretError) -> Verdict {
    let cause = if error.is_shortage() { Failure::Internal } else { Failure::Config };
    Verdict::failed(cause, error.to_string())
}

/// A mistake in a file is the task's failure (`config`), a shortage of resources the daemon's (`internal`).
fn file_failure(problem: impl Into<Problem>) -> Verdict {
    let problem = problem.into();
    let cause = if problem.is_shortage { Failure::Internal } else { Failure::Config };
    Verdict::failed(cause, problem.to_string())
}

pub(super) async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|&now| now).await.is_err() {
        // The sender is gone, so no stop can come.
        std::future::pending::<()>().await;
    }
}

/// The verdict of a child: the one it reported, or one made from how it ended.
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
            return Verdict::failed(Failure::Timeout, format!("the run was not done after {limit} (limits.timeout)"));
        }
        KillReason::Stop => {
            let mut verdict = Verdict::interrupted();
            verdict.sentence.push_str("; the run is made up at the next start");
            return verdict;
        }
        KillReason::NotKilled => {}
    }
    if words.contains("memory allocation of") {
        let limit = folder.task.limits.memory;
        return Verdict::failed(Failure::Memory, format!("the run needed more than {limit} of memory (limits.memory)"));
    }
    let signal = status.and_then(|it| it.signal());
    if signal == Some(Signal::SIGXCPU as i32) {
        return Verdict::failed(Failure::Timeout, "the run used up its processor time (limits.timeout)");
    }
    let how = match (signal, status.and_then(|it| it.code())) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with code {code} and no report"),
        (None, None) => "ended without an exit status".to_owned(),
    };
    let panic = words.lines().find(|line| !line.trim().is_empty()).map(|line| format!(": {line}")).unwrap_or_default();
    Verdict::failed(Failure::Crash, format!("the run's process {how}{panic}"))
}

#[cfg(test)]
mod tests;
