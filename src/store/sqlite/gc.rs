//! Garbage collection. Each step is one small transaction, so that runs that end meanwhile do not wait long; after an
//! interruption it continues the next time.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::names::{quoted, rows_table};
use super::{RetentionLimits, Sqlite, StoreError, artifacts, decode, publish, timestamp};
use crate::model::task::Data;
use crate::model::{TaskName, TimeSpan};
use crate::store::maintenance::{RECORDS_PER_STEP, RUNS_PER_STEP};
use crate::store::{GarbageCollection, GcCounts};

impl GarbageCollection for Sqlite {
    fn collect_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<GcCounts, StoreError> {
        self.ensure_file_in_place()?;
        let keep = self.retention;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let collected = step(&transaction, task, keep, CollectMode::Step, now)?;
        transaction.commit()?;
        Ok(collected)
    }

    fn count_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<GcCounts, StoreError> {
        let keep = self.retention;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        step(&transaction, task, keep, CollectMode::DryRun, now)
    }
}

/// How much one step does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CollectMode {
    Step,
    /// Everything, for counting; tables are not even dropped.
    DryRun,
}

fn step(
    transaction: &Connection,
    task: &TaskName,
    keep: RetentionLimits,
    size: CollectMode,
    now: DateTime<Utc>,
) -> Result<GcCounts, StoreError> {
    let at_once = if size == CollectMode::Step { RUNS_PER_STEP } else { u32::MAX };
    let gone = is_removed_beyond_retention(transaction, task, keep, now)?;
    let before = count_pages(transaction, task)?;
    if gone {
        transaction.prepare_cached("DELETE FROM _pages WHERE task = ?1")?.execute([task.as_str()])?;
    } else {
        artifacts::prune_pages(transaction, task, keep)?;
    }
    mark_generations(transaction, task, keep, gone)?;
    let generations = drop_marked(transaction, task, size)?;
    let mut collected = prune_runs(transaction, task, keep, at_once, now)?;
    collected.trace_lines += prune_traces(transaction, task, if gone { 0 } else { keep.traces }, at_once)?;
    let after = count_pages(transaction, task)?;
    collected.generations = generations;
    collected.changes = prune_changes(transaction, task, (keep, gone), at_once, now)?;
    (collected.pages, collected.page_bytes) = (before.0 - after.0, before.1 - after.1);
    Ok(collected)
}

