//! Verifies the published rows. SQLite detects damage to its own structure, but a flipped bit in a text looks like
//! another text; the digest of each generation detects that.

use rusqlite::Connection;

use super::{StoreError, StoreResult};
use crate::store::verify::{TaskViews, verify};

impl TaskViews for Connection {}

/// The tables that say what is published; small enough to compare their indexes with them entry by entry.
const PUBLICATION_TABLES: &[&str] = &["_task", "_generation"];

/// Runs a check of SQLite's own.
pub(super) fn check(connection: &Connection, pragma: &str) -> StoreResult<()> {
    let answer: String = connection.query_row(pragma, [], |row| row.get(0))?;
    if answer == "ok" { Ok(()) } else { Err(StoreError::Damaged(answer)) }
}

/// Reads every task's view as a reader would, and compares it with the digest that was recorded when it was published.
pub(super) fn verify_published(connection: &Connection) -> StoreResult<()> {
    for table in PUBLICATION_TABLES {
        check(connection, &format!("PRAGMA integrity_check({table})"))?;
        let loose = connection.prepare(&format!("PRAGMA foreign_key_check({table})"))?.exists([])?;
        if loose {
            return Err(StoreError::Damaged(format!("{table} refers to a missing row")));
        }
    }
    let mut statement = connection.prepare("SELECT name, published FROM _task")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        verify(connection, &row.get::<_, String>(0)?, row.get(1)?)?;
    }
    Ok(())
}
