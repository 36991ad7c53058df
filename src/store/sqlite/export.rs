//! Exports the file for a copy into another store: everything in it, as one snapshot.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::names::{ColumnName, quoted, quoted_list, rows_table};
use super::{Sqlite, StoreResult, timestamp};
use crate::store::copy::{
    CopiedGeneration, CopiedRow, Exporter, PartSink, TABLES_AFTER_ROWS, TABLES_BEFORE_ROWS, export_entries,
    generations, send_generation,
};

impl Exporter for Sqlite {
    /// None: who copies a file holds the lock of its one writer.
    fn active_daemons(&self) -> StoreResult<Vec<String>> {
        Ok(Vec::new())
    }

    fn export(&self, take: PartSink<'_>) -> StoreResult<()> {
        let moment = self.connection.unchecked_transaction()?;
        TABLES_BEFORE_ROWS.iter().try_for_each(|table| export_entries(&*moment, table, take))?;
        for set in generations(&*moment)? {
            send_generation(&set, take, |give| records(&moment, &set, give))?;
        }
        TABLES_AFTER_ROWS.iter().try_for_each(|table| export_entries(&*moment, table, take))
    }
}

fn records(
    connection: &Connection,
    set: &CopiedGeneration,
    give: &mut dyn FnMut(CopiedRow) -> StoreResult<()>,
) -> StoreResult<()> {
    let columns: &[ColumnName] = &set.generation.columns;
    let separator = if columns.is_empty() { "" } else { ", " };
    let table = quoted(&rows_table(set.generation.id));
    let sql =
        format!("SELECT _key, _first_seen, _page{separator}{} FROM {table} ORDER BY _rowid_", quoted_list(columns));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = (0..columns.len()).map(|at| Ok(numeric_text(row.get_ref(at + 3)?))).collect::<StoreResult<_>>()?;
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
