//! Ends a run. Only a published verdict changes what readers see, and it does so in one short transaction.

use std::cell::Cell;

use chrono::{DateTime, Utc};

use super::generation::{self, Generation};
use super::run_end::{Disposition, disposition, reconcile_row_count};
use super::stage::StagedRows;
use super::{PendingEnds, PgSession, Postgres, SqlSession, StoreError, StoreResult, fleet, runs, view};
use crate::model::{RunId, TaskName, Verdict};
use crate::store::{RunEnding, Runs, artifacts, changes};

/// Another process may publish between the query and the transaction once, but not again and again.
const MAX_PUBLISH_ATTEMPTS: u32 = 3;

impl RunEnding for Postgres {
    fn end_run(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) -> StoreResult<Verdict> {
        let task = runs::require_open(&self.session, self.member.as_ref(), run)?;
        let mut staged = self.staged.remove(&run).unwrap_or_default();
        let ended = self.finish_run(run, &task, &mut staged, verdict, now);
        match ended {
            // The run has ended either way; what is not cleaned up now is at the next end.
            Ok(_) => _ = changes::finish_open_changes(self, Some(&task)).and_then(|()| self.remove_superseded(&task)),
            Err(_) => _ = self.staged.insert(run, staged),
        }
        ended
    }

    fn end_interrupted_runs(&mut self, now: DateTime<Utc>) -> StoreResult<Vec<(RunId, TaskName)>> {
        let open = runs::open_runs(&self.session, self.member.as_ref())?;
        for (run, task) in &open {
            self.staged.remove(run);
            fleet::record_crashed_run(&self.session, *run, task, now)?;
            generation::remove_all_old(&self.session, task)?;
        }
        changes::finish_open_changes(self, None)?;
        Ok(open)
    }

    fn pending_ends(&mut self) -> &mut PendingEnds {
        &mut self.pending_ends
    }

    fn forget_staged(&mut self, run: RunId) {
        self.staged.remove(&run);
    }
}

impl Postgres {
    fn finish_run(
        &mut self,
        run: RunId,
        task: &TaskName,
        staged: &mut StagedRows,
        verdict: &Verdict,
        now: DateTime<Utc>,
    ) -> StoreResult<Verdict> {
        let believed = reconcile_row_count(verdict, staged.batch.rows);
        let mut looks = MAX_PUBLISH_ATTEMPTS;
        loop {
            looks -= 1;
            let published = generation::published_with_key(&self.session, task)?;
            let mut verdict = believed.clone();
            let fate = disposition(&mut verdict, &staged.batch, published.as_ref());
            if matches!(fate, Disposition::Publish) && published.is_some() {
                // The previous rows are about to be removed.
                changes::finish_open_changes(self, Some(task))?;
            }
            let place = match fate {
                Disposition::Publish | Disposition::Quarantine => {
                    Some(staged.spill(&self.session, self.member.as_ref(), (run, task), published.as_ref())?)
                }
                Disposition::Confirm | Disposition::Drop => None,
            };
            let end = EndRecord {
                run,
                task,
                staged,
                verdict: &verdict,
                disposition: fate,
                staged_place: place,
                published: published.as_ref(),
                now,
            };
            match self.write_end(&end)? {
                EndResult::Written => return Ok(verdict),
                // The connection was lost after the commit.
                EndResult::AlreadyWritten(verdict) => return Ok(*verdict),
                EndResult::Overtaken if looks > 0 => {}
                EndResult::Overtaken => {
                    return Err(StoreError::Busy("another process keeps publishing this task".into()));
                }
            }
        }
    }

