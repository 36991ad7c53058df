//! A record as it stands in a generation's table.

use rusqlite::{Connection, Statement};
use serde_json::Value as Json;

use super::generation::Generation;
use super::names::{list, quoted, rows_table};
use super::record::{self, Cells};
use super::{StoreError, rows};
use crate::model::Facet;
use crate::store::Cell;

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
        let value_of = |at: usize| {
            let is_it = |place: &usize| columns[*place].value.is_some_and(|it| it.of == at && it.facet == Facet::Value);
            (0..columns.len()).find(is_it).map_or(Json::Null, |place| all[place].clone())
        };
        let texts = columns.iter().enumerate().filter(|(_, column)| column.is_text());
        let cell = |at: usize| Cell { text: all[at].as_str().map(str::to_owned), value: value_of(at) };
        let cells: Cells = texts.map(|(at, column)| (column.stored.clone(), cell(at))).collect();
        let name = record::name(self.generation.key.as_deref().unwrap_or_default(), &cells);
        Ok(Record { name, first_seen, cells })
    }
}
