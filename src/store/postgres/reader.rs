//! Reads records from a generation's table.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;
use tokio_postgres::Row;

use super::names::{quoted, rows_table};
use super::record_diff::{self, NamedCells};
use super::run_end::Generation;
use super::session::get;
use super::view::{PgType, read_list};
use super::{PgSession, StoreError, rows};

#[derive(Clone, Default)]
pub(super) struct StoredRecord {
    pub name: String,
    pub first_seen: DateTime<Utc>,
    pub cells: NamedCells,
}

/// Records of one generation, by row number.
pub(super) fn read(
    session: &PgSession,
    generation: &Generation,
    places: &[i64],
) -> Result<HashMap<i64, StoredRecord>, StoreError> {
    let found = session.rows(&sql(generation, "_n = ANY($2)"), &[&generation.id, &places])?;
    found.iter().map(|row| Ok((get(row, 0)?, record_of(generation, row)?))).collect()
}

/// The record of a key; the oldest, where there are several.
pub(super) fn of_key(
    session: &PgSession,
    generation: &Generation,
    key: u128,
) -> Result<Option<StoredRecord>, StoreError> {
    let sql = format!("{} ORDER BY _first_seen, _n LIMIT 1", sql(generation, "_key = $2"));
    let found = session.row(&sql, &[&generation.id, &key.to_be_bytes().as_slice()])?;
    found.map(|row| record_of(generation, &row)).transpose()
}

fn sql(generation: &Generation, which: &str) -> String {
    let columns = read_list(&generation.columns);
    let table = quoted(&rows_table(generation.table));
    format!("SELECT _n, _first_seen{columns} FROM {table} WHERE _generation = $1 AND {which}")
}

fn record_of(generation: &Generation, row: &Row) -> Result<StoredRecord, StoreError> {
    let value = |at: usize| rows::json(row, at + 2, PgType::of(&generation.columns[at]));
    let all: Vec<Json> = (0..generation.columns.len()).map(value).collect::<Result<_, _>>()?;
    let (name, cells) = record_diff::name_and_cells(generation, &all);
    Ok(StoredRecord { name, first_seen: get(row, 1)?, cells })
}
