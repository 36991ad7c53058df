//! Garbage collection. Each step is one small transaction, so that runs that end meanwhile do not wait long; after an
//! interruption it continues the next time.

use chrono::{DateTime, Utc};

use super::session::get;
use super::{PgSession, Postgres, RetentionLimits, StoreError, artifacts, decode, generation, publish, shape};
use crate::model::task::Data;
use crate::model::{TaskName, TimeSpan};
use crate::store::maintenance::{RECORDS_PER_STEP, RUNS_PER_STEP};
use crate::store::{GarbageCollection, GcCounts};

impl GarbageCollection for Postgres {
    fn collect_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<GcCounts, StoreError> {
        let session = &self.session;
        let mut collected =
            session.in_transaction(|| step(session, task, self.retention, i64::from(RUNS_PER_STEP), now))?;
        // One at a time: removing a large one takes a while.
        if let Some(old) = generation::removable(session, task)?.first() {
            generation::remove(session, *old)?;
            collected.generations = 1;
        }
        shape::drop_unused(session, task)?;
        Ok(collected)
    }

    fn count_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<GcCounts, StoreError> {
        let session = &self.session;
        session.in_rolled_back_transaction(|| {
            // Generations first: runs whose rows are gone may then be removed, too.
            let gone = is_removed_beyond_retention(session, task, self.retention, now)?;
            mark_generations(session, task, self.retention, gone)?;
            let sql = "DELETE FROM _generation WHERE task = $1 AND state = 'old'";
            let generations = session.execute(sql, &[&task.as_str()])?;
            let collected = step(session, task, self.retention, i64::MAX, now)?;
            Ok(GcCounts { generations, ..collected })
        })
    }
}

fn step(
    session: &PgSession,
    task: &TaskName,
    keep: RetentionLimits,
    at_once: i64,
    now: DateTime<Utc>,
) -> Result<GcCounts, StoreError> {
    let gone = is_removed_beyond_retention(session, task, keep, now)?;
    let before = count_pages(session, task)?;
    if gone {
        session.execute("DELETE FROM _pages WHERE task = $1", &[&task.as_str()])?;
    } else {
        artifacts::prune_pages(session, task, keep)?;
    }
    mark_generations(session, task, keep, gone)?;
    let mut collected = prune_runs(session, task, keep, at_once, now)?;
    collected.trace_lines += prune_traces(session, task, if gone { 0 } else { keep.traces }, at_once)?;
    collected.changes = prune_changes(session, task, (keep, gone), at_once, now)?;
    let after = count_pages(session, task)?;
    (collected.pages, collected.page_bytes) = (before.0 - after.0, before.1 - after.1);
    Ok(collected)
}

/// Whether its folder was deleted so long ago that its runs are no longer kept.
fn is_removed_beyond_retention(
    session: &PgSession,
    task: &TaskName,
    keep: RetentionLimits,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let row = session.row("SELECT removed_at FROM _task WHERE name = $1", &[&task.as_str()])?;
    let removed: Option<DateTime<Utc>> = row.map_or(Ok(None), |row| get(&row, 0))?;
    Ok(removed.is_some_and(|at| at < decode::instant_before(now, keep.max_removed_age)))
}

fn count_pages(session: &PgSession, task: &TaskName) -> Result<(u64, u64), StoreError> {
    let sql = "SELECT count(*), coalesce(sum(length(body)), 0)::bigint FROM _pages WHERE task = $1";
    let Some(row) = session.row(sql, &[&task.as_str()])? else { return Ok((0, 0)) };
    Ok((decode::count(get(&row, 0)?).unwrap_or(0), decode::count(get(&row, 1)?).unwrap_or(0)))
}

