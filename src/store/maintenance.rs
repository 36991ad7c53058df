//! Maintenance of the database: write test, integrity check, and garbage collection.

use std::ops::AddAssign;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::model::{TaskName, TimeSpan};

/// Runs, or traces of runs, that one step removes; an estimate of what nobody notices, not measured.
pub(super) const RUNS_PER_STEP: u32 = 200;

/// Records of history after which a step ends, by the same estimate. A change is removed whole, and has 100,000 records
/// at most: of a million that takes SQLite 1.1 s of processor time.
pub(super) const RECORDS_PER_STEP: u32 = 5_000;

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

/// What garbage collection has removed, or would remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcCounts {
    pub runs: u64,
    pub trace_lines: u64,
    pub pages: u64,
    pub page_bytes: u64,
    /// Generations that were quarantined, or published before the current one.
    pub generations: u64,
    /// Records of the history, and change sets.
    pub changes: u64,
}

impl GcCounts {
    pub fn is_zero(&self) -> bool {
        *self == GcCounts::default()
    }
}

impl AddAssign for GcCounts {
    fn add_assign(&mut self, more: GcCounts) {
        self.runs += more.runs;
        self.trace_lines += more.trace_lines;
        self.pages += more.pages;
        self.page_bytes += more.page_bytes;
        self.generations += more.generations;
        self.changes += more.changes;
    }
}

/// Maintenance of the database.
pub trait Maintenance {
    fn set_retention(&mut self, keep: RetentionLimits);

    /// After a panic in the middle of a transaction: rolls it back.
    fn recover(&mut self) {}

    /// Records that the daemon is alive.
    fn record_alive(&mut self, now: DateTime<Utc>) -> Result<(), StoreError>;

    /// Checks the integrity of the whole database, whatever its size, as far as that is possible from here.
    fn quick_check(&self) -> Result<(), StoreError>;

    /// Sizes of the file and of its write-ahead log; none where a server keeps them.
    fn file_bytes(&self) -> Option<(u64, u64)>;
}

/// Removes what is no longer kept.
pub trait GarbageCollection {
    /// Removes some of a task's garbage; nothing is left once all counts are zero. Published rows, and the runs that
    /// brought them, always stay.
    fn collect_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<GcCounts, StoreError>;

    /// Counts what all steps together would remove, in a transaction that is rolled back.
    fn count_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<GcCounts, StoreError>;
}
