//! A database that is copied into another store: everything in our schema, as of one moment.

use std::cell::RefCell;

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::digest::Digest;
use super::names::{ColumnName, quoted, rows_table};
use super::session::get;
use super::settle::Generation;
use super::view::{Type, column};
use super::{Postgres, Session, StoreError, fleet, rows, stored};
use crate::store::copy::{
    AFTER_ROWS, BEFORE_ROWS, Datum, FOLDERS, Giving, Kept, Kind, Record, Set, Take, give_entries, give_set,
};

impl Giving for Postgres {
    fn at_work(&self) -> Result<Vec<String>, StoreError> {
        let sql = format!("SELECT name FROM _member m WHERE {} ORDER BY name", fleet::ALIVE);
        self.session.rows(&sql, &[])?.iter().map(|row| get(row, 0)).collect()
    }

    fn give(&self, take: Take<'_>) -> Result<(), StoreError> {
        let (session, take) = (&self.session, RefCell::new(take));
        // Once: what was given cannot be taken back.
        session.moment_once(|| {
            let take = &mut **take.borrow_mut();
            BEFORE_ROWS.iter().try_for_each(|table| entries(session, table, take))?;
            for set in sets(session)? {
                give_set(&set, take, |give| records(session, &set, give))?;
            }
            AFTER_ROWS.iter().chain(FOLDERS).try_for_each(|table| entries(session, table, take))
        })
    }
}

fn entries(session: &Session, table: &'static Kept, take: Take<'_>) -> Result<(), StoreError> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let sql = format!("SELECT {} FROM {} ORDER BY {}", names.join(", "), table.name, table.order);
    give_entries(table, take, |give| {
        session.each(&sql, &[], |row| {
            let cells = table.columns.iter().enumerate().map(|(at, (_, kind))| datum(row, at, *kind));
            give(cells.collect::<Result<_, _>>()?)
        })
    })
}

fn datum(row: &Row, at: usize, kind: Kind) -> Result<Datum, StoreError> {
    let found = match kind {
        Kind::Text => get::<Option<String>>(row, at)?.map(Datum::Text),
        Kind::Int => get::<Option<i64>>(row, at)?.map(Datum::Int),
        Kind::Real => get::<Option<f64>>(row, at)?.map(Datum::Real),
        Kind::Bool => get::<Option<bool>>(row, at)?.map(Datum::Bool),
        Kind::Time => get::<Option<DateTime<Utc>>>(row, at)?.map(Datum::Time),
        Kind::Bytes => get::<Option<Vec<u8>>>(row, at)?.map(Datum::Bytes),
    };
    Ok(found.unwrap_or(Datum::Null))
}

/// The sets of rows that are kept; what a run had staged is nobody's.
fn sets(session: &Session) -> Result<Vec<Set>, StoreError> {
    let sql = "SELECT id, shape, columns, key, rows, digest, task, run, state, last_seen FROM _generation
               WHERE state IN ('published', 'previous', 'quarantined') ORDER BY id";
    let set = |row: &Row| {
        let key: Option<&str> = get(row, 3)?;
        let generation = Generation {
            id: get(row, 0)?,
            table: get(row, 1)?,
            columns: serde_json::from_str(get(row, 2)?).map_err(StoreError::value)?,
            key: key.map(serde_json::from_str).transpose().map_err(StoreError::value)?,
            rows: get(row, 4)?,
            digest: Digest::from_bytes(get(row, 5)?)?,
        };
        let task = stored::task_name(get(row, 6)?)?;
        Ok(Set { generation, task, run: get(row, 7)?, state: get(row, 8)?, last_seen: get(row, 9)? })
    };
    session.rows(sql, &[])?.iter().map(set).collect()
}

fn records(
    session: &Session,
    set: &Set,
    give: &mut dyn FnMut(Record) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let Generation { id, table, columns, .. } = &set.generation;
    let cells: String = columns.iter().enumerate().map(|(at, it)| format!(", {}", digits(at, it))).collect();
    let table = quoted(&rows_table(*table));
    let sql = format!("SELECT _key, _first_seen, _page{cells} FROM {table} WHERE _generation = $1 ORDER BY _n");
    session.each(&sql, &[id], |row| {
        let first_seen: DateTime<Utc> = get(row, 1)?;
        let cells = (0..columns.len()).map(|at| get(row, at + 3)).collect::<Result<_, _>>()?;
        give(Record { key: get(row, 0)?, first_seen: first_seen.timestamp_millis(), page: rows::page(row, 2)?, cells })
    })
}

/// A cell as its digits, which every database turns into the same number again.
fn digits(at: usize, column_name: &ColumnName) -> String {
    let name = column(at);
    match Type::of(column_name) {
        Type::Text => name,
        Type::Bigint | Type::Double | Type::Numeric => format!("{name}::text"),
        // As SQLite has it, which knows no truth.
        Type::Boolean => format!("CASE WHEN {name} THEN '1' WHEN NOT {name} THEN '0' END"),
    }
}
