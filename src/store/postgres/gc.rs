//! What is not kept any longer. One small transaction a step, so that runs that end meanwhile wait for none of it long; cut
//! short, it goes on the next time.

use chrono::{DateTime, Utc};

use super::session::get;
use super::{Keep, Postgres, Session, StoreError, generation, publish, shape, stored, trace};
use crate::model::task::Data;
use crate::model::{Span, TaskName};
use crate::store::care::{RECORDS_A_STEP, RUNS_A_STEP};
use crate::store::{Collected, Collecting};

impl Collecting for Postgres {
    fn collect(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<Collected, StoreError> {
        let session = &self.session;
        let mut collected = session.in_one(|| step(session, task, self.keep, i64::from(RUNS_A_STEP), now))?;
        // One at a time: a large one takes a while.
        if let Some(old) = generation::removable(session, task)?.first() {
            generation::remove(session, *old)?;
            collected.generations = 1;
        }
        shape::drop_unused(session, task)?;
        Ok(collected)
    }

    fn would_collect(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<Collected, StoreError> {
        let session = &self.session;
        session.taken_back(|| {
            // Runs whose rows are gone may go too, so these are first.
            let gone = is_long_gone(session, task, self.keep, now)?;
            mark_generations(session, task, self.keep, gone)?;
            let sql = "DELETE FROM _generation WHERE task = $1 AND state = 'old'";
            let generations = session.execute(sql, &[&task.as_str()])?;
            let collected = step(session, task, self.keep, i64::MAX, now)?;
            Ok(Collected { generations, ..collected })
        })
    }
}

fn step(
    session: &Session,
    task: &TaskName,
    keep: Keep,
    at_once: i64,
    now: DateTime<Utc>,
) -> Result<Collected, StoreError> {
    let gone = is_long_gone(session, task, keep, now)?;
    let before = count_pages(session, task)?;
    if gone {
        session.execute("DELETE FROM _pages WHERE task = $1", &[&task.as_str()])?;
    } else {
        trace::prune_pages(session, task, keep)?;
    }
    mark_generations(session, task, keep, gone)?;
    let mut collected = prune_runs(session, task, keep, at_once, now)?;
    collected.trace_lines += prune_traces(session, task, if gone { 0 } else { keep.traces }, at_once)?;
    collected.changes = prune_changes(session, task, (keep, gone), at_once, now)?;
    let after = count_pages(session, task)?;
    (collected.pages, collected.page_bytes) = (before.0 - after.0, before.1 - after.1);
    Ok(collected)
}

/// Its folder was deleted so long ago that nobody will ask any more how its runs went.
fn is_long_gone(session: &Session, task: &TaskName, keep: Keep, now: DateTime<Utc>) -> Result<bool, StoreError> {
    let row = session.row("SELECT removed_at FROM _task WHERE name = $1", &[&task.as_str()])?;
    let removed: Option<DateTime<Utc>> = row.map_or(Ok(None), |row| get(&row, 0))?;
    Ok(removed.is_some_and(|at| at < stored::long_before(now, keep.removed_for)))
}

fn count_pages(session: &Session, task: &TaskName) -> Result<(u64, u64), StoreError> {
    let sql = "SELECT count(*), coalesce(sum(length(body)), 0)::bigint FROM _pages WHERE task = $1";
    let Some(row) = session.row(sql, &[&task.as_str()])? else { return Ok((0, 0)) };
    Ok((stored::count(get(&row, 0)?).unwrap_or(0), stored::count(get(&row, 1)?).unwrap_or(0)))
}

/// The oldest runs, by number and by age, with their traces; never one whose rows are there still, or the one that the
/// status table shows.
fn prune_runs(
    session: &Session,
    task: &TaskName,
    keep: Keep,
    at_once: i64,
    now: DateTime<Utc>,
) -> Result<Collected, StoreError> {
    let oldest = stored::long_before(now, keep.runs_for);
    let runs = session.rows(
        "SELECT id FROM _runs WHERE task = $1 AND ended IS NOT NULL
             AND (started < $2 OR id IN (
                 SELECT id FROM _runs WHERE task = $1 ORDER BY started DESC, id DESC OFFSET $3))
             AND id NOT IN (SELECT run FROM _generation WHERE task = $1)
             AND id IS DISTINCT FROM (SELECT last_run FROM _task WHERE name = $1)
         LIMIT $4",
        &[&task.as_str(), &oldest, &i64::from(keep.runs), &at_once],
    )?;
    let mut collected = Collected::default();
    for row in &runs {
        let run: &str = get(row, 0)?;
        let trace_lines = session.execute("DELETE FROM _trace WHERE run = $1", &[&run])?;
        session.execute("DELETE FROM _runs WHERE id = $1", &[&run])?;
        collected += Collected { runs: 1, trace_lines, ..Collected::default() };
    }
    Ok(collected)
}

/// The traces of all runs but the newest.
fn prune_traces(session: &Session, task: &TaskName, kept: u32, at_once: i64) -> Result<u64, StoreError> {
    session.execute(
        "DELETE FROM _trace WHERE run IN (
             SELECT id FROM (SELECT id, ended FROM _runs WHERE task = $1
                 ORDER BY started DESC, id DESC OFFSET $2) AS older
             WHERE ended IS NOT NULL AND EXISTS (SELECT 1 FROM _trace WHERE run = older.id) LIMIT $3)",
        &[&task.as_str(), &i64::from(kept), &at_once],
    )
}

/// Rows kept aside beyond the number, and what no run takes over any more; of a task that is long gone all but the
/// published ones.
fn mark_generations(session: &Session, task: &TaskName, keep: Keep, gone: bool) -> Result<(), StoreError> {
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

/// Changes that are older than the task's history, or beyond its records, the oldest first; all of a task that is long gone.
fn prune_changes(
    session: &Session,
    task: &TaskName,
    (keep, gone): (Keep, bool),
    at_once: i64,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    let row = session.row("SELECT history FROM _task WHERE name = $1", &[&task.as_str()])?;
    let kept: Option<i64> = row.map_or(Ok(None), |row| get(&row, 0))?;
    let kept = kept.map_or(Data::default().history, |seconds| Span::seconds(seconds.unsigned_abs()));
    let oldest = if gone { now } else { stored::long_before(now, kept) };
    let beyond = newest_beyond(session, task, keep.history_records)?;
    let old = "SELECT id FROM _change WHERE task = $1 AND (at < $2 OR id <= $3) ORDER BY id LIMIT 1";
    let (mut removed, mut steps) = (0, 0);
    while steps < at_once {
        steps += 1;
        let Some(row) = session.row(old, &[&task.as_str(), &oldest, &beyond])? else { break };
        let change: i64 = get(&row, 0)?;
        // Whole, however many records it has: nobody sees a part of it.
        for sql in ["DELETE FROM _changed_record WHERE change = $1", "DELETE FROM _change WHERE id = $1"] {
            removed += session.execute(sql, &[&change])?;
        }
        if removed >= u64::from(RECORDS_A_STEP) && at_once != i64::MAX {
            break;
        }
    }
    Ok(removed)
}

/// The newest change that has no room among so many records; it and all before it go. One that has no room alone stays.
fn newest_beyond(session: &Session, task: &TaskName, records: u64) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT max(id) FROM (
                   SELECT id, sum(added + changed + removed) OVER (ORDER BY id DESC) AS so_far, max(id) OVER () AS newest
                   FROM _change WHERE task = $1 AND added IS NOT NULL AND unlisted IS NULL) AS changes
               WHERE so_far > $2::bigint AND id < newest";
    let records = i64::try_from(records).unwrap_or(i64::MAX);
    session.row(sql, &[&task.as_str(), &records])?.map_or(Ok(None), |row| get(&row, 0))
}
