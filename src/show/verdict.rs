//! The numbers behind a run's verdict, compared with the runs before it.

use crate::daemon::runs::baseline;
use crate::judge::{self, VerdictExplanation};
use crate::model::PastRun;
use crate::store::{Store, StoreError};
use crate::tasks;
use crate::tasks::TaskFolder;

/// Runs that are read for comparison: all that are kept by default.
pub const MAX_PAST_RUNS: u32 = 1_000;

/// Explains a run's verdict by the task's current expectations.
pub fn account(store: &Store, folder: &TaskFolder, run: &PastRun) -> Result<VerdictExplanation, StoreError> {
    let past = store.past_verdicts(&folder.name, MAX_PAST_RUNS)?;
    let is_before = |it: &PastRun| it.started_at < run.started_at && it.run != run.run;
    let good = past.into_iter().filter(|it| is_before(it) && it.verdict.outcome.is_published()).collect();
    // Mistakes in labels.toml are reported by the runs.
    let mut labels = tasks::read_labels(&folder.dir).unwrap_or_default();
    labels.labels.retain(|label| label.labelled_at() < run.started_at);
    let before = baseline::since_label(good, &labels, folder);
    Ok(judge::explain(&folder.task.expect, &folder.task.columns, &run.verdict, &before))
}
