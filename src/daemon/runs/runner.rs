//! Executes one run from the parent's side: job, child process, report, verdict. Used by the daemon, and by `pieme run`
//! when no daemon is running.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::watch;

use crate::config::Config;
use crate::daemon::child::answers;
use crate::daemon::child::host_limiter::SharedHostLimiter;
use crate::daemon::child::lifecycle::{RunningChild, SpawnedChild, wait_for_stop};
use crate::daemon::child::requests::ChildRequests;
use crate::daemon::child::spawn::Spawner;
use crate::daemon::child::stepping::StepProcess;
use crate::daemon::schedule::crash_backoff;
use crate::daemon::store_handle::StoreHandle;
use crate::daemon::threads;
use crate::judge;
use crate::model::{Failure, Outcome, Quarantine, RunId, StepwiseState, Table, Verdict, shortage};
use crate::protocol::{RunJob, StepAudience};
use crate::store::{BeginOutcome, RunStart, Store, StoreError, Trigger};
use crate::tasks;
use crate::tasks::TaskFolder;

use super::collect::{Collector, RunReport, TraceListener};
use super::job;
use super::progress::ProgressBoard;
use super::refused;
use super::repair::{self, RepairResult};
use super::stepping::{StepStartError, start_stepping};
use super::verdict::{child_verdict, crash_verdict, store_failure};

/// The child reports its own timeout; if it has not, it is killed this much later.
const KILL_GRACE: Duration = Duration::from_secs(3);

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
    pub(in crate::daemon) fn failed(verdict: Verdict) -> RunEnd {
        RunEnd { verdict, learned: None, backoff_until: None }
    }
}

impl Runner {
    /// As [`Runner::run`]; where that panics, the run ends as `crash`, so that its slot is free again.
    pub async fn run_catching_panics(&self, order: RunOrder) -> Result<RunResult, StoreError> {
        let (folder, run) = (Arc::clone(&order.folder), order.start.run);
        match threads::catch_panic_of(self.run(order)).await {
            Ok(ended) => ended,
            Err(why) => {
                tracing::error!(%run, task = %folder.name, "{}: the daemon panicked around a run: {why}", folder.name);
                Ok(RunResult::Run(Box::new(self.record_end(&folder, run, RunEnd::failed(crash_verdict(&why))).await)))
            }
        }
    }

    pub async fn run(&self, order: RunOrder) -> Result<RunResult, StoreError> {
        let RunOrder { mut folder, start, next_due, listener, stop } = order;
        let run = start.run;
        let limits = self.config.grants.current().ceiling.lower_defaults(&folder.task.limits);
        if limits != folder.task.limits {
            Arc::make_mut(&mut folder).task.limits = limits;
        }
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
        let found = repair::repair(&self.store, &self.spawner, &folder, run, &mut end.verdict, stop.clone()).await;
        let end = self.record_end(&folder, run, end).await;
        match found.filter(|found| found.is_auto_accepted(&folder, &end.verdict)) {
            Some(found) => Ok(RunResult::Run(Box::new(self.run_repaired(&folder, found, end, listener, stop).await?))),
            None => Ok(RunResult::Run(Box::new(end))),
        }
    }

    /// Runs the task with the repaired template. The folder is changed only if the rows are published.
    async fn run_repaired(
        &self,
        folder: &Arc<TaskFolder>,
        found: RepairResult,
        first: RunEnd,
        listener: Option<TraceListener>,
        stop: watch::Receiver<bool>,
    ) -> Result<RunEnd, StoreError> {
        let (run, started_at) = (RunId::new(), Utc::now());
        let Some(repair) = found.best(started_at) else { return Ok(first) };
        let name = folder.name.clone();
        tracing::debug!(%run, task = %name, "run with the repaired template starts");
        let start = RunStart { run, task: name, slot: None, trigger: Trigger::Learned, started_at, pid: None };
        self.store.call(move |store| store.begin_run(&start)).await?;
        let renewed = TaskFolder { template: Some(repair.template()), ..(**folder).clone() };
        let mut end = self.run_child_job(&renewed, run, listener, stop).await;
        end.learned = repair.conclude(folder, &first.verdict, &mut end.verdict);
        Ok(self.record_end(folder, run, end).await)
    }

    /// Starts a stepping session of the dashboard.
    pub async fn start_stepping(&self, folder: &TaskFolder) -> Result<(StepProcess, StepwiseState), StepStartError> {
        let limiter = self.host_limiter.clone();
        start_stepping(&self.config, &self.spawner, limiter, folder, StepAudience::Dashboard).await
    }

    /// Runs the child and returns the verdict, which is not stored yet.
    async fn run_child_job(
        &self,
        folder: &TaskFolder,
        run: RunId,
        listener: Option<TraceListener>,
        stop: watch::Receiver<bool>,
    ) -> RunEnd {
        let going = async {
            match job::run_job(&self.config, &self.store, folder, run).await {
                Ok((job, _scratch)) => {
                    let mut end = self.supervise_child(folder, run, job, listener, stop).await;
                    refused::hold_back(&self.store, folder, run, &mut end.verdict).await;
                    end
                }
                Err(verdict) => RunEnd::failed(verdict),
            }
        };
        // A run whose end is not stored would be shown as running for ever.
        threads::catch_panic_of(going).await.unwrap_or_else(|why| {
            tracing::error!(%run, task = %folder.name, "{}: the daemon panicked during a run: {why}", folder.name);
            RunEnd::failed(crash_verdict(&why))
        })
    }

