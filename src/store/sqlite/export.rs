//! Exports the file for a copy into another store: everything in it, as one snapshot.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::digest::Digest;
use super::names::{ColumnName, quoted, quoted_list, rows_table};
use super::run_end::Generation;
use super::{Sqlite, StoreError, decode, timestamp};
use crate::store::copy::{
    CopiedGeneration, CopiedRow, CopiedTable, Datum, DatumKind, Exporter, PartSink, TABLES_AFTER_ROWS,
    TABLES_BEFORE_ROWS, send_entries, send_generation,
};

impl Exporter for Sqlite {
    /// None: who copies a file holds the lock of its one writer.
    fn active_daemons(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    fn export(&self, take: PartSink<'_>) -> Result<(), StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        TABLES_BEFORE_ROWS.iter().try_for_each(|table| export_entries(&moment, table, take))?;
        for set in generations(&moment)? {
            send_generation(&set, take, |give| records(&moment, &set, give))?;
        }
        TABLES_AFTER_ROWS.iter().try_for_each(|table| export_entries(&moment, table, take))
    }
}

fn export_entries(connection: &Connection, table: &'static CopiedTable, take: PartSink<'_>) -> Result<(), StoreError> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let sql = format!("SELECT {} FROM {} ORDER BY {}", names.join(", "), table.name, table.order);
    send_entries(table, take, |give| {
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cells = table.columns.iter().enumerate().map(|(at, (_, kind))| datum(row, at, *kind));
            give(cells.collect::<Result<_, _>>()?)?;
        }
        Ok(())
    })
}

fn datum(row: &Row<'_>, at: usize, kind: DatumKind) -> Result<Datum, StoreError> {
    if row.get_ref(at)? == ValueRef::Null {
        return Ok(Datum::Null);
    }
    Ok(match kind {
        DatumKind::Text => Datum::Text(row.get(at)?),
        DatumKind::Int => Datum::Int(row.get(at)?),
        DatumKind::Real => Datum::Real(row.get(at)?),
        DatumKind::Bool => Datum::Bool(row.get(at)?),
        DatumKind::Time => Datum::Time(timestamp::parse(&row.get::<_, String>(at)?)?),
        DatumKind::Bytes => Datum::Bytes(row.get(at)?),
    })
}

/// The generations that are kept; rows that a run has staged are not copied.
fn generations(connection: &Connection) -> Result<Vec<CopiedGeneration>, StoreError> {
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
            columns: serde_json::from_str(&row.get::<_, String>(1)?).map_err(StoreError::invalid_value)?,
            key: key.map(|key| serde_json::from_str(&key).map_err(StoreError::invalid_value)).transpose()?,
            rows: row.get(3)?,
            digest: Digest::from_bytes(&row.get::<_, Vec<u8>>(4)?)?,
        };
        sets.push(CopiedGeneration {
            generation,
            task: decode::task_name(&row.get::<_, String>(5)?)?,
            run: row.get(6)?,
            state: row.get(7)?,
            last_seen: timestamp::parse(&row.get::<_, String>(8)?)?,
        });
    }
    Ok(sets)
}

fn records(
    connection: &Connection,
    set: &CopiedGeneration,
    give: &mut dyn FnMut(CopiedRow) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let columns: &[ColumnName] = &set.generation.columns;
    let separator = if columns.is_empty() { "" } else { ", " };
    let table = quoted(&rows_table(set.generation.id));
    let sql =
        format!("SELECT _key, _first_seen, _page{separator}{} FROM {table} ORDER BY _rowid_", quoted_list(columns));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells =
            (0..columns.len()).map(|at| Ok(numeric_text(row.get_ref(at + 3)?))).collect::<Result<_, StoreError>>()?;
        let first_seen = timestamp::parse(&row.get::<_, String>(1)?)?.timestamp_millis();
        give(CopiedRow { key: row.get(0)?, first_seen, page: row.get(2)?, cells })?;
    }
    Ok(())
}

/// A cell as decimal digits, which every database turns into the same number again.
fn numeric_text(cell: ValueRef<'_>) -> Option<String> {
    match cell {
        ValueRef::Null | ValueRef::Blob(_) => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        // With an exponent, not with hundreds of zeros.
        ValueRef::Real(number) if number.abs() >= 1e18 => Some(format!("{number:e}")),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
    }
}
