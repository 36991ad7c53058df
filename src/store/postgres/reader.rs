//! Records as they stand in a generation's table.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;
use tokio_postgres::Row;

use super::names::{quoted, rows_table};
use super::record::{self, Cells};
use super::session::get;
use super::settle::Generation;
use super::view::{Type, read_list};
use super::{Session, StoreError, rows};

#[derive(Clone, Default)]
pub(super) struct Record {
    pub name: String,
    pub first_seen: DateTime<Utc>,
    pub cells: Cells,
}

/// Records of one generation by where they stand.
pub(super) fn read(
    session: &Session,
    generation: &Generation,
    places: &[i64],
) -> Result<HashMap<i64, Record>, StoreError> {
    let found = session.rows(&sql(generation, "_n = ANY($2)"), &[&generation.id, &places])?;
    found.iter().map(|row| Ok((get(row, 0)?, record_of(generation, row)?))).collect()
}

/// The record of a key; the oldest, where there are several.
pub(super) fn of_key(session: &Session, generation: &Generation, key: u128) -> Result<Option<Record>, StoreError> {
    let sql = format!("{} ORDER BY _first_seen, _n LIMIT 1", sql(generation, "_key = $2"));
    let found = session.row(&sql, &[&generation.id, &key.to_be_bytes().as_slice()])?;
    found.map(|row| record_of(generation, &row)).transpose()
}

fn sql(generation: &Generation, which: &str) -> String {
    let columns = read_list(&generation.columns);
    let table = quoted(&rows_table(generation.table));
    format!("SELECT _n, _first_seen{columns} FROM {table} WHERE _generation = $1 AND {which}")
}

fn record_of(generation: &Generation, row: &Row) -> Result<Record, StoreError> {
    let value = |at: usize| rows::json(row, at + 2, Type::of(&generation.columns[at]));
    let all: Vec<Json> = (0..generation.columns.len()).map(value).collect::<Result<_, _>>()?;
    let (name, cells) = record::of(generation, &all);
    Ok(Record { name, first_seen: get(row, 1)?, cells })
}
