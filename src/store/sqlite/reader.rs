//! Reads records from a generation's table.

use rusqlite::{Connection, Statement};
use serde_json::Value as Json;

use super::names::{quoted, quoted_list, rows_table};
use super::record_diff::{self, NamedCells};
use super::run_end::Generation;
use super::{StoreError, rows};

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
        let (first_seen, all) = self.select.query_row([row], |found| {
            let all = (0..columns.len()).map(|at| Ok(rows::json(found.get_ref(at + 1)?)));
            Ok((found.get(0)?, all.collect::<Result<Vec<Json>, rusqlite::Error>>()?))
        })?;
        let (name, cells) = record_diff::name_and_cells(self.generation, &all);
        Ok(StoredRecord { name, first_seen, cells })
    }
}
