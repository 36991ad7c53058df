//! Ends a run. Only a published verdict changes what readers see, and it does so in one short transaction.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, TransactionBehavior, params};

use super::generation;
use super::names::{ColumnName, key_index, quoted, rows_table, view_columns};
use super::run_end::{Disposition, Generation, disposition, reconcile_row_count};
use super::stage::StagedRows;
use super::{PendingEnds, Sqlite, StoreError, changes, gc, keys, refill, runs, timestamp};
use crate::model::{RunId, TaskName, Verdict};
use crate::store::RunEnding;

/// The keys of larger tables are written before the publishing transaction, which stays short.
pub(super) const MAX_INLINE_ROWS: i64 = 5_000;

/// In kB, negative as SQLite requires: more than the 16 MB in which 500,000 keys did not sort without temporary files.
const SORTING_CACHE: i64 = -64_000;

impl RunEnding for Sqlite {
    fn end_run(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) -> Result<Verdict, StoreError> {
        self.ensure_file_in_place()?;
        let task = runs::require_open(&self.connection, run)?;
        let mut staged = self.staged.remove(&run).unwrap_or_default();
        let ended = self.finish_run(run, &task, &mut staged, verdict, now);
        match ended {
            // The run has ended either way; what is not cleaned up now is at the next end.
            Ok(_) => {
                _ = self
                    .finish_open_changes(Some(&task))
                    .and_then(|()| self.remove_superseded(&task))
                    .and_then(|()| self.truncate_wal())
            }
            Err(_) => _ = self.staged.insert(run, staged),
        }
        ended
    }

    fn end_interrupted_runs(&mut self, now: DateTime<Utc>) -> Result<Vec<(RunId, TaskName)>, StoreError> {
        let open = runs::open_runs(&self.connection)?;
        let verdict = Verdict::interrupted();
        for (run, _) in &open {
            self.end_run(*run, &verdict, now)?;
        }
        self.finish_open_changes(None)?;
        self.drop_old_generations()?;
        Ok(open)
    }

    fn pending_ends(&mut self) -> &mut PendingEnds {
        &mut self.pending_ends
    }

    fn forget_staged(&mut self, run: RunId) {
        self.staged.remove(&run);
    }
}

impl Sqlite {
    fn finish_run(
        &mut self,
        run: RunId,
        task: &TaskName,
        staged: &mut StagedRows,
        verdict: &Verdict,
        now: DateTime<Utc>,
    ) -> Result<Verdict, StoreError> {
        let mut verdict = reconcile_row_count(verdict, staged.batch.rows);
        let published = generation::find(&self.connection, "task = ?1 AND state = 'published'", task.as_str())?;
        let fate = disposition(&mut verdict, &staged.batch, published.as_ref());
        if let (Disposition::Publish, Some(published)) = (fate, &published) {
            // The previous rows are about to be removed.
            self.finish_open_changes(Some(task))?;
            self.copy_rows_referenced_by_running_runs(published.id, task)?;
        }
        if matches!(fate, Disposition::Publish | Disposition::Quarantine) {
            staged.copy_unchanged_prefix(&mut self.connection, self.file.as_ref(), run, task)?;
        }
        if matches!(fate, Disposition::Publish) && staged.batch.rows > MAX_INLINE_ROWS {
            let generation = staged.spill(&mut self.connection, run, task)?;
            if !staged.write_keys(&mut self.connection, generation)? {
                self.index_keys(generation)?;
            }
            self.truncate_wal()?;
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        match fate {
            Disposition::Publish => {
                match refill::reusable_tables(&transaction, task, staged, published.as_ref())? {
                    Some(tables) => refill::publish(&transaction, tables, staged)?,
                    None => {
                        let generation = staged.write(&transaction, run, task)?;
                        move_view(&transaction, task, generation, staged, published.as_ref())?;
                    }
                }
                record_publication(&transaction, task, run, staged, now)?;
                if let Some(before) = &published {
                    changes::record_change(&transaction, task, run, before, staged.batch.rows, now)?;
                }
                drop_quarantined(&transaction, task, 0)?;
            }
            Disposition::Confirm => {
                confirm(&transaction, task, run, published.as_ref(), now)?;
                drop_quarantined(&transaction, task, 0)?;
            }
            Disposition::Quarantine => {
                let generation = staged.write(&transaction, run, task)?;
                set_state(&transaction, generation, "quarantined")?;
                drop_quarantined(&transaction, task, self.retention.quarantined)?;
            }
            Disposition::Drop => {}
        }
        drop_staged(&transaction, run)?;
        runs::record_end(&transaction, run, task, &verdict, now)?;
        transaction.commit()?;
        Ok(verdict)
    }

    fn index_keys(&self, generation: i64) -> Result<(), StoreError> {
        self.connection.pragma_update(None, "cache_size", SORTING_CACHE)?;
        let indexed = make_key_index(&self.connection, generation);
        self.connection.pragma_update(None, "cache_size", super::open::CACHE)?;
        indexed
    }

    /// Drops what a publication has superseded. Readers see none of it, so it has transactions of its own; an
    /// interrupted removal continues the next time.
    fn remove_superseded(&mut self, task: &TaskName) -> Result<(), StoreError> {
        self.drop_old_generations()?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        super::artifacts::prune_pages(&transaction, task, self.retention)?;
        runs::prune(&transaction, task, self.retention)?;
        Ok(transaction.commit()?)
    }

    fn drop_old_generations(&mut self) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let old: Vec<i64> = transaction
            .prepare_cached("SELECT id FROM _generation WHERE state = 'old'")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for id in old {
            gc::drop_generation(&transaction, id)?;
        }
        Ok(transaction.commit()?)
    }
}

