//! Verifies the published rows: each task's view is read as a reader would, and compared with the digest of its
//! generation. The storage itself is checked by the server.

use super::digest::{self, Digest};
use super::names::{ColumnName, view_texts};
use super::run_end::Generation;
use super::session::get;
use super::{Postgres, StoreError, decode, generation, view};
use crate::model::TaskName;

impl Postgres {
    pub(super) fn verify_published(&self) -> Result<(), StoreError> {
        for row in self.session.rows("SELECT name FROM _task ORDER BY name", &[])? {
            let task = decode::task_name(get(&row, 0)?)?;
            // One snapshot: a task may be published meanwhile.
            self.session.in_snapshot(|| self.verify(&task))?;
        }
        Ok(())
    }

    fn verify(&self, task: &TaskName) -> Result<(), StoreError> {
        let row = self.session.row("SELECT published FROM _task WHERE name = $1", &[&task.as_str()])?;
        let published: Option<i64> = row.map_or(Ok(None), |row| get(&row, 0))?;
        let damaged = |what: &str| StoreError::Damaged(format!("{what} of {task} are not as they were published"));
        match generation::published(&self.session, task)? {
            None if published.is_none() => Ok(()),
            Some(generation) if published == Some(generation.id) => {
                let is_same = self.view_digest(task, &generation)? == (generation.rows, generation.digest);
                if is_same { Ok(()) } else { Err(damaged("the rows")) }
            }
            None | Some(_) => Err(damaged("the records")),
        }
    }

    /// Row count and digest of a task's view.
    fn view_digest(&self, task: &TaskName, generation: &Generation) -> Result<(i64, Digest), StoreError> {
        let columns: Vec<&ColumnName> = generation.columns.iter().filter(|column| column.is_text()).collect();
        let separator = if columns.is_empty() { "" } else { ", " };
        let texts = view_texts(&generation.columns, &view::distinct_view_columns(&generation.columns));
        let sql = format!("SELECT _first_seen{separator}{texts} FROM {}", view::name(task));
        let (mut count, mut digest) = (0, Digest::default());
        self.session.each(&sql, &[], |row| {
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
}
