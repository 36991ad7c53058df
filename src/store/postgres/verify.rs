//! Verifies the published rows. The storage itself is checked by the server.

use super::{PgSession, SqlSession, StoreResult, view};
use crate::model::TaskName;
use crate::store::generation::published_id;
use crate::store::names::ColumnName;
use crate::store::verify::{TaskViews, verify};

impl TaskViews for PgSession {
    fn view_name(task: &str) -> String {
        view::name(task)
    }

    fn view_columns(columns: &[ColumnName]) -> Vec<(usize, String)> {
        view::distinct_view_columns(columns)
    }
}

pub(super) fn verify_published(session: &PgSession) -> StoreResult<()> {
    let tasks: Vec<TaskName> = session.query("SELECT name FROM _task ORDER BY name", &[], |row| row.get(0))?;
    // One snapshot each: a task may be published meanwhile.
    tasks
        .iter()
        .try_for_each(|task| session.in_snapshot(|| verify(session, task.as_str(), published_id(session, task)?)))
}
