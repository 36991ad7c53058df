//! Verifies the published rows: a task's view is read as a reader would, and compared with the digest that was recorded
//! when its generation was published.

use chrono::{DateTime, Utc};

use super::digest::{self, Digest};
use super::generation::{self, Generation};
use super::names::{ColumnName, view_texts};
use super::sql::SqlSession;
use super::{StoreError, StoreResult, names};

/// Views of tasks, which the databases name differently.
pub(super) trait TaskViews: SqlSession {
    /// The name of a task's view, as SQL text.
    fn view_name(task: &str) -> String {
        names::quoted(task)
    }

    /// The columns of a view under their names there.
    fn view_columns(columns: &[ColumnName]) -> Vec<(usize, String)> {
        names::view_columns(columns)
    }
}

/// Verifies the rows of a task; `published` is the generation that it says is published.
pub(super) fn verify(session: &impl TaskViews, task: &str, published: Option<i64>) -> StoreResult<()> {
    let damaged = |what: &str| Err(StoreError::Damaged(format!("{what} of {task} are not as they were published")));
    match generation::find(session, "task = $1 AND state = 'published'", &task)? {
        None if published.is_none() => Ok(()),
        Some(generation) if published == Some(generation.id) => {
            let is_same = view_digest(session, task, &generation)? == (generation.rows, generation.digest);
            if is_same { Ok(()) } else { damaged("the rows") }
        }
        None | Some(_) => damaged("the records"),
    }
}

/// Row count and digest of a task's view.
fn view_digest<S: TaskViews>(session: &S, task: &str, generation: &Generation) -> StoreResult<(i64, Digest)> {
    let names = generation.texts();
    let separator = if names.is_empty() { "" } else { ", " };
    let texts = view_texts(&generation.columns, &S::view_columns(&generation.columns));
    let sql = format!("SELECT _first_seen{separator}{texts} FROM {}", S::view_name(task));
    let strange = |what: &str| StoreError::Damaged(format!("{what} of {task} is invalid"));
    let (mut count, mut digest) = (0, Digest::default());
    session.query_each(&sql, &[], |row| {
        row.get::<DateTime<Utc>>(0).map_err(|_| strange("_first_seen"))?;
        let mut cells = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            cells.extend(row.text(index + 1).map_err(|_| strange(name))?.map(|text| (*name, text)));
        }
        digest.add(digest::record_digest(cells.into_iter()));
        count += 1;
        Ok(())
    })?;
    Ok((count, digest))
}
