//! Runs: begun once per slot, ended once, and kept for the status table and for judging later runs.

use chrono::{DateTime, Utc};

use super::pending_ends::PendingEnds;
use super::retention::RetentionLimits;
use super::sql::{FromSqlValue, SqlRow, SqlSession, SqlStore, SqlValue};
use super::{StoreError, StoreResult, decode, run_end};
use crate::model::{PastRun, Row, RunId, RunStatistics, TaskName, ValueColumn, Verdict};

/// Runs that are removed at the end of a run, where one is enough; the rest is left to `gc`.
const RUNS_PRUNED_PER_END: u32 = 50;

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

/// Starting runs.
pub trait RunStarting {
    fn begin_run(&mut self, start: &RunStart) -> StoreResult<BeginOutcome>;
}

/// Running and past runs.
pub trait Runs {
    /// Sets the child's process id, known once it is spawned.
    fn set_pid(&mut self, run: RunId, pid: u32) -> StoreResult<()>;

    /// The last runs of a task that have ended, newest first.
    fn past_verdicts(&self, task: &TaskName, n: u32) -> StoreResult<Vec<PastRun>> {
        Ok(self.past_runs(task, n)?.into_iter().filter_map(RunRow::into_past).collect())
    }

    /// The last runs of a task that were published, newest first, however many others came since.
    fn good_runs(&self, task: &TaskName, n: u32) -> StoreResult<Vec<PastRun>>;

    /// As `past_verdicts`, with everything that is kept of a run.
    fn past_runs(&self, task: &TaskName, n: u32) -> StoreResult<Vec<RunRow>>;