/// Moves the view to the new table, keeps the old table for a rollback, and marks the one before it for removal.
fn move_view(
    transaction: &Connection,
    task: &TaskName,
    generation: i64,
    staged: &StagedRows,
    published: Option<&Generation>,
) -> Result<(), StoreError> {
    if !keys::has_blocks(transaction, generation)? {
        make_key_index(transaction, generation)?;
    }
    transaction
        .prepare_cached("UPDATE _generation SET state = 'old' WHERE task = ?1 AND state = 'previous'")?
        .execute([task.as_str()])?;
    if let Some(old) = published {
        set_state(transaction, old.id, "previous")?;
        // Only a published generation is searched by key; a schema of ten thousand tasks is large enough without the
        // index.
        transaction.execute_batch(&format!("DROP INDEX IF EXISTS {}", quoted(&key_index(old.id))))?;
    }
    set_state(transaction, generation, "published")?;
    transaction
        .prepare_cached("UPDATE _task SET published = ?2 WHERE name = ?1")?
        .execute(params![task.as_str(), generation])?;
    Ok(transaction.execute_batch(&view_sql(task, generation, &staged.batch.columns))?)
}

/// Records that this run brought the rows of the published generation.
fn record_publication(
    transaction: &Connection,
    task: &TaskName,
    run: RunId,
    staged: &StagedRows,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached("UPDATE _generation SET run = ?2, last_seen = ?3 WHERE task = ?1 AND state = 'published'")?
        .execute(params![task.as_str(), run.to_string(), timestamp::text(now)])?;
    transaction
        .prepare_cached("UPDATE _task SET previous_rows = published_rows, published_rows = ?2 WHERE name = ?1")?
        .execute(params![task.as_str(), staged.batch.rows])?;
    Ok(())
}

/// The published rows were seen again: only `_run` and `_last_seen` change.
fn confirm(
    transaction: &Connection,
    task: &TaskName,
    run: RunId,
    published: Option<&Generation>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    transaction.prepare_cached("UPDATE _generation SET run = ?2, last_seen = ?3 WHERE id = ?1")?.execute(params![
        published.map(|old| old.id),
        run.to_string(),
        timestamp::text(now)
    ])?;
    transaction
        .prepare_cached("UPDATE _task SET previous_rows = published_rows WHERE name = ?1")?
        .execute([task.as_str()])?;
    Ok(())
}

/// The view of a task. `_run` and `_last_seen` are the same for all rows of a generation, so they are stored once, in
/// `_generation`.
pub(super) fn view_sql(task: &TaskName, id: i64, columns: &[ColumnName]) -> String {
    let (view, table) = (quoted(task.as_str()), quoted(&rows_table(id)));
    let shown = view_columns(columns);
    let shown = shown.iter().map(|(at, name)| format!("{} AS {}, ", quoted(&columns[*at].stored), quoted(name)));
    let columns: String = shown.collect();
    format!(
        "DROP VIEW IF EXISTS {view};
         CREATE VIEW {view} AS SELECT {columns}
             (SELECT run FROM _generation WHERE id = {id}) AS _run, _first_seen,
             (SELECT last_seen FROM _generation WHERE id = {id}) AS _last_seen, _page
         FROM {table};"
    )
}

pub(super) fn make_key_index(connection: &Connection, generation: i64) -> Result<(), StoreError> {
    let (index, table) = (quoted(&key_index(generation)), quoted(&rows_table(generation)));
    Ok(connection.execute_batch(&format!("CREATE INDEX IF NOT EXISTS {index} ON {table} (_key, _first_seen)"))?)
}

fn set_state(connection: &Connection, generation: i64, state: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE _generation SET state = ?2 WHERE id = ?1")?
        .execute(params![generation, state])?;
    Ok(())
}

/// Marks the abandoned rows of a run for removal.
fn drop_staged(connection: &Connection, run: RunId) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE _generation SET state = 'old' WHERE run = ?1 AND state = 'staging'")?
        .execute([run.to_string()])?;
    Ok(())
}

pub(super) fn drop_quarantined(connection: &Connection, task: &TaskName, keep: u32) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE _generation SET state = 'old' WHERE id IN (
                 SELECT id FROM _generation WHERE task = ?1 AND state = 'quarantined'
                 ORDER BY id DESC LIMIT -1 OFFSET ?2)",
        )?
        .execute(params![task.as_str(), keep])?;
    Ok(())
}