/// Whether its folder was deleted so long ago that its runs are no longer kept.
fn is_removed_beyond_retention(
    connection: &Connection,
    task: &TaskName,
    keep: RetentionLimits,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let removed: Option<Option<String>> = connection
        .prepare_cached("SELECT removed_at FROM _task WHERE name = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    let removed = timestamp::parse_if_any(removed.flatten())?;
    Ok(removed.is_some_and(|at| at < decode::instant_before(now, keep.max_removed_age)))
}

fn count_pages(connection: &Connection, task: &TaskName) -> Result<(u64, u64), StoreError> {
    let sql = "SELECT count(*), coalesce(sum(length(body)), 0) FROM _pages WHERE task = ?1";
    let counted: (i64, i64) =
        connection.prepare_cached(sql)?.query_row([task.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((u64::try_from(counted.0).unwrap_or(0), u64::try_from(counted.1).unwrap_or(0)))
}

/// Removes the oldest runs, by number and by age, with their traces; never one whose rows still exist, or the one that
/// the status table shows.
fn prune_runs(
    connection: &Connection,
    task: &TaskName,
    keep: RetentionLimits,
    at_once: u32,
    now: DateTime<Utc>,
) -> Result<GcCounts, StoreError> {
    let oldest = timestamp::text(decode::instant_before(now, keep.max_run_age));
    let runs: Vec<String> = connection
        .prepare_cached(
            "SELECT id FROM _runs WHERE task = ?1 AND ended IS NOT NULL
                 AND (started < ?2 OR id IN (
                     SELECT id FROM _runs WHERE task = ?1 ORDER BY started DESC, id DESC LIMIT -1 OFFSET ?3))
                 AND id NOT IN (SELECT run FROM _generation WHERE task = ?1)
                 AND id IS NOT (SELECT last_run FROM _task WHERE name = ?1)
             LIMIT ?4",
        )?
        .query_map(params![task.as_str(), oldest, keep.runs, at_once], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut collected = GcCounts::default();
    for run in &runs {
        let lines = connection.prepare_cached("DELETE FROM _trace WHERE run = ?1")?.execute([run])?;
        connection.prepare_cached("DELETE FROM _runs WHERE id = ?1")?.execute([run])?;
        collected += GcCounts { runs: 1, trace_lines: lines as u64, ..GcCounts::default() };
    }
    Ok(collected)
}

/// Removes changes that are older than the task's history, or beyond its record limit, the oldest first; all changes of
/// a task that was removed long ago.
fn prune_changes(
    connection: &Connection,
    task: &TaskName,
    (keep, gone): (RetentionLimits, bool),
    at_once: u32,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    let oldest = if gone { now } else { decode::instant_before(now, history_span(connection, task)?) };
    let beyond = newest_over_limit(connection, task, keep.history_records)?;
    let mut removed = 0;
    for _ in 0..at_once {
        let change: Option<i64> = connection
            .prepare_cached("SELECT id FROM _change WHERE task = ?1 AND (at < ?2 OR id <= ?3) ORDER BY id LIMIT 1")?
            .query_row(params![task.as_str(), timestamp::text(oldest), beyond], |row| row.get(0))
            .optional()?;
        let Some(change) = change else { break };
        // Whole, however many records it has: readers never see a part of a change.
        for sql in ["DELETE FROM _changed_record WHERE change = ?1", "DELETE FROM _change WHERE id = ?1"] {
            removed += connection.prepare_cached(sql)?.execute([change])? as u64;
        }
        if removed >= u64::from(RECORDS_PER_STEP) && at_once != u32::MAX {
            break;
        }
    }
    Ok(removed)
}

/// How long a task's history is kept.
fn history_span(connection: &Connection, task: &TaskName) -> Result<TimeSpan, StoreError> {
    let kept: Option<Option<i64>> = connection
        .prepare_cached("SELECT history FROM _task WHERE name = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    Ok(kept.flatten().map_or(Data::default().history, |seconds| TimeSpan::seconds(seconds.unsigned_abs())))
}

/// The newest change that exceeds the record limit; it and all before it are removed. A single change that exceeds the
/// limit alone stays.
fn newest_over_limit(connection: &Connection, task: &TaskName, records: u64) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT max(id) FROM (
                   SELECT id, sum(added + changed + removed) OVER (ORDER BY id DESC) AS so_far,
                       max(id) OVER () AS newest
                   FROM _change WHERE task = ?1 AND added IS NOT NULL AND unlisted IS NULL)
               WHERE so_far > ?2 AND id < newest";
    let records = i64::try_from(records).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(sql)?.query_row(params![task.as_str(), records], |row| row.get(0))?)
}

/// Removes the traces of all runs but the newest.
fn prune_traces(connection: &Connection, task: &TaskName, kept: u32, at_once: u32) -> Result<u64, StoreError> {
    let removed = connection
        .prepare_cached(
            "DELETE FROM _trace WHERE run IN (
                 SELECT id FROM (SELECT id, ended FROM _runs WHERE task = ?1
                     ORDER BY started DESC, id DESC LIMIT -1 OFFSET ?2) AS older
                 WHERE ended IS NOT NULL AND EXISTS (SELECT 1 FROM _trace WHERE run = older.id) LIMIT ?3)",
        )?
        .execute(params![task.as_str(), kept, at_once])?;
    Ok(removed as u64)
}

/// Marks quarantined generations beyond the limit and abandoned staged ones as old; of a task that was removed long
/// ago, all but the published one.
fn mark_generations(
    connection: &Connection,
    task: &TaskName,
    keep: RetentionLimits,
    gone: bool,
) -> Result<(), StoreError> {
    publish::drop_quarantined(connection, task, if gone { 0 } else { keep.quarantined })?;
    connection
        .prepare_cached(
            "UPDATE _generation SET state = 'old' WHERE task = ?1 AND state = 'staging'
                 AND run IN (SELECT id FROM _runs WHERE ended IS NOT NULL)",
        )?
        .execute([task.as_str()])?;
    if gone {
        connection
            .prepare_cached("UPDATE _generation SET state = 'old' WHERE task = ?1 AND state = 'previous'")?
            .execute([task.as_str()])?;
    }
    Ok(())
}

fn drop_marked(connection: &Connection, task: &TaskName, size: CollectMode) -> Result<u64, StoreError> {
    if size == CollectMode::DryRun {
        let sql = "DELETE FROM _generation WHERE task = ?1 AND state = 'old'";
        return Ok(connection.prepare_cached(sql)?.execute([task.as_str()])? as u64);
    }
    // One table at a time: a large one takes a while to drop.
    let old: Option<i64> = connection
        .prepare_cached("SELECT id FROM _generation WHERE task = ?1 AND state = 'old' LIMIT 1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    old.map_or(Ok(0), |generation| drop_generation(connection, generation).map(|()| 1))
}

/// Drops a generation and its table.
pub(super) fn drop_generation(connection: &Connection, generation: i64) -> Result<(), StoreError> {
    connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", quoted(&rows_table(generation))))?;
    connection.prepare_cached("DELETE FROM _generation WHERE id = ?1")?.execute([generation])?;
    Ok(())
}
