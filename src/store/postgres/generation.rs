//! A generation: its row in `_generation`, and its rows in the table of its shape.

use tokio_postgres::types::ToSql;

use super::digest::Digest;
use super::names::{ColumnName, quoted, rows_table};
use super::run_end::Generation;
use super::session::get;
use super::{PgSession, StoreError, shape};
use crate::model::{RunId, TaskName};

/// Rows removed at a time: a large generation is removed in steps, so that others get their turn.
const ROWS_REMOVED_PER_STEP: i64 = 20_000;

/// The newest generation that meets a condition on one value.
pub(super) fn find(
    session: &PgSession,
    condition: &str,
    value: &(dyn ToSql + Sync),
) -> Result<Option<Generation>, StoreError> {
    let sql = format!(
        "SELECT id, shape, columns, rows, digest, key FROM _generation WHERE {condition} ORDER BY id DESC LIMIT 1"
    );
    let Some(row) = session.row(&sql, &[value])? else { return Ok(None) };
    let columns = serde_json::from_str(get(&row, 2)?).map_err(StoreError::invalid_value)?;
    let digest = Digest::from_bytes(get(&row, 4)?)?;
    let key: Option<&str> = get(&row, 5)?;
    let key = key.map(serde_json::from_str).transpose().map_err(StoreError::invalid_value)?;
    Ok(Some(Generation { id: get(&row, 0)?, table: get(&row, 1)?, columns, key, rows: get(&row, 3)?, digest }))
}

pub(super) fn published(session: &PgSession, task: &TaskName) -> Result<Option<Generation>, StoreError> {
    find(session, "task = $1 AND state = 'published'", &task.as_str())
}

/// Creates a generation that no view shows yet; returns its number and that of its table.
pub(super) fn create(
    session: &PgSession,
    run: RunId,
    task: &TaskName,
    columns: &[ColumnName],
) -> Result<(i64, i64), StoreError> {
    let table = shape::find_or_make(session, task, columns)?;
    let sql = "INSERT INTO _generation (task, run, state, shape, columns, rows, digest, last_seen)
               SELECT $1, id, 'staging', $3, '[]', 0, $4, started FROM _runs WHERE id = $2 RETURNING id";
    let digest = Digest::default().to_bytes();
    let generation = session.number(sql, &[&task.as_str(), &run.to_string(), &table, &digest.as_slice()])?;
    Ok((generation, table))
}

pub(super) fn set_state(session: &PgSession, generation: i64, state: &str) -> Result<(), StoreError> {
    session.execute("UPDATE _generation SET state = $2 WHERE id = $1", &[&generation, &state])?;
    Ok(())
}

/// The generations of a task that may be removed. There are none while the task is running: the run may have compared
/// its rows with them instead of writing its own, and has yet to copy them.
pub(super) fn removable(session: &PgSession, task: &TaskName) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT id FROM _generation WHERE task = $1 AND state = 'old'
                   AND NOT EXISTS (SELECT 1 FROM _runs WHERE task = $1 AND ended IS NULL) ORDER BY id";
    session.rows(sql, &[&task.as_str()])?.iter().map(|row| get(row, 0)).collect()
}

/// Removes a generation that no reader sees any longer: its rows in steps, and its own entry last, so that an
/// interrupted removal continues the next time.
pub(super) fn remove(session: &PgSession, generation: i64) -> Result<(), StoreError> {
    let sql = "SELECT shape FROM _generation WHERE id = $1 AND state = 'old'";
    let Some(row) = session.row(sql, &[&generation])? else { return Ok(()) };
    let table = quoted(&rows_table(get(&row, 0)?));
    let last = format!("SELECT coalesce(max(_n), 0) FROM {table} WHERE _generation = $1");
    let mut left = session.number(&last, &[&generation])?;
    let delete = format!("DELETE FROM {table} WHERE _generation = $1 AND _n > $2");
    while left > 0 {
        left = (left - ROWS_REMOVED_PER_STEP).max(0);
        session.execute(&delete, &[&generation, &left])?;
    }
    session.execute("DELETE FROM _generation WHERE id = $1 AND state = 'old'", &[&generation])?;
    Ok(())
}