    fn run(&self, run: RunId) -> StoreResult<Option<RunRow>>;
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
    ) -> StoreResult<()> {
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
    ) -> StoreResult<()>;
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
    fn end_run(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) -> StoreResult<Verdict>;

    /// At the daemon's start: interrupted runs are recorded as `crash`, and their staged rows are removed.
    fn end_interrupted_runs(&mut self, now: DateTime<Utc>) -> StoreResult<Vec<(RunId, TaskName)>>;

    /// Ends a failed run, now or as soon as the store can be written to. Its rows are dropped either way.
    fn end_failed(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) {
        self.forget_staged(run);
        self.pending_ends().push(run, verdict, now);
        // An end that cannot be written now stays pending.
        let _ = self.write_pending_ends();
    }

    /// Writes the pending ends.
    fn write_pending_ends(&mut self) -> StoreResult<()> {
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

impl<S: SqlStore> Runs for S {
    fn set_pid(&mut self, run: RunId, pid: u32) -> StoreResult<()> {
        self.session().apply("UPDATE _runs SET pid = $2 WHERE id = $1", &[&run, &pid])
    }

    fn good_runs(&self, task: &TaskName, n: u32) -> StoreResult<Vec<PastRun>> {
        let runs = newest(self.session(), task, n, "outcome = 'published'")?;
        Ok(runs.into_iter().filter_map(RunRow::into_past).collect())
    }

    fn past_runs(&self, task: &TaskName, n: u32) -> StoreResult<Vec<RunRow>> {
        newest(self.session(), task, n, "ended IS NOT NULL")
    }

    fn run(&self, run: RunId) -> StoreResult<Option<RunRow>> {
        let sql = format!("SELECT {RUN_COLUMNS}, r.figures FROM _runs r WHERE id = $1");
        self.session().query_first(&sql, &[&run], read_with_statistics)
    }
}

fn newest(session: &impl SqlSession, task: &TaskName, n: u32, which: &str) -> StoreResult<Vec<RunRow>> {
    let sql = format!(
        "SELECT {RUN_COLUMNS}, r.figures FROM _runs r WHERE task = $1 AND {which}
         ORDER BY started DESC, id DESC LIMIT $2"
    );
    session.query(&sql, &[task, &n], read_with_statistics)
}

const COLUMN_COUNT: usize = 15;

/// The columns that `read` takes, of `_runs` under the name `r`.
pub(super) const RUN_COLUMNS: &str = "r.id, r.task, r.slot, r.trigger, r.started, r.pid, r.boot, r.ended, r.outcome, \
                                      r.cause, r.sentence, r.similarity, r.rows, r.pages, r.provisional";

/// As `read`, with the statistics, which are the last column. The status of ten thousand tasks does without them.
fn read_with_statistics(row: &dyn SqlRow) -> StoreResult<RunRow> {
    let mut run = read(row, 0)?;
    if let Some((_, verdict)) = &mut run.end {
        verdict.statistics = decode::statistics(row.get::<Option<String>>(COLUMN_COUNT)?.as_deref());
    }
    Ok(run)
}

pub(super) fn read(row: &dyn SqlRow, from: usize) -> StoreResult<RunRow> {
    let text = |index: usize| row.get::<String>(from + index);
    let start = RunStart {
        run: row.get(from)?,
        task: row.get(from + 1)?,
        slot: row.get(from + 2)?,
        trigger: row.get(from + 3)?,
        started_at: row.get(from + 4)?,
        pid: row.get(from + 5)?,
    };
    let boot = row.get(from + 6)?;
    let Some(ended) = row.get(from + 7)? else { return Ok(RunRow { start, boot, end: None }) };
    let verdict = Verdict {
        outcome: decode::outcome(&text(8)?, &text(9)?)?,
        sentence: text(10)?,
        similarity: row.get(from + 11)?,
        rows: row.get::<Option<u64>>(from + 12)?.unwrap_or(0),
        pages: row.get::<Option<u32>>(from + 13)?.unwrap_or(0),
        provisional: row.get(from + 14)?,
        statistics: RunStatistics::default(),
    };
    Ok(RunRow { start, boot, end: Some((ended, verdict)) })
}

impl FromSqlValue for Trigger {
    fn from_sql_value(value: SqlValue<'_>) -> StoreResult<Trigger> {
        let word = String::from_sql_value(value)?;
        let found = Trigger::ALL.iter().copied().find(|trigger| trigger.word() == word);
        found.ok_or_else(|| StoreError::InvalidValue(format!("`{word}` is not a run trigger")))
    }
}

/// Adds the task of a run that starts, where it is new.
pub(super) fn add_task(session: &impl SqlSession, start: &RunStart) -> StoreResult<()> {
    let sql = "INSERT INTO _task (name, added_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    session.apply(sql, &[&start.task, &start.started_at])
}

/// Records the slot of a run that has started.
pub(super) fn record_slot(session: &impl SqlSession, start: &RunStart) -> StoreResult<()> {
    if let Some(slot) = start.slot {
        let sql = "UPDATE _task SET last_slot = $2 WHERE name = $1 AND (last_slot IS NULL OR last_slot < $2)";
        session.modify(sql, &[&start.task, &slot])?;
    }
    Ok(())
}

/// Writes a run's end, and the status of its task.
pub(super) fn record_end(
    session: &impl SqlSession,
    run: RunId,
    task: &TaskName,
    verdict: &Verdict,
    now: DateTime<Utc>,
) -> StoreResult<()> {
    session.modify(
        "UPDATE _runs SET ended = $2, outcome = $3, cause = $4, sentence = $5, similarity = $6, rows = $7, pages = $8,
             provisional = $9, figures = $10 WHERE id = $1",
        &[
            &run,
            &now,
            &verdict.outcome.word(),
            &verdict.outcome.cause(),
            &verdict.sentence,
            &decode::similarity(verdict),
            &verdict.rows,
            &verdict.pages,
            &verdict.provisional,
            &decode::statistics_json(verdict),
        ],
    )?;
    let last_ok = verdict.outcome.is_published().then_some(now);
    session.apply(
        "UPDATE _task SET last_run = $2, last_ok = coalesce($3, last_ok),
             fails = CASE CAST($4 AS text) WHEN 'reset' THEN 0 WHEN 'count' THEN fails + 1 ELSE fails END
         WHERE name = $1",
        &[task, &run, &last_ok, &run_end::failure_count_action(verdict.outcome)],
    )
}

/// Removes the oldest runs of a task, and the traces of all but the newest.
pub(super) fn prune(session: &impl SqlSession, task: &TaskName, keep: RetentionLimits) -> StoreResult<()> {
    let beyond = "SELECT id FROM _runs WHERE task = $1 ORDER BY started DESC, id DESC LIMIT $3 OFFSET $2";
    let traces = format!("DELETE FROM _trace WHERE run IN ({beyond})");
    session.modify(&traces, &[task, &keep.traces, &RUNS_PRUNED_PER_END])?;
    let runs = format!(
        "DELETE FROM _runs WHERE id IN ({beyond}) AND ended IS NOT NULL
             AND id NOT IN (SELECT run FROM _generation WHERE task = $1)"
    );
    session.apply(&runs, &[task, &keep.runs, &RUNS_PRUNED_PER_END])
}
