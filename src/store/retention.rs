//! How much is kept of what is not published.

use crate::model::TimeSpan;

/// Retention limits of what is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Raw pages of one run.
    pub pages_per_run: u32,
    /// Unpublished runs whose pages are kept, in addition to those of the last good run.
    pub bad_runs: u32,
    /// Runs of a task.
    pub runs: u32,
    /// Older runs are removed, however few there are.
    pub max_run_age: TimeSpan,
    /// Runs of a task whose trace is kept.
    pub traces: u32,
    /// Quarantined generations, until the task is published again.
    pub quarantined: u32,
    /// Once a task's folder has been gone for this long, only its published rows are kept.
    pub max_removed_age: TimeSpan,
    /// Records of a task's history, whatever its `data.history` says: the oldest changes are removed first.
    pub history_records: u64,
}

impl Default for RetentionLimits {
    fn default() -> RetentionLimits {
        let days = |days: u64| TimeSpan::seconds(days * 86_400);
        RetentionLimits {
            pages_per_run: 20,
            bad_runs: 5,
            // A task that runs every minute keeps most of a day; one every six hours keeps eight months.
            runs: 1_000,
            max_run_age: days(400),
            // For finding the cause of recent failures.
            traces: 20,
            quarantined: 3,
            max_removed_age: days(30),
            // Some 300 MB; 5,000 records that all change every minute come to as many in three hours.
            history_records: 1_000_000,
        }
    }
}
