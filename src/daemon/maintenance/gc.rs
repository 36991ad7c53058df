//! Garbage collection of the store, in short steps: between two of them the store's thread does other work.

use chrono::Utc;

use crate::config::Config;
use crate::store::{GcCounts, RetentionLimits, StoreError};

use crate::daemon::store_handle::StoreHandle;

/// A safety limit far above any task's need; what is left is removed the next day.
const MAX_STEPS_A_TASK: usize = 10_000;

/// Collects the garbage of all tasks; with `dry_run` only counts it.
pub async fn collect(store_handle: &StoreHandle, dry_run: bool) -> Result<GcCounts, StoreError> {
    let mut all = GcCounts::default();
    for task in store_handle.call(|store| store.task_names()).await? {
        for _ in 0..MAX_STEPS_A_TASK {
            let task = task.clone();
            let step = store_handle.call(move |store| match dry_run {
                true => store.count_garbage(&task, Utc::now()),
                false => store.collect_garbage(&task, Utc::now()),
            });
            let collected = step.await?;
            all += collected;
            if dry_run || collected.is_zero() {
                break;
            }
        }
    }
    Ok(all)
}

/// The store's retention limits from config.toml.
pub fn retention(config: &Config) -> RetentionLimits {
    RetentionLimits {
        pages_per_run: config.pages.a_run,
        bad_runs: config.pages.bad_runs,
        runs: config.keep.runs,
        max_run_age: config.keep.runs_for,
        traces: config.keep.traces,
        quarantined: config.keep.quarantined,
        max_removed_age: config.keep.removed_for,
        ..RetentionLimits::default()
    }
}
