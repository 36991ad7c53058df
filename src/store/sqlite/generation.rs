//! A generation: its row in `_generation`, and its table.

use rusqlite::{Connection, OptionalExtension, params};

use super::StoreError;
use super::digest::Digest;
use super::names::{ColumnName, quoted, quoted_list, rows_table};
use super::run_end::Generation;
use crate::model::{RunId, TaskName};

/// The newest generation that meets a condition on one text.
pub(super) fn find(connection: &Connection, condition: &str, text: &str) -> Result<Option<Generation>, StoreError> {
    let sql = format!("SELECT id, columns, rows, digest FROM _generation WHERE {condition} ORDER BY id DESC LIMIT 1");
    let found: Option<(i64, String, i64, Vec<u8>)> = connection
        .prepare_cached(&sql)?
        .query_row([text], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((id, columns, rows, digest)) = found else { return Ok(None) };
    let columns = serde_json::from_str(&columns).map_err(StoreError::invalid_value)?;
    Ok(Some(Generation { id, table: id, columns, key: None, rows, digest: Digest::from_bytes(&digest)? }))
}

/// As `find`, with the key columns. A database that is not migrated yet has no such column.
pub(super) fn find_with_key(
    connection: &Connection,
    condition: &str,
    text: &str,
) -> Result<Option<Generation>, StoreError> {
    let Some(mut generation) = find(connection, condition, text)? else { return Ok(None) };
    let key: Option<String> = connection
        .prepare_cached("SELECT key FROM _generation WHERE id = ?1")?
        .query_row([generation.id], |row| row.get(0))?;
    generation.key = key.map(|key| serde_json::from_str(&key).map_err(StoreError::invalid_value)).transpose()?;
    Ok(Some(generation))
}

/// The generation that a task's view shows.
pub(super) fn published(connection: &Connection, task: &TaskName) -> Result<Option<i64>, StoreError> {
    let found = connection
        .prepare_cached("SELECT published FROM _task WHERE name = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

/// Creates a table that no view shows yet.
pub(super) fn create(
    connection: &Connection,
    run: RunId,
    task: &TaskName,
    columns: &[ColumnName],
) -> Result<i64, StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO _generation (task, run, state, columns, rows, digest, last_seen)
             SELECT ?1, id, 'staging', '[]', 0, ?3, started FROM _runs WHERE id = ?2",
        )?
        .execute(params![task.as_str(), run.to_string(), Digest::default().to_bytes()])?;
    let generation = connection.last_insert_rowid();
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
