//! A run that finds what is published writes nothing. As long as its rows are the published ones in their order, they are only
//! compared; at the first that is not, those before it are copied within the database, and all that follow are written.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, TransactionBehavior, params};

use super::generation;
use super::names::{list, quoted, rows_table};
use super::stage::{Staged, Written};
use super::{Sqlite, StoreError, log, open, stamp};
use crate::model::{RunId, TaskName};
use crate::store::batch::Record;
use crate::store::same::{self, Same};

impl Staged {
    /// Whether what waits is what comes next in the published rows; then it need not wait any longer.
    pub fn follow(&mut self, connection: &Connection, task: &TaskName) -> Result<bool, StoreError> {
        if !self.is_all_in_memory() {
            return Ok(false);
        }
        let published = generation::find(connection, "task = ?1 AND state = 'published'", task.as_str())?;
        let Some(same) = Same::so_far(self.same, published.as_ref(), &self.batch) else { return Ok(false) };
        let Some(first_seen) = self.compare(connection, same)? else { return Ok(false) };
        let mut keys = self.entries(&first_seen)?;
        self.keep_keys(&mut keys);
        self.same = Some(same.and(self.batch.waiting().len()));
        self.batch.written();
        Ok(true)
    }

    /// When the rows that wait were first seen, if they are the published ones from some row on.
    fn compare(&self, connection: &Connection, same: Same) -> Result<Option<Vec<i64>>, StoreError> {
        let separator = if self.batch.columns.is_empty() { "" } else { ", " };
        let sql = format!(
            "SELECT _key, _first_seen, _page{separator}{} FROM {} WHERE _rowid_ > ?1 ORDER BY _rowid_ LIMIT ?2",
            list(&self.batch.columns),
            quoted(&rows_table(same.table))
        );
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query(params![same.rows, same::number(self.batch.waiting().len())])?;
        let mut first_seen = Vec::with_capacity(self.batch.waiting().len());
        let (mut text, mut millis) = (String::new(), 0);
        for record in self.batch.waiting() {
            let Some(row) = rows.next()? else { return Ok(None) };
            if !self.is_same(record, row)? {
                return Ok(None);
            }
            // Most rows were first seen when the one before was.
            let seen = row.get_ref(1)?.as_str().map_err(|error| StoreError::Value(error.to_string()))?;
            if seen != text {
                (text, millis) = (seen.to_owned(), stamp::parse(seen)?.timestamp_millis());
            }
            first_seen.push(millis);
        }
        Ok(Some(first_seen))
    }

    fn is_same(&self, record: &Record, row: &Row<'_>) -> Result<bool, StoreError> {
        if row.get_ref(0)?.as_blob() != Ok(&record.key[..]) || row.get::<_, u32>(2)? != record.page {
            return Ok(false);
        }
        for (index, text) in self.batch.cells(record).enumerate() {
            if !is_same_cell(row.get_ref(index + 3)?, text) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether there are rows that stand nowhere but in the published table.
    pub fn leans_on(&self, generation: i64) -> bool {
        self.same.is_some_and(|same| same.of == generation && same.copied < same.rows)
    }

    /// Copies the rows that are as published into a table of the run's own, in transactions of their own. Cut short by an
    /// error, it goes on where it was.
    pub fn copy_same(
        &mut self,
        connection: &mut Connection,
        home: Option<&open::Home>,
        run: RunId,
        task: &TaskName,
    ) -> Result<(), StoreError> {
        while let Some((same, next)) = self.same.and_then(|same| Some((same, same.after_next_copy()?))) {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let columns = self.batch.columns.len();
            let table = match self.table {
                Some(table) => table,
                None => {
                    Written { generation: generation::create(&transaction, run, task, &self.batch.columns)?, columns }
                }
            };
            let (shown, own) = (quoted(&rows_table(same.table)), quoted(&rows_table(table.generation)));
            let columns = format!("_key, _first_seen, _page, {}", list(&self.batch.columns[..same.columns]));
            let columns = columns.trim_end_matches(", ");
            let sql = format!(
                "INSERT INTO {own} ({columns}) SELECT {columns} FROM {shown}
                 WHERE _rowid_ > ?1 AND _rowid_ <= ?2 ORDER BY _rowid_"
            );
            transaction.execute(&sql, [same.copied, next.copied])?;
            transaction.commit()?;
            self.table = Some(table);
            self.same = Some(next);
            log::shorten(connection, home)?;
        }
        Ok(())
    }
}

impl Sqlite {
    /// Before the published rows of a task give way: what other runs of it only compared with them is copied.
    pub(super) fn let_no_run_lean_on(&mut self, generation: i64, task: &TaskName) -> Result<(), StoreError> {
        for (run, staged) in self.staged.iter_mut().filter(|(_, staged)| staged.leans_on(generation)) {
            staged.copy_same(&mut self.connection, self.home.as_ref(), *run, task)?;
        }
        Ok(())
    }
}

/// A table turns the digits of a number into a number.
fn is_same_cell(cell: ValueRef<'_>, text: Option<&str>) -> bool {
    match (cell, text) {
        (ValueRef::Null, None) => true,
        (ValueRef::Text(stored), Some(text)) => stored == text.as_bytes(),
        (ValueRef::Integer(stored), Some(text)) => text.parse() == Ok(stored),
        (ValueRef::Real(stored), Some(text)) => text.parse() == Ok(stored),
        (ValueRef::Null | ValueRef::Blob(_), Some(_)) | (_, None) => false,
    }
}
