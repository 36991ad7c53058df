//! Access to unpublished rows, for `store/review.rs`.

use super::{Sqlite, StoreError, generation, rows};
use crate::model::{RunId, TaskName};
use crate::store::review::UnpublishedGenerations;
use crate::store::sql::SqlSession;
use crate::store::{BrowseQuery, Rows};

impl UnpublishedGenerations for Sqlite {
    fn rows_in_state(
        &self,
        run: RunId,
        state: &'static str,
        limit: u64,
        offset: u64,
    ) -> Result<Option<Rows>, StoreError> {
        let part = BrowseQuery { limit, offset, ..BrowseQuery::default() };
        rows::read(&self.connection, &format!("run = $1 AND state = '{state}'"), &run, &part)
    }

    fn drop_quarantined_rows(&mut self, task: &TaskName) -> Result<(), StoreError> {
        let connection = &self.connection;
        connection.in_transaction(|| {
            while let Some(found) = generation::find(connection, "task = $1 AND state = 'quarantined'", task)? {
                generation::remove(connection, found.id)?;
            }
            Ok(())
        })
    }
}