    fn write_end(&self, end: &EndRecord<'_>) -> StoreResult<EndResult> {
        let session = &self.session;
        let tried = Cell::new(false);
        session.in_transaction(|| {
            match runs::lock_open(session, self.member.as_ref(), end.run) {
                Err(StoreError::RunEnded(_)) if tried.get() => {
                    let recorded = self.run(end.run)?.and_then(|run| run.end).map(|(_, verdict)| verdict);
                    return Ok(recorded.map_or(EndResult::Written, |it| EndResult::AlreadyWritten(Box::new(it))));
                }
                open => _ = open?,
            }
            tried.set(true);
            if lock_published(session, end.task)? != end.published.map(|old| old.id) {
                return Ok(EndResult::Overtaken);
            }
            self.apply_disposition(end)?;
            generation::drop_staged(session, end.run)?;
            runs::record_end(session, end.run, end.task, end.verdict, end.now)?;
            Ok(EndResult::Written)
        })
    }

    fn apply_disposition(&self, end: &EndRecord<'_>) -> StoreResult<()> {
        let session = &self.session;
        match (end.disposition, end.staged_place) {
            (Disposition::Publish, Some((generation, table))) => {
                publish(session, end, generation, table)?;
                generation::drop_quarantined(session, end.task, 0)
            }
            (Disposition::Confirm, _) => {
                generation::confirm(session, end.task, end.run, end.published, end.now)?;
                generation::drop_quarantined(session, end.task, 0)
            }
            (Disposition::Quarantine, Some((generation, _))) => {
                generation::set_state(session, generation, "quarantined")?;
                generation::drop_quarantined(session, end.task, self.retention.quarantined)
            }
            (Disposition::Publish | Disposition::Quarantine, None) | (Disposition::Drop, _) => Ok(()),
        }
    }

    /// Removes what a publication has superseded. Readers see none of it, so it has transactions of its own; an
    /// interrupted removal continues the next time.
    fn remove_superseded(&mut self, task: &TaskName) -> StoreResult<()> {
        generation::remove_all_old(&self.session, task)?;
        self.session.in_transaction(|| {
            artifacts::prune_pages(&self.session, task, self.retention)?;
            runs::prune(&self.session, task, self.retention)
        })
    }
}

/// A run's end to be written.
struct EndRecord<'a> {
    run: RunId,
    task: &'a TaskName,
    staged: &'a StagedRows,
    verdict: &'a Verdict,
    disposition: Disposition,
    /// Generation and table of the staged rows, where they are kept.
    staged_place: Option<(i64, i64)>,
    /// The published generation when the disposition was decided.
    published: Option<&'a Generation>,
    now: DateTime<Utc>,
}

enum EndResult {
    Written,
    /// By the previous attempt.
    AlreadyWritten(Box<Verdict>),
    Overtaken,
}

/// Locks the task's row: concurrent publications of a task wait here.
fn lock_published(session: &PgSession, task: &TaskName) -> StoreResult<Option<i64>> {
    let sql = "SELECT published FROM _task WHERE name = $1 FOR UPDATE";
    Ok(session.query_first(sql, &[task], |row| row.get(0))?.flatten())
}

/// Publishes the new rows, keeps the old ones for a rollback, and marks those before them for removal. The view is
/// created again only where the columns have changed.
fn publish(session: &PgSession, end: &EndRecord<'_>, generation: i64, table: i64) -> StoreResult<()> {
    generation::drop_replaced(session, end.task)?;
    if let Some(old) = end.published {
        generation::set_state(session, old.id, generation::state_when_replaced_by(end.verdict))?;
    }
    session.modify(
        "UPDATE _generation SET state = 'published', run = $2, last_seen = $3 WHERE id = $1",
        &[&generation, &end.run, &end.now],
    )?;
    session.modify(
        "UPDATE _task SET published = $2, previous_rows = published_rows, published_rows = $3 WHERE name = $1",
        &[end.task, &generation, &end.staged.batch.rows],
    )?;
    if end.published.is_none_or(|old| old.table != table) {
        let drop = format!("DROP VIEW IF EXISTS {}", view::name(end.task.as_str()));
        session.batch(&format!("{drop}; {}", view::create_sql(end.task, table, &end.staged.batch.columns)))?;
    }
    match end.published {
        Some(before) => changes::record_change(session, end.task, end.run, before, end.staged.batch.rows, end.now),
        None => Ok(()),
    }
}
