//! The numbers behind a run's verdict, beside the runs before it.

use crate::judge::{self, Account};
use crate::model::{PastRun, TaskName};
use crate::store::{Store, StoreError};
use crate::taskdir::TaskFolder;

/// Runs that are looked through for the good ones before: all that are kept by default.
pub const LOOKED_THROUGH: u32 = 1_000;

/// Accounts for a run's verdict by what the task expects now.
pub fn account(store: &Store, folder: &TaskFolder, run: &PastRun) -> Result<Account, StoreError> {
    let past = store.past(&folder.name, LOOKED_THROUGH)?;
    let before: Vec<PastRun> =
        past.into_iter().filter(|it| it.started_at < run.started_at && it.run != run.run).collect();
    Ok(judge::account(&folder.task.expect, &folder.task.columns, &run.verdict, &before))
}

/// The runs whose ids begin so.
pub fn named(store: &Store, name: &TaskName, id: &str) -> Result<Vec<PastRun>, StoreError> {
    let past = store.past(name, LOOKED_THROUGH)?;
    Ok(past.into_iter().filter(|run| run.run.to_string().starts_with(id)).collect())
}
