//! Runs: begun once a slot, ended once, kept for the status table and for judging later ones.

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

/// What is known when a run begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStart {
    pub run: RunId,
    pub task: TaskName,
    /// The due instant without jitter; a run out of turn has none.
    pub slot: Option<DateTime<Utc>>,
    pub trigger: Trigger,
    pub started_at: DateTime<Utc>,
    /// Of the child, once there is one.
    pub pid: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginOutcome {
    Started,
    /// This slot had its run; nothing was written.
    SlotTaken,
    /// The task is another daemon's; nothing was written.
    OwnedElsewhere,
}

/// A run as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub start: RunStart,
    /// Which boot of the machine it ran in.
    pub boot: Option<String>,
    /// Absent while it is going.
    pub end: Option<(DateTime<Utc>, Verdict)>,
}

impl RunRow {
    /// What later judgement needs, once the run has ended.
    pub fn into_past(self) -> Option<PastRun> {
        let RunStart { run, started_at, .. } = self.start;
        self.end.map(|(ended_at, verdict)| PastRun { run, started_at, ended_at, verdict })
    }
}

/// Runs as they begin and as they are remembered.
pub trait Runs {
    fn begin_run(&mut self, start: &RunStart) -> Result<BeginOutcome, StoreError>;

    /// The child's process id, known once it was spawned.
    fn set_pid(&mut self, run: RunId, pid: u32) -> Result<(), StoreError>;

    /// The last runs of a task that have ended, newest first.
    fn past_verdicts(&self, task: &TaskName, n: u32) -> Result<Vec<PastRun>, StoreError> {
        Ok(self.past_runs(task, n)?.into_iter().filter_map(RunRow::into_past).collect())
    }

    /// The last runs of a task that were published, newest first, however many others came since.
    fn good_runs(&self, task: &TaskName, n: u32) -> Result<Vec<PastRun>, StoreError>;

    /// The same with all that is kept of them.
    fn past_runs(&self, task: &TaskName, n: u32) -> Result<Vec<RunRow>, StoreError>;

    fn run(&self, run: RunId) -> Result<Option<RunRow>, StoreError>;
}

/// The rows of a run that is going.
pub trait RowStaging {
    /// Takes rows of a run that is going. May be called once a page; a column that only later pages have is added.
    /// `key` names the columns that identify a record; without them, or where all of them are empty, the whole record
    /// does.
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

    /// As [`stage_rows`](Staging::stage_rows), of rows with values: behind the cells of its texts a row has what they mean.
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

/// A run's end.
///
/// ```text
/// begin_run → stage_rows … → end_run ─┬ published:   the view named as the task moves to the new rows, in one short transaction
///                                     ├ unchanged:   the rows stay, `_run` and `_last_seen` move
///                                     ├ quarantined: the rows are kept aside
///                                     └ empty, failed: the rows are dropped
/// ```
pub trait RunEnding {
    /// Ends a run, and publishes its rows when the verdict says so. Answers with the verdict as it was recorded:
    /// `changed` becomes `unchanged` where the published rows say the same, and a verdict that does not fit the rows
    /// that arrived becomes one that publishes nothing. On an error the run is still going, and can be ended otherwise.
    fn end_run(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) -> Result<Verdict, StoreError>;

    /// At the daemon's start: runs that were going when it ended have crashed, and their staged rows go.
    fn end_interrupted_runs(&mut self, now: DateTime<Utc>) -> Result<Vec<(RunId, TaskName)>, StoreError>;

    /// Ends a run that failed, now or as soon as the store can be written to. Its rows are dropped either way.
    fn end_failed(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) {
        self.forget_staged(run);
        self.pending_ends().push(run, verdict, now);
        // What cannot be written now waits.
        let _ = self.write_pending_ends();
    }

    /// Writes down the ends that wait.
    fn write_pending_ends(&mut self) -> Result<(), StoreError> {
        let mut owed = std::mem::take(self.pending_ends());
        let written = owed.write_all(|run, verdict, ended_at| self.end_run(run, verdict, ended_at));
        *self.pending_ends() = owed;
        written
    }

    /// The ends that wait.
    fn pending_ends(&mut self) -> &mut PendingEnds;

    /// Rows of a run that will not be published.
    fn forget_staged(&mut self, run: RunId);
}
