//! Rows that are not published, for `store/aside.rs` to do with what a person wants.

use super::session::get;
use super::stored::run_id;
use super::{Postgres, StoreError, publish};
use crate::model::{RunId, TaskName};
use crate::store::Rows;
use crate::store::aside::Generations;

impl Generations for Postgres {
    fn newest_in(&self, task: &TaskName, state: &'static str) -> Result<Option<RunId>, StoreError> {
        let sql = "SELECT run FROM _generation WHERE task = $1 AND state = $2 ORDER BY id DESC LIMIT 1";
        self.session.row(sql, &[&task.as_str(), &state])?.map(|row| run_id(get(&row, 0)?)).transpose()
    }

    fn rows_in(&self, run: RunId, state: &'static str, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError> {
        self.rows(&format!("run = $1 AND state = '{state}'"), &run.to_string(), limit, offset)
    }

    fn drop_aside(&mut self, task: &TaskName) -> Result<(), StoreError> {
        publish::drop_quarantined(&self.session, task, 0)?;
        self.sweep(task)
    }
}
