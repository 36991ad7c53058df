//! Verifies the published rows: each task's view is read as a reader would, and compared with the digest of its
//! generation. The storage itself is checked by the server.

use super::digest::{self, Digest};
use super::generation::Generation;
use super::names::{ColumnName, view_texts};
use super::session::get;
use super::{PgSession, SqlSession, StoreError, generation, view};
use crate::model::TaskName;
use crate::store::generation::published_id;

pub(super) fn verify_published(session: &PgSession) -> Result<(), StoreError> {
    for task in session.query("SELECT name FROM _task ORDER BY name", &[], |row| row.get(0))? {
        // One snapshot: a task may be published meanwhile.
        session.in_snapshot(|| verify(session, &task))?;
    }
    Ok(())
}

fn verify(session: &PgSession, task: &TaskName) -> Result<(), StoreError> {
    let published = published_id(session, task)?;
    let damaged = |what: &str| StoreError::Damaged(format!("{what} of {task} are not as they were published"));
    match generation::published(session, task)? {
        None if published.is_none() => Ok(()),
        Some(generation) if published == Some(generation.id) => {
            let is_same = view_digest(session, task, &generation)? == (generation.rows, generation.digest);
            if is_same { Ok(()) } else { Err(damaged("the rows")) }
        }
        None | Some(_) => Err(damaged("the records")),
    }
}

/// Row count and digest of a task's view.
fn view_digest(session: &PgSession, task: &TaskName, generation: &Generation) -> Result<(i64, Digest), StoreError> {
    let columns: Vec<&ColumnName> = generation.columns.iter().filter(|column| column.is_text()).collect();
    let separator = if columns.is_empty() { "" } else { ", " };
    let texts = view_texts(&generation.columns, &view::distinct_view_columns(&generation.columns));
    let sql = format!("SELECT _first_seen{separator}{texts} FROM {}", view::name(task));
    let (mut count, mut digest) = (0, Digest::default());
    session.each(&sql, &[], |row| {
        let mut cells = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            let cell: Option<&str> = get(row, index + 1)?;
            cells.extend(cell.map(|text| (column.stored.as_str(), text)));
        }
        digest.add(digest::record_digest(cells.into_iter()));
        count += 1;
        Ok(())
    })?;
    Ok((count, digest))
}
