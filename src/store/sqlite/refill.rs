//! Publishes a small generation into existing tables. Creating and dropping tables and views costs a walk over the
//! whole schema each, 40 ms a run with 3,000 tasks, and makes every reader parse it again; moving some thousand rows
//! costs a few. So the published table gives its rows to the previous one and takes the new ones, in one transaction.

use rusqlite::Connection;

use super::generation::{self, Generation, RowTables};
use super::names::{quoted, rows_table};
use super::stage::StagedRows;
use super::{StoreResult, keys};
use crate::model::TaskName;
use crate::store::changes::MAX_INLINE_ROWS;
use crate::store::sql::SqlSession;

/// The two tables of a task, if they have the columns of the new rows.
pub(super) struct ReusableTables {
    published: i64,
    previous: i64,
}

/// The tables to reuse, if there are two that fit.
pub(super) fn reusable_tables(
    connection: &Connection,
    task: &TaskName,
    staged: &StagedRows,
    published: Option<&Generation>,
) -> StoreResult<Option<ReusableTables>> {
    let fits = |old: &Generation| old.columns == staged.batch.columns;
    let is_small = |rows: i64| rows <= MAX_INLINE_ROWS;
    let Some(published) = published.filter(|old| fits(old) && is_small(old.rows)) else { return Ok(None) };
    if !staged.is_all_in_memory() || !is_small(staged.batch.rows) {
        return Ok(None);
    }
    let previous = generation::replaced_with_key(connection, task)?;
    Ok(previous.filter(fits).map(|previous| ReusableTables { published: published.id, previous: previous.id }))
}

pub(super) fn publish(
    transaction: &Connection,
    tables: ReusableTables,
    staged: &StagedRows,
    replaced_state: &str,
) -> StoreResult<()> {
    let ReusableTables { published, previous } = tables;
    let (shown, kept) = (quoted(&rows_table(published)), quoted(&rows_table(previous)));
    let columns = format!("_key, _first_seen, _page{}", Connection::cells_sql(&staged.batch.columns, |_| true));
    transaction.execute_batch(&format!(
        "DELETE FROM {kept}; INSERT INTO {kept} ({columns}) SELECT {columns} FROM {shown} ORDER BY _rowid_"
    ))?;
    let sql = "UPDATE _generation SET (run, rows, digest, last_seen, key) =
                   (SELECT run, rows, digest, last_seen, key FROM _generation WHERE id = $1) WHERE id = $2";
    transaction.modify(sql, &[&published, &previous])?;
    generation::set_state(transaction, previous, replaced_state)?;
    keys::delete_blocks(transaction, previous)?;
    // Looked up while the old rows, which have the times, are still there.
    let first_seen = staged.first_seen(transaction, Some(published))?;
    transaction.execute(&format!("DELETE FROM {shown}"), [])?;
    staged.insert_pending(transaction, published, &first_seen)?;
    generation::write_metadata(transaction, published, &staged.batch)
}
