//! Exports the database for a copy into another store: everything in its schema, as one snapshot.

use std::cell::RefCell;

use chrono::{DateTime, Utc};

use super::generation::Generation;
use super::names::{ColumnName, quoted, rows_table};
use super::view::{PgType, column_name};
use super::{PgSession, Postgres, SqlSession, StoreResult, fleet};
use crate::store::copy::{
    CopiedGeneration, CopiedRow, Exporter, FOLDER_TABLES, PartSink, TABLES_AFTER_ROWS, TABLES_BEFORE_ROWS,
    export_entries, generations, send_generation,
};

impl Exporter for Postgres {
    fn active_daemons(&self) -> StoreResult<Vec<String>> {
        let sql = format!("SELECT name FROM _member m WHERE {} ORDER BY name", fleet::LEASE_IS_VALID);
        self.session.query(&sql, &[], |row| row.get(0))
    }

    fn export(&self, take: PartSink<'_>) -> StoreResult<()> {
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

fn records(
    session: &PgSession,
    set: &CopiedGeneration,
    give: &mut dyn FnMut(CopiedRow) -> StoreResult<()>,
) -> StoreResult<()> {
    let Generation { id, table, columns, .. } = &set.generation;
    let cells: String = columns.iter().enumerate().map(|(at, it)| format!(", {}", numeric_text_sql(at, it))).collect();
    let table = quoted(&rows_table(*table));
    let sql = format!("SELECT _key, _first_seen, _page{cells} FROM {table} WHERE _generation = $1 ORDER BY _n");
    session.query_each(&sql, &[id], |row| {
        let first_seen: DateTime<Utc> = row.get(1)?;
        let cells = (0..columns.len()).map(|at| row.get(at + 3)).collect::<Result<_, _>>()?;
        give(CopiedRow { key: row.get(0)?, first_seen: first_seen.timestamp_millis(), page: row.get(2)?, cells })
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
