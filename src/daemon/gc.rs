//! Removing what is not kept any longer, in steps so small that nobody waits: between two of them the store's thread does
//! what others have asked for.

use chrono::Utc;

use crate::config::Config;
use crate::store::{Collected, Keep, StoreError};

use super::keeper::Keeper;

/// No task has so much to remove; one that seems to is left to the next day.
const MAX_STEPS_A_TASK: usize = 10_000;

/// Goes through all tasks; with `dry_run` only says what would go.
pub async fn collect(keeper: &Keeper, dry_run: bool) -> Result<Collected, StoreError> {
    let mut all = Collected::default();
    for task in keeper.ask(|store| store.task_names()).await? {
        for _ in 0..MAX_STEPS_A_TASK {
            let task = task.clone();
            let step = keeper.ask(move |store| match dry_run {
                true => store.would_collect(&task, Utc::now()),
                false => store.collect(&task, Utc::now()),
            });
            let collected = step.await?;
            all += collected;
            if dry_run || collected.is_nothing() {
                break;
            }
        }
    }
    Ok(all)
}

/// What config.toml says, in the store's words.
pub fn keep(config: &Config) -> Keep {
    Keep {
        pages_a_run: config.pages.a_run,
        bad_runs: config.pages.bad_runs,
        runs: config.keep.runs,
        runs_for: config.keep.runs_for,
        traces: config.keep.traces,
        quarantined: config.keep.quarantined,
        removed_for: config.keep.removed_for,
        ..Keep::default()
    }
}
