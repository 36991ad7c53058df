//! Garbage collection. Each step is one small transaction, so that runs that end meanwhile do not wait long; after an
//! interruption it continues the next time.

use std::ops::AddAssign;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::retention::RetentionLimits;
use super::sql::{NO_LIMIT, SqlSession};
use super::{StoreResult, artifacts, decode, generation};
use crate::model::task::Data;
use crate::model::{TaskName, TimeSpan};

/// Runs, or traces of runs, that one step removes; an estimate of what nobody notices, not measured.
const RUNS_PER_STEP: u32 = 200;

/// Records of history after which a step ends, by the same estimate. A change is removed whole, and has 100,000 records
/// at most: of a million that takes SQLite 1.1 s of processor time.
const RECORDS_PER_STEP: u32 = 5_000;

/// What garbage collection has removed, or would remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcCounts {
    pub runs: u64,
    pub trace_lines: u64,
    pub pages: u64,
    pub page_bytes: u64,
    /// Generations that were quarantined, or published before the current one.
    pub generations: u64,
    /// Records of the history, and change sets.
    pub changes: u64,
}

impl GcCounts {
    pub fn is_zero(&self) -> bool {
        *self == GcCounts::default()
    }
}

impl AddAssign for GcCounts {
    fn add_assign(&mut self, more: GcCounts) {
        self.runs += more.runs;
        self.trace_lines += more.trace_lines;
        self.pages += more.pages;
        self.page_bytes += more.page_bytes;
        self.generations += more.generations;
        self.changes += more.changes;
    }
}

/// Removes what is no longer kept.
pub trait GarbageCollection {
    /// Removes some of a task's garbage; nothing is left once all counts are zero. Published rows, and the runs that
    /// brought them, always stay.
    fn collect_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> StoreResult<GcCounts>;

    /// Counts what all steps together would remove, in a transaction that is rolled back.
    fn count_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> StoreResult<GcCounts>;
}

/// How much one step does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectMode {
    Step,
    /// Everything, for counting, in a transaction that is rolled back.
    DryRun,
}

impl CollectMode {
    /// Runs, traces of runs, or changes that are removed at most.
    fn limit(self) -> i64 {
        match self {
            CollectMode::Step => i64::from(RUNS_PER_STEP),
            CollectMode::DryRun => NO_LIMIT,
        }
    }
}

/// One step, in a transaction of the caller's. `drop_generations` removes generations that are marked as old, and
/// returns how many: runs whose rows are gone may then be removed, too.
pub(super) fn collect(
    session: &impl SqlSession,
    task: &TaskName,
    keep: RetentionLimits,
    mode: CollectMode,
    now: DateTime<Utc>,
    drop_generations: impl Fn() -> StoreResult<u64>,
) -> StoreResult<GcCounts> {
    let gone = is_removed_beyond_retention(session, task, keep, now)?;
    let before = count_pages(session, task)?;
    if gone {
        session.modify("DELETE FROM _pages WHERE task = $1", &[task])?;
    } else {
        artifacts::prune_pages(session, task, keep)?;
    }
    mark_generations(session, task, keep, gone)?;
    let generations = drop_generations()?;
    let mut collected = prune_runs(session, task, keep, mode, now)?;
    collected.trace_lines += prune_traces(session, task, if gone { 0 } else { keep.traces }, mode)?;
    let after = count_pages(session, task)?;
    collected.generations = generations;
    collected.changes = prune_changes(session, task, (keep, gone), mode, now)?;
    (collected.pages, collected.page_bytes) = (before.0 - after.0, before.1 - after.1);
    Ok(collected)
}

/// As [`GarbageCollection::count_garbage`]. Generations are removed without their rows.
pub(super) fn count(
    session: &impl SqlSession,
    task: &TaskName,
    keep: RetentionLimits,
    now: DateTime<Utc>,
) -> StoreResult<GcCounts> {
    session.in_rolled_back_transaction(|| {
        let drop = || session.modify("DELETE FROM _generation WHERE task = $1 AND state = 'old'", &[task]);
        collect(session, task, keep, CollectMode::DryRun, now, drop)
    })
}

/// Whether its folder was deleted so long ago that its runs are no longer kept.
fn is_removed_beyond_retention(
    session: &impl SqlSession,
    task: &TaskName,
    keep: RetentionLimits,
    now: DateTime<Utc>,
) -> StoreResult<bool> {
    let sql = "SELECT removed_at FROM _task WHERE name = $1";
    let removed: Option<DateTime<Utc>> = session.query_first(sql, &[task], |row| row.get(0))?.flatten();
    Ok(removed.is_some_and(|at| at < decode::instant_before(now, keep.max_removed_age)))
}

