//! Runs: begun once per slot, ended once, and kept for the status table and for judging later runs.

use chrono::{DateTime, Utc};

use super::StoreError;
use super::pending_ends::PendingEnds;
use crate::model::{PastRun, Row, RunId, TaskName, ValueColumn, Verdict};

/// Why a run was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    Schedule,
    /// Somebody typed `pieme run` or pressed the button.
    Person,
    /// Missed while the daemon was down.
    CatchUp,
    /// A template was learned or confirmed just now.
    Learned,
}

impl Trigger {
    pub const ALL: &'static [Trigger] = &[Trigger::Schedule, Trigger::Person, Trigger::CatchUp, Trigger::Learned];

    pub fn word(self) -> &'static str {
        match self {
            Trigger::Schedule => "schedule",
            Trigger::Person => "person",
            Trigger::CatchUp => "catch-up",
            Trigger::Learned => "learned",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Trigger> {
        Trigger::ALL.iter().copied().find(|trigger| trigger.word() == word)
    }
}

/// What is known at the start of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStart {
    pub run: RunId,
    pub task: TaskName,
    /// The due time without jitter; none for an unscheduled run.
    pub slot: Option<DateTime<Utc>>,
    pub trigger: Trigger,
    pub started_at: DateTime<Utc>,
    /// Process id of the child, once it is spawned.
    pub pid: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginOutcome {
    Started,
    /// The slot already had its run; nothing was written.
    SlotTaken,
    /// Another daemon owns the task; nothing was written.
    OwnedElsewhere,
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub start: RunStart,
    /// Boot id of the machine it ran on.
    pub boot: Option<String>,
    /// None while it is running.
    pub end: Option<(DateTime<Utc>, Verdict)>,
}

impl RunRow {
    /// What judging later runs needs, once the run has ended.
    pub fn into_past(self) -> Option<PastRun> {
        let RunStart { run, started_at, .. } = self.start;
        self.end.map(|(ended_at, verdict)| PastRun { run, started_at, ended_at, verdict })
    }
}

/// Starting runs, and reading past ones.
pub trait Runs {
    fn begin_run(&mut self, start: &RunStart) -> Result<BeginOutcome, StoreError>;

    /// Sets the child's process id, known once it is spawned.
    fn set_pid(&mut self, run: RunId, pid: u32) -> Result<(), StoreError>;

    /// The last runs of a task that have ended, newest first.
    fn past_verdicts(&self, task: &TaskName, n: u32) -> Result<Vec<PastRun>, StoreError> {
        Ok(self.past_runs(task, n)?.into_iter().filter_map(RunRow::into_past).collect())
    }

    /// The last runs of a task that were published, newest first, however many others came since.
    fn good_runs(&self, task: &TaskName, n: u32) -> Result<Vec<PastRun>, StoreError>;

    /// As `past_verdicts`, with everything that is kept of a run.
    fn past_runs(&self, task: &TaskName, n: u32) -> Result<Vec<RunRow>, StoreError>;

    fn run(&self, run: RunId) -> Result<Option<RunRow>, StoreError>;
}

/// Staging the rows of a running run.
pub trait RowStaging {
    /// Stages rows of a running run. May be called once per page; columns that only later pages have are added. `key`
    /// names the columns that identify a record; without them, or where all of them are empty, the whole record does.
    fn stage_rows(
        &mut self,
        run: RunId,
        task: &TaskName,
        columns: &[String],
        key: &[String],
        rows: &[Row],
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.stage_values(run, task, (columns, &[]), key, rows, now)
    }

    /// As [`stage_rows`](RowStaging::stage_rows), for rows with values: they follow the cells of the texts.
    fn stage_values(
        &mut self,
        run: RunId,
        task: &TaskName,
        columns: (&[String], &[ValueColumn]),
        key: &[String],
        rows: &[Row],
        now: DateTime<Utc>,
    ) -> Result<(), StoreError>;
}

/// Ending a run.
///
/// ```text
/// begin_run → stage_rows … → end_run ─┬ published:   the task's view moves to the new rows, in one short transaction
///                                     ├ unchanged:   the rows stay, `_run` and `_last_seen` move
///                                     ├ quarantined: the rows are kept back, not published
///                                     └ empty, failed: the rows are dropped
/// ```
pub trait RunEnding {
    /// Ends a run, and publishes its rows when the verdict says so. Returns the verdict as it was recorded: `changed`
    /// becomes `unchanged` where the published rows are equal, and a verdict that contradicts the staged rows becomes
    /// one that publishes nothing. After an error the run is still running, and can be ended otherwise.
    fn end_run(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) -> Result<Verdict, StoreError>;

    /// At the daemon's start: interrupted runs are recorded as `crash`, and their staged rows are removed.
    fn end_interrupted_runs(&mut self, now: DateTime<Utc>) -> Result<Vec<(RunId, TaskName)>, StoreError>;

    /// Ends a failed run, now or as soon as the store can be written to. Its rows are dropped either way.
    fn end_failed(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) {
        self.forget_staged(run);
        self.pending_ends().push(run, verdict, now);
        // An end that cannot be written now stays pending.
        let _ = self.write_pending_ends();
    }

    /// Writes the pending ends.
    fn write_pending_ends(&mut self) -> Result<(), StoreError> {
        let mut owed = std::mem::take(self.pending_ends());
        let written = owed.write_all(|run, verdict, ended_at| self.end_run(run, verdict, ended_at));
        *self.pending_ends() = owed;
        written
    }

    fn has_pending_ends(&mut self) -> bool {
        !self.pending_ends().is_empty()
    }

    fn pending_ends(&mut self) -> &mut PendingEnds;

    /// Drops the staged rows of a run that will not be published.
    fn forget_staged(&mut self, run: RunId);
}
