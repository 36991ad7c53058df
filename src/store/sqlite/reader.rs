//! A record as it stands in a generation's table.

use rusqlite::{Connection, Statement};
use serde_json::Value as Json;

use super::names::{list, quoted, rows_table};
use super::record::{self, Cells};
use super::settle::Generation;
use super::{StoreError, rows};

#[derive(Default)]
pub(super) struct Record {
    pub name: String,
    pub first_seen: String,
    pub cells: Cells,
}

/// Reads records of one generation by where they stand.
pub(super) struct Reader<'c> {
    generation: &'c Generation,
    select: Statement<'c>,
}

impl<'c> Reader<'c> {
    pub fn new(connection: &'c Connection, generation: &'c Generation) -> Result<Reader<'c>, StoreError> {
        let separator = if generation.columns.is_empty() { "" } else { ", " };
        let (table, columns) = (quoted(&rows_table(generation.id)), list(&generation.columns));
        let sql = format!("SELECT _first_seen{separator}{columns} FROM {table} WHERE _rowid_ = ?1");
        Ok(Reader { generation, select: connection.prepare(&sql)? })
    }

    pub fn read(&mut self, row: i64) -> Result<Record, StoreError> {
        let columns = &self.generation.columns;
        let (first_seen, all) = self.select.query_row([row], |found| {
            let all = (0..columns.len()).map(|at| Ok(rows::json(found.get_ref(at + 1)?)));
            Ok((found.get(0)?, all.collect::<Result<Vec<Json>, rusqlite::Error>>()?))
        })?;
        let (name, cells) = record::of(self.generation, &all);
        Ok(Record { name, first_seen, cells })
    }
}