fn count_pages(session: &impl SqlSession, task: &TaskName) -> StoreResult<(u64, u64)> {
    let sql = "SELECT count(*), CAST(coalesce(sum(length(body)), 0) AS bigint) FROM _pages WHERE task = $1";
    let counted = session.query_first(sql, &[task], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(counted.unwrap_or_default())
}

/// Removes the oldest runs, by number and by age, with their traces; never one whose rows still exist, or the one that
/// the status table shows.
fn prune_runs(
    session: &impl SqlSession,
    task: &TaskName,
    keep: RetentionLimits,
    mode: CollectMode,
    now: DateTime<Utc>,
) -> StoreResult<GcCounts> {
    let oldest = decode::instant_before(now, keep.max_run_age);
    let sql = format!(
        "SELECT id FROM _runs WHERE task = $1 AND ended IS NOT NULL
             AND (started < $2 OR id IN (
                 SELECT id FROM _runs WHERE task = $1 ORDER BY started DESC, id DESC LIMIT {NO_LIMIT} OFFSET $3))
             AND id NOT IN (SELECT run FROM _generation WHERE task = $1)
             AND id IS DISTINCT FROM (SELECT last_run FROM _task WHERE name = $1)
         LIMIT $4"
    );
    let mut collected = GcCounts::default();
    for run in session.query(&sql, &[task, &oldest, &keep.runs, &mode.limit()], |row| row.get::<String>(0))? {
        let trace_lines = session.modify("DELETE FROM _trace WHERE run = $1", &[&run])?;
        session.modify("DELETE FROM _runs WHERE id = $1", &[&run])?;
        collected += GcCounts { runs: 1, trace_lines, ..GcCounts::default() };
    }
    Ok(collected)
}

/// Removes the traces of all runs but the newest.
fn prune_traces(session: &impl SqlSession, task: &TaskName, kept: u32, mode: CollectMode) -> StoreResult<u64> {
    let sql = format!(
        "DELETE FROM _trace WHERE run IN (
             SELECT id FROM (SELECT id, ended FROM _runs WHERE task = $1
                 ORDER BY started DESC, id DESC LIMIT {NO_LIMIT} OFFSET $2) AS older
             WHERE ended IS NOT NULL AND EXISTS (SELECT 1 FROM _trace WHERE run = older.id) LIMIT $3)"
    );
    session.modify(&sql, &[task, &kept, &mode.limit()])
}

/// Marks quarantined generations beyond the limit and abandoned staged ones as old; of a task that was removed long
/// ago, all but the published one.
fn mark_generations(session: &impl SqlSession, task: &TaskName, keep: RetentionLimits, gone: bool) -> StoreResult<()> {
    generation::drop_quarantined(session, task, if gone { 0 } else { keep.quarantined })?;
    session.modify(
        "UPDATE _generation SET state = 'old' WHERE task = $1 AND state = 'staging'
             AND run IN (SELECT id FROM _runs WHERE ended IS NOT NULL)",
        &[task],
    )?;
    if gone {
        generation::drop_replaced(session, task)?;
    }
    Ok(())
}

/// Removes changes that are older than the task's history, or beyond its record limit, the oldest first; all changes of
/// a task that was removed long ago.
fn prune_changes(
    session: &impl SqlSession,
    task: &TaskName,
    (keep, gone): (RetentionLimits, bool),
    mode: CollectMode,
    now: DateTime<Utc>,
) -> StoreResult<u64> {
    let oldest = if gone { now } else { decode::instant_before(now, history_span(session, task)?) };
    let beyond = newest_over_limit(session, task, keep.history_records)?;
    let old = "SELECT id FROM _change WHERE task = $1 AND (at < $2 OR id <= $3) ORDER BY id LIMIT 1";
    let mut removed = 0;
    for _ in 0..mode.limit() {
        let found = session.query_first(old, &[task, &oldest, &beyond], |row| row.get::<i64>(0))?;
        let Some(change) = found else { break };
        // Whole, however many records it has: readers never see a part of a change.
        for sql in ["DELETE FROM _changed_record WHERE change = $1", "DELETE FROM _change WHERE id = $1"] {
            removed += session.modify(sql, &[&change])?;
        }
        if removed >= u64::from(RECORDS_PER_STEP) && mode == CollectMode::Step {
            break;
        }
    }
    Ok(removed)
}

/// How long a task's history is kept.
fn history_span(session: &impl SqlSession, task: &TaskName) -> StoreResult<TimeSpan> {
    let sql = "SELECT history FROM _task WHERE name = $1";
    let seconds: Option<i64> = session.query_first(sql, &[task], |row| row.get(0))?.flatten();
    Ok(seconds.map_or(Data::default().history, |seconds| TimeSpan::seconds(seconds.unsigned_abs())))
}

/// The newest change that exceeds the record limit; it and all before it are removed. A single change that exceeds the
/// limit alone stays.
fn newest_over_limit(session: &impl SqlSession, task: &TaskName, records: u64) -> StoreResult<Option<i64>> {
    let sql = "SELECT max(id) FROM (
                   SELECT id, sum(added + changed + removed) OVER (ORDER BY id DESC) AS so_far,
                       max(id) OVER () AS newest
                   FROM _change WHERE task = $1 AND added IS NOT NULL AND unlisted IS NULL) AS changes
               WHERE so_far > CAST($2 AS bigint) AND id < newest";
    Ok(session.query_first(sql, &[task, &records], |row| row.get(0))?.flatten())
}