    /// Stores the end of a run and logs it.
    async fn record_end(&self, folder: &Arc<TaskFolder>, run: RunId, end: RunEnd) -> RunEnd {
        let (verdict, left_alone_until) = self.store_end(folder, run, end.verdict).await;
        // The only line of a run at level info. `journalctl` shows messages without fields, so the facts stand in both.
        let (task, outcome, cause) = (&folder.name, verdict.outcome.word(), verdict.outcome.cause());
        let (rows, sentence) = (verdict.rows, &verdict.sentence);
        tracing::info!(%run, %task, outcome, cause, rows, "{task}: {outcome} ({cause}): {sentence}");
        RunEnd { verdict, backoff_until: left_alone_until, ..end }
    }

    async fn supervise_child(
        &self,
        folder: &TaskFolder,
        run: RunId,
        job: RunJob,
        listener: Option<TraceListener>,
        mut stop: watch::Receiver<bool>,
    ) -> RunEnd {
        let time_limit = job.fetch.task.limits.timeout.0 + KILL_GRACE;
        // The published rows are those of the same list unless a person has labelled it since.
        let is_comparable = !job.past.is_empty();
        let child = match self.start_child(folder, run, job, listener).await {
            Ok(child) => child,
            Err(error) => {
                let sentence = format!("starting the run's process failed: {}", shortage::in_words(&error));
                return RunEnd::failed(Verdict::failed(Failure::Internal, sentence));
            }
        };
        let mut end = child.finish(time_limit, wait_for_stop(&mut stop)).await;
        // Nothing is kept of a child that broke the protocol.
        let learned = end.result.as_ref().filter(|report| report.error.is_none()).and_then(|report| {
            self.keep_files(folder, report);
            report.template.clone()
        });
        let first_rows = end.result.as_mut().map(|report| std::mem::take(&mut report.first_rows));
        let mut verdict = child_verdict(folder, end);
        if let Some(first_rows) = first_rows.filter(|_| is_comparable && verdict.outcome.is_published()) {
            self.check_moved_values(folder, first_rows, &mut verdict).await;
        }
        RunEnd { learned, ..RunEnd::failed(verdict) }
    }

    /// Quarantines a run whose records have their values in other columns than the published ones. The child cannot
    /// compare them: it has no database.
    async fn check_moved_values(&self, folder: &TaskFolder, first_rows: Table, verdict: &mut Verdict) {
        let name = folder.name.clone();
        let compare = move |store: &mut Store| {
            let published = store.published(&name, judge::MAX_COMPARED_ROWS as u64, 0)?;
            Ok::<_, StoreError>(published.and_then(|rows| judge::moved_values(&rows.table, &first_rows)))
        };
        match self.store.call(compare).await {
            Ok(None) => {}
            Ok(Some(moved)) => {
                verdict.outcome = Outcome::Quarantined(Quarantine::Columns);
                verdict.sentence = format!("{moved}; the last good rows stay published");
            }
            Err(error) => tracing::warn!(task = %folder.name, "comparing with the published rows failed: {error}"),
        }
    }

    async fn start_child(
        &self,
        folder: &TaskFolder,
        run: RunId,
        mut job: RunJob,
        listener: Option<TraceListener>,
    ) -> io::Result<RunningChild<RunReport>> {
        let child = SpawnedChild::spawn(&self.spawner).await?;
        let pid = child.id();
        let named = self.store.call(move |store| store.set_pid(run, pid)).await;
        if let Err(error) = named {
            tracing::warn!(%run, "storing the process id of a run failed: {error}");
        }
        let (answers, answered) = answers::channel();
        let requests = ChildRequests::open(run, folder, &job.fetch.addresses, self.host_limiter.clone(), answers);
        job.fetch.cached_pages = requests.cached_pages();
        let collector = Collector {
            store: self.store.clone(),
            run,
            task: folder.name.clone(),
            key: folder.task.data.key.clone(),
            listener,
            requests,
            progress: self.board.register(run, folder.name.clone(), Utc::now()),
        };
        child.deliver(job, Vec::new(), answered, move |messages| collector.collect(messages))
    }

    /// Writes the child's session and templates into the task's folder; a child cannot write there itself.
    fn keep_files(&self, folder: &TaskFolder, report: &RunReport) {
        let (task, dir) = (&folder.name, &folder.dir);
        let written = [
            ("session", report.cookies.as_ref().map(|json| tasks::write_cookies(dir, json))),
            ("template", report.template.as_ref().map(|template| tasks::write_template(dir, template))),
            ("detail template", report.details.as_ref().map(|template| tasks::write_details(dir, template))),
        ];
        for (what, written) in written {
            if let Some(Err(error)) = written {
                tracing::warn!(%task, "{task}: storing the {what} failed: {error}");
            }
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

#[cfg(test)]
mod tests;
