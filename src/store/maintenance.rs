//! Looking after the database: whether it takes a write, whether it is whole, and what is not kept any longer.

use std::ops::AddAssign;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::model::{TaskName, TimeSpan};

/// Runs, or runs' traces, that one step removes; a guess at what nobody notices, not measured.
pub(super) const RUNS_PER_STEP: u32 = 200;

/// Records of history after which a step has removed enough, on the same guess. A change goes whole, and has a hundred thousand at most:
/// of a million that takes SQLite 1.1 s of processor time.
pub(super) const RECORDS_PER_STEP: u32 = 5_000;

/// How much is kept of what is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Raw pages of one run.
    pub pages_per_run: u32,
    /// Runs that were not published, whose pages are kept beside those of the last good one.
    pub bad_runs: u32,
    /// Runs of a task.
    pub runs: u32,
    /// Older ones go, however few there are.
    pub max_run_age: TimeSpan,
    /// Runs of a task whose trace is kept.
    pub traces: u32,
    /// Sets of rows kept aside, until the task is published again.
    pub quarantined: u32,
    /// Of a task whose folder is gone this long only the published rows are kept.
    pub max_removed_age: TimeSpan,
    /// Records of a task's history, however long it is to be kept: the oldest changes go.
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
            // For finding out what just went wrong.
            traces: 20,
            quarantined: 3,
            max_removed_age: days(30),
            // Some 300 MB; 5,000 records that all change every minute come to as many in three hours.
            history_records: 1_000_000,
        }
    }
}

/// What a collection has removed, or would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcCounts {
    pub runs: u64,
    pub trace_lines: u64,
    pub pages: u64,
    pub page_bytes: u64,
    /// Sets of rows that were kept aside, or were published before the last ones.
    pub generations: u64,
    /// Records that history had something of, and publications.
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

/// Looking after the database.
pub trait Maintenance {
    fn set_retention(&mut self, keep: RetentionLimits);

    /// After a panic in the middle of some work: what that had begun is taken back.
    fn recover(&mut self) {}

    /// Writes down that the daemon is alive.
    fn record_alive(&mut self, now: DateTime<Utc>) -> Result<(), StoreError>;

    /// Looks through the whole database, however large, as far as that can be done from here.
    fn quick_check(&self) -> Result<(), StoreError>;

    /// What the file and its write-ahead log take up; none where a server keeps them.
    fn file_bytes(&self) -> Option<(u64, u64)>;
}

/// What is not kept any longer.
pub trait GarbageCollection {
    /// Removes some of what is not kept of a task; nothing is left when it answers with nothing. Published rows, and the
    /// runs that brought them, always stay.
    fn collect_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<GcCounts, StoreError>;

    /// What all steps together would remove. Nothing is changed: the transaction is taken back.
    fn count_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<GcCounts, StoreError>;
}
