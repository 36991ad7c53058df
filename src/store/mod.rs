//! EDGE: the database, the only SQL. SQLite with a write-ahead log; one writer (the daemon), any number of readers.
//!
//! ```text
//! begin_run → stage_rows … → end_run ─┬ published:   the view named as the task moves to the new rows, in one short transaction
//!                                     ├ unchanged:   the rows stay, `_run` and `_last_seen` move
//!                                     ├ quarantined: the rows are kept aside
//!                                     └ empty, failed: the rows are dropped
//! ```
//!
//! A generation is a table `_rows_N`; while it is staged no view leads to it.
//! All our own tables start with `_`, which no task's name does.

mod error;
mod alive;
mod open;
mod verify;
mod schema;
mod names;
mod digest;
mod keys;
mod known;
mod generation;
mod stage;
mod log;
mod publish;
mod refill;
mod owed;
mod runs;
mod trace;
mod tasks;
mod alerts;
mod gc;
mod rows;
mod aside;
mod stamp;

use std::collections::HashMap;

use rusqlite::Connection;

use crate::model::{RunId, Span};

pub use alerts::{Delivery, Letter, Outgoing, Told, Watched, Which};
pub use aside::Resort;
pub use error::StoreError;
pub use gc::Collected;
pub use rows::Rows;
pub use runs::{Begun, RunRow, RunStart, Trigger};
pub use tasks::{Seen, TaskRow};

/// The database, opened for writing or for reading.
pub struct Store {
    connection: Connection,
    keep: Keep,
    /// The rows of the runs that are going.
    staged: HashMap<RunId, stage::Staged>,
    /// Ends of runs that could not be written down yet.
    owed: Vec<owed::Owed>,
    /// The file that was opened for writing.
    home: Option<open::Home>,
    /// Tells a run of before a reboot from one whose process id was given out again.
    boot: Option<String>,
}

/// How much is kept of what is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Raw pages of one run.
    pub pages_a_run: u32,
    /// Runs that were not published, whose pages are kept beside those of the last good one.
    pub bad_runs: u32,
    /// Runs of a task.
    pub runs: u32,
    /// Older ones go, however few there are.
    pub runs_for: Span,
    /// Runs of a task whose trace is kept.
    pub traces: u32,
    /// Sets of rows kept aside, until the task is published again.
    pub quarantined: u32,
    /// Of a task whose folder is gone this long only the published rows are kept.
    pub removed_for: Span,
}

impl Default for Keep {
    fn default() -> Keep {
        let days = |days: u64| Span::seconds(days * 86_400);
        Keep {
            pages_a_run: 20,
            bad_runs: 5,
            // A task that runs every minute keeps most of a day; one every six hours keeps eight months.
            runs: 1_000,
            runs_for: days(400),
            // For finding out what just went wrong.
            traces: 20,
            quarantined: 3,
            removed_for: days(30),
        }
    }
}

impl Store {
    pub fn set_keep(&mut self, keep: Keep) {
        self.keep = keep;
    }
}

#[cfg(test)]
mod tests;
