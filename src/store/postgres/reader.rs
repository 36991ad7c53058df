//! Reads records from a generation's table.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::names::{quoted, rows_table};
use super::session::get;
use super::view::read_list;
use super::{PgSession, SqlSession, StoreError, record_diff};
use crate::store::generation::Generation;
use crate::store::history::PublishedRecord;
use crate::store::sql::SqlRow;

/// Records of one generation, by row number.
pub(super) fn read(
    session: &PgSession,
    generation: &Generation,
    places: &[i64],
) -> Result<HashMap<i64, PublishedRecord>, StoreError> {
    let found = session.rows(&sql(generation, "_n = ANY($2)"), &[&generation.id, &places])?;
    found.iter().map(|row| Ok((get(row, 0)?, record_of(generation, row)?))).collect()
}

/// The record of a key; the oldest, where there are several.
pub(super) fn of_key(
    session: &PgSession,
    generation: &Generation,
    key: u128,
) -> Result<Option<PublishedRecord>, StoreError> {
    let sql = format!("{} ORDER BY _first_seen, _n LIMIT 1", sql(generation, "_key = $2"));
    session.query_first(&sql, &[&generation.id, &key.to_be_bytes().as_slice()], |row| record_of(generation, row))
}

fn sql(generation: &Generation, which: &str) -> String {
    let columns = read_list(&generation.columns);
    let table = quoted(&rows_table(generation.table));
    format!("SELECT _n, _first_seen{columns} FROM {table} WHERE _generation = $1 AND {which}")
}

fn record_of(generation: &Generation, row: &dyn SqlRow) -> Result<PublishedRecord, StoreError> {
    let all: Vec<Json> = (0..generation.columns.len()).map(|at| row.get(at + 2)).collect::<Result<_, _>>()?;
    let (name, cells) = record_diff::name_and_cells(generation, &all);
    Ok(PublishedRecord { name, first_seen: row.get(1)?, cells })
}
