//! Verifies the published rows. SQLite detects damage to its own structure, but a flipped bit in a text looks like
//! another text; the digest of each generation detects that.

use rusqlite::Connection;

use super::digest::{self, Digest};
use super::generation::{self, Generation};
use super::names::{ColumnName, quoted, view_columns, view_texts};
use super::{StoreError, timestamp};

/// The tables that say what is published; small enough to compare their indexes with them entry by entry.
const PUBLICATION_TABLES: &[&str] = &["_task", "_generation"];

/// Runs a check of SQLite's own.
pub(super) fn check(connection: &Connection, pragma: &str) -> Result<(), StoreError> {
    let answer: String = connection.query_row(pragma, [], |row| row.get(0))?;
    if answer == "ok" { Ok(()) } else { Err(StoreError::Damaged(answer)) }
}

/// Reads every task's view as a reader would, and compares it with the digest that was recorded when it was published.
pub(super) fn verify_published(connection: &Connection) -> Result<(), StoreError> {
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

fn verify(connection: &Connection, task: &str, published: Option<i64>) -> Result<(), StoreError> {
    let found = generation::find(connection, "task = $1 AND state = 'published'", &task)?;
    let damaged = |what: &str| Err(StoreError::Damaged(format!("{what} of {task} are not as they were published")));
    match found {
        None if published.is_none() => Ok(()),
        Some(generation) if published == Some(generation.id) => {
            let (rows, digest) = view_digest(connection, task, &generation)?;
            if (rows, digest) == (generation.rows, generation.digest) { Ok(()) } else { damaged("the rows") }
        }
        None | Some(_) => damaged("the records"),
    }
}

/// Row count and digest of a task's view.
fn view_digest(connection: &Connection, task: &str, generation: &Generation) -> Result<(i64, Digest), StoreError> {
    let columns: Vec<&ColumnName> = generation.columns.iter().filter(|column| column.is_text()).collect();
    let separator = if columns.is_empty() { "" } else { ", " };
    let sql = format!(
        "SELECT _first_seen{separator}{} FROM {}",
        view_texts(&generation.columns, &view_columns(&generation.columns)),
        quoted(task)
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let (mut count, mut digest) = (0, Digest::default());
    while let Some(row) = rows.next()? {
        let text = |index| row.get_ref(index).map(|cell| cell.as_str_or_null());
        let strange = |what: &str| StoreError::Damaged(format!("{what} of {task} is invalid"));
        let Ok(Some(first_seen)) = text(0)? else { return Err(strange("_first_seen")) };
        timestamp::parse(first_seen).map_err(|_| strange("_first_seen"))?;
        let mut cells = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            let cell = text(index + 1)?.map_err(|_| strange(&column.stored))?;
            cells.extend(cell.map(|text| (column.stored.as_str(), text)));
        }
        digest.add(digest::record_digest(cells.iter().copied()));
        count += 1;
    }
    Ok((count, digest))
}
