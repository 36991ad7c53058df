//! A run that finds the published rows writes nothing. As long as its rows equal the published ones in their order,
//! they are only compared; at the first difference the rows before it are copied within the database, and all that
//! follow are written.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, TransactionBehavior, params};

use super::generation::{self, RowTables};
use super::names::{quoted, rows_table};
use super::stage::{StagedRows, StagedTable};
use super::{Sqlite, StoreError, StoreResult, open, timestamp, wal};
use crate::model::{RunId, TaskName};
use crate::store::batch::BufferedRow;
use crate::store::unchanged_prefix;
use crate::store::unchanged_prefix::UnchangedPrefix;

impl StagedRows {
    /// Whether the buffered rows equal the next published ones; then they leave the buffer.
    pub fn extend_unchanged_prefix(&mut self, connection: &Connection, task: &TaskName) -> StoreResult<bool> {
        if !self.is_all_in_memory() {
            return Ok(false);
        }
        let published = generation::published(connection, task)?;
        let Some(same) = UnchangedPrefix::resume(self.unchanged_prefix, published.as_ref(), &self.batch) else {
            return Ok(false);
        };
        let Some(first_seen) = self.first_seen_if_unchanged(connection, same)? else { return Ok(false) };
        let mut keys = self.entries(&first_seen)?;
        self.keep_keys(&mut keys);
        self.unchanged_prefix = Some(same.extended_by(self.batch.pending().len()));
        self.batch.clear_pending();
        Ok(true)
    }

    /// When the buffered rows were first seen, if they equal the published ones from some row on.
    fn first_seen_if_unchanged(&self, connection: &Connection, same: UnchangedPrefix) -> StoreResult<Option<Vec<i64>>> {
        let sql = format!(
            "SELECT _key, _first_seen, _page{} FROM {} WHERE _rowid_ > ?1 ORDER BY _rowid_ LIMIT ?2",
            Connection::cells_sql(&self.batch.columns, |_| true),
            quoted(&rows_table(same.table))
        );
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query(params![same.rows, unchanged_prefix::to_i64(self.batch.pending().len())])?;
        let mut first_seen = Vec::with_capacity(self.batch.pending().len());
        let (mut text, mut millis) = (String::new(), 0);
        for record in self.batch.pending() {
            let Some(row) = rows.next()? else { return Ok(None) };
            if !self.is_unchanged_row(record, row)? {
                return Ok(None);
            }
            // Most rows were first seen when the one before was.
            let seen = row.get_ref(1)?.as_str().map_err(StoreError::invalid_value)?;
            if seen != text {
                (text, millis) = (seen.to_owned(), timestamp::parse(seen)?.timestamp_millis());
            }
            first_seen.push(millis);
        }
        Ok(Some(first_seen))
    }

    fn is_unchanged_row(&self, record: &BufferedRow, row: &Row<'_>) -> StoreResult<bool> {
        if row.get_ref(0)?.as_blob() != Ok(&record.key[..]) || row.get::<_, u32>(2)? != record.page {
            return Ok(false);
        }
        for (index, text) in self.batch.cells(record).enumerate() {
            if !is_unchanged_cell(row.get_ref(index + 3)?, text) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether some rows exist only in the published table.
    pub fn references_generation(&self, generation: i64) -> bool {
        self.unchanged_prefix.is_some_and(|same| same.generation == generation && same.copied < same.rows)
    }

    /// Copies the unchanged rows into a table of the run's own, in transactions of their own. After an error it
    /// continues where it stopped.
    pub fn copy_unchanged_prefix(
        &mut self,
        connection: &mut Connection,
        home: Option<&open::DatabaseFile>,
        run: RunId,
        task: &TaskName,
    ) -> StoreResult<()> {
        while let Some((same, next)) = self.unchanged_prefix.and_then(|same| Some((same, same.after_next_copy()?))) {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let columns = self.batch.columns.len();
            let table = match self.table {
                Some(table) => table,
                None => StagedTable {
                    generation: generation::create(&transaction, run, task, &self.batch.columns)?,
                    columns,
                },
            };
            let (shown, own) = (quoted(&rows_table(same.table)), quoted(&rows_table(table.generation)));
            let cells = Connection::cells_sql(&self.batch.columns[..same.columns], |_| true);
            let sql = format!(
                "INSERT INTO {own} (_key, _first_seen, _page{cells}) SELECT _key, _first_seen, _page{cells} FROM {shown}
                 WHERE _rowid_ > ?1 AND _rowid_ <= ?2 ORDER BY _rowid_"
            );
            transaction.execute(&sql, [same.copied, next.copied])?;
            transaction.commit()?;
            self.table = Some(table);
            self.unchanged_prefix = Some(next);
            wal::truncate(connection, home)?;
        }
        Ok(())
    }
}

/// Before the published rows of a task are replaced: copies those that other runs of it have only compared with.
pub(super) fn copy_rows_referenced_by_running_runs(
    store: &mut Sqlite,
    generation: i64,
    task: &TaskName,
) -> StoreResult<()> {
    for (run, staged) in store.staged.iter_mut().filter(|(_, staged)| staged.references_generation(generation)) {
        staged.copy_unchanged_prefix(&mut store.connection, store.file.as_ref(), *run, task)?;
    }
    Ok(())
}

/// Whether a cell equals a text; a table turns the digits of a number into a number.
fn is_unchanged_cell(cell: ValueRef<'_>, text: Option<&str>) -> bool {
    match (cell, text) {
        (ValueRef::Null, None) => true,
        (ValueRef::Text(stored), Some(text)) => stored == text.as_bytes(),
        (ValueRef::Integer(stored), Some(text)) => text.parse() == Ok(stored),
        (ValueRef::Real(stored), Some(text)) => text.parse() == Ok(stored),
        (ValueRef::Null | ValueRef::Blob(_), Some(_)) | (_, None) => false,
    }
}
