//! A generation's table. Its entry in `_generation` is `store/generation.rs`.

use rusqlite::Connection;

use super::StoreResult;
use super::digest::Digest;
use super::names::{ColumnName, quoted, rows_table};
use crate::model::{RunId, TaskName};
use crate::store::sql::SqlSession;

pub(super) use crate::store::generation::{
    Generation, RowTables, confirm, drop_quarantined, drop_replaced, drop_staged, find, published, published_id,
    replaced_with_key, set_state, state_when_replaced_by, write_metadata,
};

impl RowTables for Connection {
    /// A page may well name a column `rowid`, but none starts with `_`.
    const ROW_NUMBER: &'static str = "_rowid_";

    fn rows_sql(generation: &Generation) -> String {
        format!("{} WHERE TRUE", quoted(&rows_table(generation.id)))
    }

    fn cell_sql(_: usize, column: &ColumnName) -> String {
        quoted(&column.stored)
    }
}

/// Creates a table that no view shows yet.
pub(super) fn create(connection: &Connection, run: RunId, task: &TaskName, columns: &[ColumnName]) -> StoreResult<i64> {
    let sql = "INSERT INTO _generation (task, run, state, columns, rows, digest, last_seen)
               SELECT $1, id, 'staging', '[]', 0, $3, started FROM _runs WHERE id = $2 RETURNING id";
    let digest = Digest::default().to_bytes();
    let generation = connection.query_number(sql, &[task, &run, &digest.as_slice()])?;
    connection.execute_batch(&table_sql(generation, columns))?;
    Ok(generation)
}

/// The table of a generation's rows.
pub(super) fn table_sql(generation: i64, columns: &[ColumnName]) -> String {
    let columns: String =
        columns.iter().map(|column| format!(", {} {}", quoted(&column.stored), column.affinity())).collect();
    format!(
        "CREATE TABLE {} (_key BLOB NOT NULL, _first_seen TEXT NOT NULL, _page INTEGER NOT NULL{columns})",
        quoted(&rows_table(generation))
    )
}

pub(super) fn add_columns(connection: &Connection, generation: i64, columns: &[ColumnName]) -> StoreResult<()> {
    let name = quoted(&rows_table(generation));
    for column in columns {
        connection.execute_batch(&format!(
            "ALTER TABLE {name} ADD COLUMN {} {}",
            quoted(&column.stored),
            column.affinity()
        ))?;
    }
    Ok(())
}

pub(super) fn insert_sql(generation: i64, columns: &[ColumnName]) -> String {
    let marks: String = (0..columns.len()).map(|index| format!(", ?{}", index + 4)).collect();
    format!(
        "INSERT INTO {} (_key, _first_seen, _page{}) VALUES (?1, ?2, ?3{marks})",
        quoted(&rows_table(generation)),
        Connection::cells_sql(columns, |_| true)
    )
}

/// Drops a generation and its table.
pub(super) fn remove(connection: &Connection, generation: i64) -> StoreResult<()> {
    connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", quoted(&rows_table(generation))))?;
    connection.apply("DELETE FROM _generation WHERE id = $1", &[&generation])
}
