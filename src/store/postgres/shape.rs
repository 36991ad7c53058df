//! Shapes: a set of columns of a task, and the table for rows with these columns. A task's columns change only when a
//! person changes them, so most publications create no table.

use super::names::{ColumnName, quoted, rows_table};
use super::view::{PgType, column_name};
use super::{PgSession, SqlSession, StoreError, StoreResult};
use crate::model::TaskName;

/// Finds the shape with these columns, or creates it.
pub(super) fn find_or_make(session: &PgSession, task: &TaskName, columns: &[ColumnName]) -> StoreResult<i64> {
    let json = serde_json::to_string(columns).map_err(StoreError::invalid_value)?;
    // Locked, so that nobody drops it before there are rows in it.
    let sql = "SELECT id FROM _shape WHERE task = $1 AND columns = $2 ORDER BY id LIMIT 1 FOR UPDATE";
    if let Some(found) = session.query_first(sql, &[task, &json], |row| row.get(0))? {
        return Ok(found);
    }
    let sql = "INSERT INTO _shape (task, columns) VALUES ($1, $2) RETURNING id";
    let shape = session.query_number(sql, &[&task.as_str(), &json])?;
    make_table(session, shape, columns)?;
    Ok(shape)
}

fn make_table(session: &PgSession, shape: i64, columns: &[ColumnName]) -> StoreResult<()> {
    let typed = columns.iter().enumerate().map(|(at, it)| format!(", {} {}", column_name(at), PgType::of(it).word()));
    let (table, typed) = (quoted(&rows_table(shape)), typed.collect::<String>());
    session.batch(&format!(
        "CREATE TABLE {table} (_generation bigint NOT NULL, _n bigint NOT NULL, _key bytea NOT NULL,
             _first_seen timestamptz NOT NULL, _page bigint NOT NULL{typed}, PRIMARY KEY (_generation, _n));
         CREATE INDEX {} ON {table} (_generation, _key)",
        quoted(&format!("_rows_{shape}_key"))
    ))
}

/// Drops the tables that have no generation of a task. A table that a reader still uses is dropped the next time.
pub(super) fn drop_unused(session: &PgSession, task: &TaskName) -> StoreResult<()> {
    let unused =
        "SELECT id FROM _shape s WHERE task = $1 AND NOT EXISTS (SELECT 1 FROM _generation WHERE shape = s.id)";
    for shape in session.query(unused, &[task], |row| row.get::<i64>(0))? {
        session.in_transaction(|| {
            // Refused where a generation was added meanwhile.
            session.execute("DELETE FROM _shape WHERE id = $1", &[&shape])?;
            session
                .batch(&format!("SET LOCAL lock_timeout TO '1s'; DROP TABLE IF EXISTS {}", quoted(&rows_table(shape))))
        })?;
    }
    Ok(())
}