/// Removes the oldest runs, by number and by age, with their traces; never one whose rows still exist, or the one that
/// the status table shows.
fn prune_runs(
    session: &PgSession,
    task: &TaskName,
    keep: RetentionLimits,
    at_once: i64,
    now: DateTime<Utc>,
) -> Result<GcCounts, StoreError> {
    let oldest = decode::instant_before(now, keep.max_run_age);
    let runs = session.rows(
        "SELECT id FROM _runs WHERE task = $1 AND ended IS NOT NULL
             AND (started < $2 OR id IN (
                 SELECT id FROM _runs WHERE task = $1 ORDER BY started DESC, id DESC OFFSET $3))
             AND id NOT IN (SELECT run FROM _generation WHERE task = $1)
             AND id IS DISTINCT FROM (SELECT last_run FROM _task WHERE name = $1)
         LIMIT $4",
        &[&task.as_str(), &oldest, &i64::from(keep.runs), &at_once],
    )?;
    let mut collected = GcCounts::default();
    for row in &runs {
        let run: &str = get(row, 0)?;
        let trace_lines = session.execute("DELETE FROM _trace WHERE run = $1", &[&run])?;
        session.execute("DELETE FROM _runs WHERE id = $1", &[&run])?;
        collected += GcCounts { runs: 1, trace_lines, ..GcCounts::default() };
    }
    Ok(collected)
}

/// Removes the traces of all runs but the newest.
fn prune_traces(session: &PgSession, task: &TaskName, kept: u32, at_once: i64) -> Result<u64, StoreError> {
    session.execute(
        "DELETE FROM _trace WHERE run IN (
             SELECT id FROM (SELECT id, ended FROM _runs WHERE task = $1
                 ORDER BY started DESC, id DESC OFFSET $2) AS older
             WHERE ended IS NOT NULL AND EXISTS (SELECT 1 FROM _trace WHERE run = older.id) LIMIT $3)",
        &[&task.as_str(), &i64::from(kept), &at_once],
    )
}

/// Marks quarantined generations beyond the limit and abandoned staged ones as old; of a task that was removed long
/// ago, all but the published one.
fn mark_generations(session: &PgSession, task: &TaskName, keep: RetentionLimits, gone: bool) -> Result<(), StoreError> {
    publish::drop_quarantined(session, task, if gone { 0 } else { keep.quarantined })?;
    session.execute(
        "UPDATE _generation SET state = 'old' WHERE task = $1 AND state = 'staging'
             AND run IN (SELECT id FROM _runs WHERE ended IS NOT NULL)",
        &[&task.as_str()],
    )?;
    if gone {
        let sql = "UPDATE _generation SET state = 'old' WHERE task = $1 AND state = 'previous'";
        session.execute(sql, &[&task.as_str()])?;
    }
    Ok(())
}

/// Removes changes that are older than the task's history, or beyond its record limit, the oldest first; all changes of
/// a task that was removed long ago.
fn prune_changes(
    session: &PgSession,
    task: &TaskName,
    (keep, gone): (RetentionLimits, bool),
    at_once: i64,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    let row = session.row("SELECT history FROM _task WHERE name = $1", &[&task.as_str()])?;
    let kept: Option<i64> = row.map_or(Ok(None), |row| get(&row, 0))?;
    let kept = kept.map_or(Data::default().history, |seconds| TimeSpan::seconds(seconds.unsigned_abs()));
    let oldest = if gone { now } else { decode::instant_before(now, kept) };
    let beyond = newest_over_limit(session, task, keep.history_records)?;
    let old = "SELECT id FROM _change WHERE task = $1 AND (at < $2 OR id <= $3) ORDER BY id LIMIT 1";
    let (mut removed, mut steps) = (0, 0);
    while steps < at_once {
        steps += 1;
        let Some(row) = session.row(old, &[&task.as_str(), &oldest, &beyond])? else { break };
        let change: i64 = get(&row, 0)?;
        // Whole, however many records it has: readers never see a part of a change.
        for sql in ["DELETE FROM _changed_record WHERE change = $1", "DELETE FROM _change WHERE id = $1"] {
            removed += session.execute(sql, &[&change])?;
        }
        if removed >= u64::from(RECORDS_PER_STEP) && at_once != i64::MAX {
            break;
        }
    }
    Ok(removed)
}

/// The newest change that exceeds the record limit; it and all before it are removed. A single change that exceeds the
/// limit alone stays.
fn newest_over_limit(session: &PgSession, task: &TaskName, records: u64) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT max(id) FROM (
                   SELECT id, sum(added + changed + removed) OVER (ORDER BY id DESC) AS so_far,
                       max(id) OVER () AS newest
                   FROM _change WHERE task = $1 AND added IS NOT NULL AND unlisted IS NULL) AS changes
               WHERE so_far > $2::bigint AND id < newest";
    let records = i64::try_from(records).unwrap_or(i64::MAX);
    session.row(sql, &[&task.as_str(), &records])?.map_or(Ok(None), |row| get(&row, 0))
}
