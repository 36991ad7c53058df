//! A file that is copied into another store: everything in it, as of one moment.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::digest::Digest;
use super::names::{ColumnName, list, quoted, rows_table};
use super::settle::Generation;
use super::{Sqlite, StoreError, stamp, stored};
use crate::store::copy::{
    AFTER_ROWS, BEFORE_ROWS, Datum, Giving, Kept, Kind, Record, Set, Take, give_entries, give_set,
};

impl Giving for Sqlite {
    /// Whoever copies a file holds the lock of its one writer.
    fn at_work(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    fn give(&self, take: Take<'_>) -> Result<(), StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        BEFORE_ROWS.iter().try_for_each(|table| entries(&moment, table, take))?;
        for set in sets(&moment)? {
            give_set(&set, take, |give| records(&moment, &set, give))?;
        }
        AFTER_ROWS.iter().try_for_each(|table| entries(&moment, table, take))
    }
}

fn entries(connection: &Connection, table: &'static Kept, take: Take<'_>) -> Result<(), StoreError> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let sql = format!("SELECT {} FROM {} ORDER BY {}", names.join(", "), table.name, table.order);
    give_entries(table, take, |give| {
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cells = table.columns.iter().enumerate().map(|(at, (_, kind))| datum(row, at, *kind));
            give(cells.collect::<Result<_, _>>()?)?;
        }
        Ok(())
    })
}

fn datum(row: &Row<'_>, at: usize, kind: Kind) -> Result<Datum, StoreError> {
    if row.get_ref(at)? == ValueRef::Null {
        return Ok(Datum::Null);
    }
    Ok(match kind {
        Kind::Text => Datum::Text(row.get(at)?),
        Kind::Int => Datum::Int(row.get(at)?),
        Kind::Real => Datum::Real(row.get(at)?),
        Kind::Bool => Datum::Bool(row.get(at)?),
        Kind::Time => Datum::Time(stamp::parse(&row.get::<_, String>(at)?)?),
        Kind::Bytes => Datum::Bytes(row.get(at)?),
    })
}

/// The sets of rows that are kept; what a run had staged is nobody's.
fn sets(connection: &Connection) -> Result<Vec<Set>, StoreError> {
    let sql = "SELECT id, columns, key, rows, digest, task, run, state, last_seen FROM _generation
               WHERE state IN ('published', 'previous', 'quarantined') ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut sets = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, key): (i64, Option<String>) = (row.get(0)?, row.get(2)?);
        let generation = Generation {
            id,
            table: id,
            columns: serde_json::from_str(&row.get::<_, String>(1)?).map_err(StoreError::value)?,
            key: key.map(|key| serde_json::from_str(&key).map_err(StoreError::value)).transpose()?,
            rows: row.get(3)?,
            digest: Digest::from_bytes(&row.get::<_, Vec<u8>>(4)?)?,
        };
        sets.push(Set {
            generation,
            task: stored::task_name(&row.get::<_, String>(5)?)?,
            run: row.get(6)?,
            state: row.get(7)?,
            last_seen: stamp::parse(&row.get::<_, String>(8)?)?,
        });
    }
    Ok(sets)
}

fn records(
    connection: &Connection,
    set: &Set,
    give: &mut dyn FnMut(Record) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let columns: &[ColumnName] = &set.generation.columns;
    let separator = if columns.is_empty() { "" } else { ", " };
    let table = quoted(&rows_table(set.generation.id));
    let sql = format!("SELECT _key, _first_seen, _page{separator}{} FROM {table} ORDER BY _rowid_", list(columns));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = (0..columns.len()).map(|at| Ok(text(row.get_ref(at + 3)?))).collect::<Result<_, StoreError>>()?;
        let first_seen = stamp::parse(&row.get::<_, String>(1)?)?.timestamp_millis();
        give(Record { key: row.get(0)?, first_seen, page: row.get(2)?, cells })?;
    }
    Ok(())
}

/// A cell as its digits, which every database turns into the same number again.
fn text(cell: ValueRef<'_>) -> Option<String> {
    match cell {
        ValueRef::Null | ValueRef::Blob(_) => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        // Not as hundreds of zeros.
        ValueRef::Real(number) if number.abs() >= 1e18 => Some(format!("{number:e}")),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
    }
}
