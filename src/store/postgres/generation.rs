//! A generation's rows, in the table of its shape. Its entry in `_generation` is `store/generation.rs`.

use super::digest::Digest;
use super::names::{ColumnName, quoted, rows_table};
use super::view::{PgType, column_name};
use super::{PgSession, SqlSession, StoreResult, shape};
use crate::model::{RunId, TaskName};

pub(super) use crate::store::generation::{
    Generation, RowTables, confirm, drop_quarantined, drop_replaced, drop_staged, published, published_with_key,
    set_state, state_when_replaced_by, write_metadata,
};

/// Rows removed at a time: a large generation is removed in steps, so that others get their turn.
const ROWS_REMOVED_PER_STEP: i64 = 20_000;

impl RowTables for PgSession {
    const ROW_NUMBER: &'static str = "_n";

    fn rows_sql(generation: &Generation) -> String {
        format!("{} WHERE _generation = {}", quoted(&rows_table(generation.table)), generation.id)
    }

    /// Amounts of money are read as JSON numbers.
    fn cell_sql(at: usize, column: &ColumnName) -> String {
        match PgType::of(column) {
            PgType::Numeric => format!("{}::double precision", column_name(at)),
            PgType::Text | PgType::Bigint | PgType::Double | PgType::Boolean => column_name(at),
        }
    }
}

/// Creates a generation that no view shows yet; returns its number and that of its table.
pub(super) fn create(
    session: &PgSession,
    run: RunId,
    task: &TaskName,
    columns: &[ColumnName],
) -> StoreResult<(i64, i64)> {
    let table = shape::find_or_make(session, task, columns)?;
    let sql = "INSERT INTO _generation (task, run, state, shape, columns, rows, digest, last_seen)
               SELECT $1, id, 'staging', $3, '[]', 0, $4, started FROM _runs WHERE id = $2 RETURNING id";
    let digest = Digest::default().to_bytes();
    let generation = session.query_number(sql, &[task, &run, &table, &digest.as_slice()])?;
    Ok((generation, table))
}

/// The generations of a task that may be removed. There are none while the task is running: the run may have compared
/// its rows with them instead of writing its own, and has yet to copy them.
pub(super) fn removable(session: &PgSession, task: &TaskName) -> StoreResult<Vec<i64>> {
    let sql = "SELECT id FROM _generation WHERE task = $1 AND state = 'old'
                   AND NOT EXISTS (SELECT 1 FROM _runs WHERE task = $1 AND ended IS NULL) ORDER BY id";
    session.query(sql, &[task], |row| row.get(0))
}

/// Removes a generation that no reader sees any longer: its rows in steps, and its own entry last, so that an
/// interrupted removal continues the next time.
pub(super) fn remove(session: &PgSession, generation: i64) -> StoreResult<()> {
    let sql = "SELECT shape FROM _generation WHERE id = $1 AND state = 'old'";
    let Some(shape) = session.query_first(sql, &[&generation], |row| row.get(0))? else { return Ok(()) };
    let table = quoted(&rows_table(shape));
    let last = format!("SELECT coalesce(max(_n), 0) FROM {table} WHERE _generation = $1");
    let mut left = session.query_number(&last, &[&generation])?;
    let delete = format!("DELETE FROM {table} WHERE _generation = $1 AND _n > $2");
    while left > 0 {
        left = (left - ROWS_REMOVED_PER_STEP).max(0);
        session.execute(&delete, &[&generation, &left])?;
    }
    session.apply("DELETE FROM _generation WHERE id = $1 AND state = 'old'", &[&generation])
}

/// Removes all generations of a task that may be removed, and the tables that are then unused.
pub(super) fn remove_all_old(session: &PgSession, task: &TaskName) -> StoreResult<()> {
    for old in removable(session, task)? {
        remove(session, old)?;
    }
    shape::drop_unused(session, task)
}
