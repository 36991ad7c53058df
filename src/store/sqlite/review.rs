//! Access to unpublished rows, for `store/review.rs`.

use rusqlite::OptionalExtension;

use super::decode::run_id;
use super::{Sqlite, StoreError, gc, generation};
use crate::model::{RunId, TaskName};
use crate::store::review::UnpublishedGenerations;
use crate::store::{BrowseQuery, Rows};

impl UnpublishedGenerations for Sqlite {
    fn newest_run_in_state(&self, task: &TaskName, state: &'static str) -> Result<Option<RunId>, StoreError> {
        let found: Option<String> = self
            .connection
            .prepare_cached("SELECT run FROM _generation WHERE task = ?1 AND state = ?2 ORDER BY id DESC LIMIT 1")?
            .query_row([task.as_str(), state], |row| row.get(0))
            .optional()?;
        found.map(|run| run_id(&run)).transpose()
    }

    fn rows_in_state(
        &self,
        run: RunId,
        state: &'static str,
        limit: u64,
        offset: u64,
    ) -> Result<Option<Rows>, StoreError> {
        let part = BrowseQuery { limit, offset, ..BrowseQuery::default() };
        self.rows(&format!("run = ?1 AND state = '{state}'"), &run.to_string(), &part)
    }

    fn drop_quarantined_rows(&mut self, task: &TaskName) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        while let Some(found) = generation::find(&transaction, "task = ?1 AND state = 'quarantined'", task.as_str())? {
            gc::drop_generation(&transaction, found.id)?;
        }
        Ok(transaction.commit()?)
    }
}
