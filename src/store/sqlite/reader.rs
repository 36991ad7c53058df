//! Reads records from a generation's table.

use rusqlite::{Connection, Statement};
use serde_json::Value as Json;

use super::StoreError;
use super::generation::Generation;
use super::names::{quoted, quoted_list, rows_table};
use super::record_diff::{self, NamedCells};
use crate::store::sql::SqlRow;

#[derive(Default)]
pub(super) struct StoredRecord {
    pub name: String,
    pub first_seen: String,
    pub cells: NamedCells,
}

/// Reads records of one generation by row number.
pub(super) struct RecordReader<'c> {
    generation: &'c Generation,
    select: Statement<'c>,
}

impl<'c> RecordReader<'c> {
    pub fn new(connection: &'c Connection, generation: &'c Generation) -> Result<RecordReader<'c>, StoreError> {
        let separator = if generation.columns.is_empty() { "" } else { ", " };
        let (table, columns) = (quoted(&rows_table(generation.id)), quoted_list(&generation.columns));
        let sql = format!("SELECT _first_seen{separator}{columns} FROM {table} WHERE _rowid_ = ?1");
        Ok(RecordReader { generation, select: connection.prepare(&sql)? })
    }

    pub fn read(&mut self, row: i64) -> Result<StoredRecord, StoreError> {
        let columns = &self.generation.columns;
        let mut rows = self.select.query([row])?;
        let found: &dyn SqlRow = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        let all: Vec<Json> = (0..columns.len()).map(|at| found.get(at + 1)).collect::<Result<_, _>>()?;
        let first_seen = found.get(0)?;
        let (name, cells) = record_diff::name_and_cells(self.generation, &all);
        Ok(StoredRecord { name, first_seen, cells })
    }
}
