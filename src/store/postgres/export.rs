//! Exports the database for a copy into another store: everything in its schema, as one snapshot.

use std::cell::RefCell;

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::digest::Digest;
use super::names::{ColumnName, quoted, rows_table};
use super::run_end::Generation;
use super::session::get;
use super::view::{PgType, column_name};
use super::{PgSession, Postgres, StoreError, decode, fleet, rows};
use crate::store::copy::{
    CopiedGeneration, CopiedRow, CopiedTable, Datum, DatumKind, Exporter, FOLDER_TABLES, PartSink, TABLES_AFTER_ROWS,
    TABLES_BEFORE_ROWS, send_entries, send_generation,
};

impl Exporter for Postgres {
    fn active_daemons(&self) -> Result<Vec<String>, StoreError> {
        let sql = format!("SELECT name FROM _member m WHERE {} ORDER BY name", fleet::LEASE_IS_VALID);
        self.session.rows(&sql, &[])?.iter().map(|row| get(row, 0)).collect()
    }

    fn export(&self, take: PartSink<'_>) -> Result<(), StoreError> {
        let (session, take) = (&self.session, RefCell::new(take));
        // Not retried: parts that were sent cannot be taken back.
        session.in_snapshot_once(|| {
            let take = &mut **take.borrow_mut();
            TABLES_BEFORE_ROWS.iter().try_for_each(|table| export_entries(session, table, take))?;
            for set in generations(session)? {
                send_generation(&set, take, |give| records(session, &set, give))?;
            }
            TABLES_AFTER_ROWS.iter().chain(FOLDER_TABLES).try_for_each(|table| export_entries(session, table, take))
        })
    }
}

fn export_entries(session: &PgSession, table: &'static CopiedTable, take: PartSink<'_>) -> Result<(), StoreError> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let sql = format!("SELECT {} FROM {} ORDER BY {}", names.join(", "), table.name, table.order);
    send_entries(table, take, |give| {
        session.each(&sql, &[], |row| {
            let cells = table.columns.iter().enumerate().map(|(at, (_, kind))| datum(row, at, *kind));
            give(cells.collect::<Result<_, _>>()?)
        })
    })
}

fn datum(row: &Row, at: usize, kind: DatumKind) -> Result<Datum, StoreError> {
    let found = match kind {
        DatumKind::Text => get::<Option<String>>(row, at)?.map(Datum::Text),
        DatumKind::Int => get::<Option<i64>>(row, at)?.map(Datum::Int),
        DatumKind::Real => get::<Option<f64>>(row, at)?.map(Datum::Real),
        DatumKind::Bool => get::<Option<bool>>(row, at)?.map(Datum::Bool),
        DatumKind::Time => get::<Option<DateTime<Utc>>>(row, at)?.map(Datum::Time),
        DatumKind::Bytes => get::<Option<Vec<u8>>>(row, at)?.map(Datum::Bytes),
    };
    Ok(found.unwrap_or(Datum::Null))
}

/// The generations that are kept; rows that a run has staged are not copied.
fn generations(session: &PgSession) -> Result<Vec<CopiedGeneration>, StoreError> {
    let sql = "SELECT id, shape, columns, key, rows, digest, task, run, state, last_seen FROM _generation
               WHERE state IN ('published', 'previous', 'quarantined') ORDER BY id";
    let set = |row: &Row| {
        let key: Option<&str> = get(row, 3)?;
        let generation = Generation {
            id: get(row, 0)?,
            table: get(row, 1)?,
            columns: serde_json::from_str(get(row, 2)?).map_err(StoreError::invalid_value)?,
            key: key.map(serde_json::from_str).transpose().map_err(StoreError::invalid_value)?,
            rows: get(row, 4)?,
            digest: Digest::from_bytes(get(row, 5)?)?,
        };
        let task = decode::task_name(get(row, 6)?)?;
        Ok(CopiedGeneration { generation, task, run: get(row, 7)?, state: get(row, 8)?, last_seen: get(row, 9)? })
    };
    session.rows(sql, &[])?.iter().map(set).collect()
}

fn records(
    session: &PgSession,
    set: &CopiedGeneration,
    give: &mut dyn FnMut(CopiedRow) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let Generation { id, table, columns, .. } = &set.generation;
    let cells: String = columns.iter().enumerate().map(|(at, it)| format!(", {}", numeric_text_sql(at, it))).collect();
    let table = quoted(&rows_table(*table));
    let sql = format!("SELECT _key, _first_seen, _page{cells} FROM {table} WHERE _generation = $1 ORDER BY _n");
    session.each(&sql, &[id], |row| {
        let first_seen: DateTime<Utc> = get(row, 1)?;
        let cells = (0..columns.len()).map(|at| get(row, at + 3)).collect::<Result<_, _>>()?;
        give(CopiedRow {
            key: get(row, 0)?,
            first_seen: first_seen.timestamp_millis(),
            page: rows::page(row, 2)?,
            cells,
        })
    })
}

/// A cell as decimal digits, which every database turns into the same number again.
fn numeric_text_sql(at: usize, column: &ColumnName) -> String {
    let name = column_name(at);
    match PgType::of(column) {
        PgType::Text => name,
        PgType::Bigint | PgType::Double | PgType::Numeric => format!("{name}::text"),
        // As in SQLite, which has no booleans.
        PgType::Boolean => format!("CASE WHEN {name} THEN '1' WHEN NOT {name} THEN '0' END"),
    }
}
