//! Access to unpublished rows, for `store/review.rs`.

use super::{Postgres, StoreError, generation, rows};
use crate::model::{RunId, TaskName};
use crate::store::Rows;
use crate::store::review::UnpublishedGenerations;

impl UnpublishedGenerations for Postgres {
    fn rows_in_state(
        &self,
        run: RunId,
        state: &'static str,
        limit: u64,
        offset: u64,
    ) -> Result<Option<Rows>, StoreError> {
        rows::read(&self.session, &format!("run = $1 AND state = '{state}'"), &run, limit, offset)
    }

    fn drop_quarantined_rows(&mut self, task: &TaskName) -> Result<(), StoreError> {
        generation::drop_quarantined(&self.session, task, 0)?;
        generation::remove_all_old(&self.session, task)
    }
}
