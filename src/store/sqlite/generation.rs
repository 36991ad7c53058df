//! A generation's table. Its entry in `_generation` is `store/generation.rs`.

use rusqlite::Connection;

use super::StoreError;
use super::digest::Digest;
use super::names::{ColumnName, quoted, quoted_list, rows_table};
use crate::model::{RunId, TaskName};
use crate::store::sql::SqlSession;

pub(super) use crate::store::generation::{
    Generation, confirm, drop_previous, drop_quarantined, drop_staged, find, published, published_id, set_state,
    write_metadata,
};

/// Creates a table that no view shows yet.
pub(super) fn create(
    connection: &Connection,
    run: RunId,
    task: &TaskName,
    columns: &[ColumnName],
) -> Result<i64, StoreError> {
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

pub(super) fn add_columns(connection: &Connection, generation: i64, columns: &[ColumnName]) -> Result<(), StoreError> {
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
    let separator = if columns.is_empty() { "" } else { ", " };
    let marks: String = (0..columns.len()).map(|index| format!(", ?{}", index + 4)).collect();
    format!(
        "INSERT INTO {} (_key, _first_seen, _page{separator}{}) VALUES (?1, ?2, ?3{marks})",
        quoted(&rows_table(generation)),
        quoted_list(columns)
    )
}

/// Drops a generation and its table.
pub(super) fn remove(connection: &Connection, generation: i64) -> Result<(), StoreError> {
    connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", quoted(&rows_table(generation))))?;
    connection.modify("DELETE FROM _generation WHERE id = $1", &[&generation])?;
    Ok(())
}
