//! The numbers behind a run's verdict, compared with the runs before it.

use crate::judge::{self, VerdictExplanation};
use crate::model::PastRun;
use crate::store::{Store, StoreError};
use crate::tasks::TaskFolder;

/// Runs that are read for comparison: all that are kept by default.
pub const MAX_PAST_RUNS: u32 = 1_000;

/// Explains a run's verdict by the task's current expectations.
pub fn account(store: &Store, folder: &TaskFolder, run: &PastRun) -> Result<VerdictExplanation, StoreError> {
    let past = store.past_verdicts(&folder.name, MAX_PAST_RUNS)?;
    let before: Vec<PastRun> =
        past.into_iter().filter(|it| it.started_at < run.started_at && it.run != run.run).collect();
    Ok(judge::explain(&folder.task.expect, &folder.task.columns, &run.verdict, &before))
}
