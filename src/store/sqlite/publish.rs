//! Ends a run. Only a published verdict changes what readers see, and it does so in one short transaction.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::generation::{self, Generation};
use super::names::{ColumnName, key_index, quoted, rows_table, view_columns};
use super::run_end::{Disposition, disposition, reconcile_row_count};
use super::stage::StagedRows;
use super::unchanged_prefix::copy_rows_referenced_by_running_runs;
use super::{PendingEnds, Sqlite, StoreResult, keys, refill, runs, wal};
use crate::model::{RunId, TaskName, Verdict};
use crate::store::changes::{self, MAX_INLINE_ROWS};
use crate::store::sql::SqlSession;
use crate::store::{RunEnding, artifacts};

/// In kB, negative as SQLite requires: more than the 16 MB in which 500,000 keys did not sort without temporary files.
const SORTING_CACHE: i64 = -64_000;

impl RunEnding for Sqlite {
    fn end_run(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) -> StoreResult<Verdict> {
        self.ensure_file_in_place()?;
        let task = runs::require_open(&self.connection, run)?;
        let mut staged = self.staged.remove(&run).unwrap_or_default();
        let ended = self.finish_run(run, &task, &mut staged, verdict, now);
        match ended {
            // The run has ended either way; what is not cleaned up now is at the next end.
            Ok(_) => {
                _ = changes::finish_open_changes(self, Some(&task))
                    .and_then(|()| self.remove_superseded(&task))
                    .and_then(|()| wal::truncate(&self.connection, self.file.as_ref()))
            }
            Err(_) => _ = self.staged.insert(run, staged),
        }
        ended
    }

    fn end_interrupted_runs(&mut self, now: DateTime<Utc>) -> StoreResult<Vec<(RunId, TaskName)>> {
        let open = runs::open_runs(&self.connection)?;
        let verdict = Verdict::interrupted();
        for (run, _) in &open {
            self.end_run(*run, &verdict, now)?;
        }
        changes::finish_open_changes(self, None)?;
        drop_old_generations(&self.connection)?;
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
    ) -> StoreResult<Verdict> {
        let mut verdict = reconcile_row_count(verdict, staged.batch.rows);
        let published = generation::published(&self.connection, task)?;
        let fate = disposition(&mut verdict, &staged.batch, published.as_ref());
        if let (Disposition::Publish, Some(published)) = (fate, &published) {
            // The previous rows are about to be removed.
            changes::finish_open_changes(self, Some(task))?;
            copy_rows_referenced_by_running_runs(self, published.id, task)?;
        }
        if matches!(fate, Disposition::Publish | Disposition::Quarantine) {
            staged.copy_unchanged_prefix(&mut self.connection, self.file.as_ref(), run, task)?;
        }
        if matches!(fate, Disposition::Publish) && staged.batch.rows > MAX_INLINE_ROWS {
            let generation = staged.spill(&mut self.connection, run, task)?;
            if !staged.write_keys(&mut self.connection, generation)? {
                index_keys(&self.connection, generation)?;
            }
            wal::truncate(&self.connection, self.file.as_ref())?;
        }
        let connection = &self.connection;
        let replaced_state = generation::state_when_replaced_by(&verdict);
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        match fate {
            Disposition::Publish => {
                match refill::reusable_tables(connection, task, staged, published.as_ref())? {
                    Some(tables) => refill::publish(connection, tables, staged, replaced_state)?,
                    None => {
                        let generation = staged.write(connection, run, task)?;
                        move_view(connection, task, generation, staged, (published.as_ref(), replaced_state))?;
                    }
                }
                record_publication(connection, task, run, staged, now)?;
                if let Some(before) = &published {
                    changes::record_change(connection, task, run, before, staged.batch.rows, now)?;
                }
                generation::drop_quarantined(connection, task, 0)?;
            }
            Disposition::Confirm => {
                generation::confirm(connection, task, run, published.as_ref(), now)?;
                generation::drop_quarantined(connection, task, 0)?;
            }
            Disposition::Quarantine => {
                let generation = staged.write(connection, run, task)?;
                generation::set_state(connection, generation, "quarantined")?;
                generation::drop_quarantined(connection, task, self.retention.quarantined)?;
            }
            Disposition::Drop => {}
        }
        generation::drop_staged(connection, run)?;
        runs::record_end(connection, run, task, &verdict, now)?;
        transaction.commit()?;
        Ok(verdict)
    }

    /// Drops what a publication has superseded. Readers see none of it, so it has transactions of its own; an
    /// interrupted removal continues the next time.
    fn remove_superseded(&self, task: &TaskName) -> StoreResult<()> {
        let connection = &self.connection;
        drop_old_generations(connection)?;
        connection.in_transaction(|| {
            artifacts::prune_pages(connection, task, self.retention)?;
            runs::prune(connection, task, self.retention)
        })
    }
}

fn drop_old_generations(connection: &Connection) -> StoreResult<()> {
    connection.in_transaction(|| {
        let old = connection.query("SELECT id FROM _generation WHERE state = 'old'", &[], |row| row.get(0))?;
        old.into_iter().try_for_each(|id| generation::remove(connection, id))
    })
}

fn index_keys(connection: &Connection, generation: i64) -> StoreResult<()> {
    connection.pragma_update(None, "cache_size", SORTING_CACHE)?;
    let indexed = make_key_index(connection, generation);
    connection.pragma_update(None, "cache_size", super::open::CACHE)?;
    indexed
}

/// Moves the view to the new table, keeps the old table for a rollback, and marks the one before it for removal.
fn move_view(
    transaction: &Connection,
    task: &TaskName,
    generation: i64,
    staged: &StagedRows,
    (published, replaced_state): (Option<&Generation>, &str),
) -> StoreResult<()> {
    if !keys::has_blocks(transaction, generation)? {
        make_key_index(transaction, generation)?;
    }
    generation::drop_replaced(transaction, task)?;
    if let Some(old) = published {
        generation::set_state(transaction, old.id, replaced_state)?;
        // Only a published generation is searched by key; a schema of ten thousand tasks is large enough without the
        // index.
        transaction.execute_batch(&format!("DROP INDEX IF EXISTS {}", quoted(&key_index(old.id))))?;
    }
    generation::set_state(transaction, generation, "published")?;
    transaction.modify("UPDATE _task SET published = $2 WHERE name = $1", &[task, &generation])?;
    Ok(transaction.execute_batch(&view_sql(task, generation, &staged.batch.columns))?)
}

/// Records that this run brought the rows of the published generation.
fn record_publication(
    transaction: &Connection,
    task: &TaskName,
    run: RunId,
    staged: &StagedRows,
    now: DateTime<Utc>,
) -> StoreResult<()> {
    let sql = "UPDATE _generation SET run = $2, last_seen = $3 WHERE task = $1 AND state = 'published'";
    transaction.modify(sql, &[task, &run, &now])?;
    let sql = "UPDATE _task SET previous_rows = published_rows, published_rows = $2 WHERE name = $1";
    transaction.apply(sql, &[task, &staged.batch.rows])
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

pub(super) fn make_key_index(connection: &Connection, generation: i64) -> StoreResult<()> {
    let (index, table) = (quoted(&key_index(generation)), quoted(&rows_table(generation)));
    Ok(connection.execute_batch(&format!("CREATE INDEX IF NOT EXISTS {index} ON {table} (_key, _first_seen)"))?)
}
