//! Access to unpublished rows, for `store/review.rs`.

use super::decode::run_id;
use super::session::get;
use super::{Postgres, StoreError, publish};
use crate::model::{RunId, TaskName};
use crate::store::Rows;
use crate::store::review::UnpublishedGenerations;

impl UnpublishedGenerations for Postgres {
    fn newest_run_in_state(&self, task: &TaskName, state: &'static str) -> Result<Option<RunId>, StoreError> {
        let sql = "SELECT run FROM _generation WHERE task = $1 AND state = $2 ORDER BY id DESC LIMIT 1";
        self.session.row(sql, &[&task.as_str(), &state])?.map(|row| run_id(get(&row, 0)?)).transpose()
    }

    fn rows_in_state(
        &self,
        run: RunId,
        state: &'static str,
        limit: u64,
        offset: u64,
    ) -> Result<Option<Rows>, StoreError> {
        self.rows(&format!("run = $1 AND state = '{state}'"), &run.to_string(), limit, offset)
    }

    fn drop_quarantined_rows(&mut self, task: &TaskName) -> Result<(), StoreError> {
        publish::drop_quarantined(&self.session, task, 0)?;
        self.remove_old_generations(task)
    }
}
