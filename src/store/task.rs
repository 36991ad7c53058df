//! Task records: what the store keeps of a task besides its folder.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::model::{PastRun, TaskName};

/// One line of the status table, before judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRow {
    pub name: TaskName,
    pub title: Option<String>,
    pub paused: bool,
    /// The folder is gone; the rows are still there.
    pub removed: bool,
    pub next_due: Option<DateTime<Utc>>,
    /// The newest slot that had a run.
    pub last_slot: Option<DateTime<Utc>>,
    /// What is wrong with the folder.
    pub problem: Option<String>,
    pub published_rows: Option<u64>,
    /// Rows of the good run before the last good one.
    pub previous_rows: Option<u64>,
    pub last_run: Option<PastRun>,
    pub last_ok: Option<DateTime<Utc>>,
    pub fails_in_a_row: u32,
    pub running_since: Option<DateTime<Utc>>,
}

impl TaskRow {
    /// A task that the store does not know yet.
    pub fn unknown(name: TaskName) -> TaskRow {
        TaskRow {
            name,
            title: None,
            paused: false,
            removed: false,
            next_due: None,
            last_slot: None,
            problem: None,
            published_rows: None,
            previous_rows: None,
            last_run: None,
            last_ok: None,
            fails_in_a_row: 0,
            running_since: None,
        }
    }
}

/// State of a task folder, as found by a scan of tasks/.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderState {
    /// New, edited, repaired, or back again.
    Good {
        name: TaskName,
        title: Option<String>,
    },
    /// It cannot be read.
    Broken {
        name: TaskName,
        problem: String,
    },
    Gone {
        name: TaskName,
    },
}

/// Task records.
pub trait Tasks {
    /// The tasks that this store looks after: all it knows, or in a fleet those that this daemon owns.
    fn task_names(&self) -> Result<Vec<TaskName>, StoreError>;

    /// Records the result of a scan of tasks/ in one transaction: ten thousand new folders cost one wait for the disk.
    fn record_folder_states(&mut self, seen: &[FolderState], now: DateTime<Utc>) -> Result<(), StoreError>;

    /// Next due times of many tasks, in one transaction.
    fn set_all_next_due(&mut self, due: &[(TaskName, Option<DateTime<Utc>>)]) -> Result<(), StoreError>;

    /// Records that a folder exists: new, edited, or back again.
    fn upsert_task(&mut self, name: &TaskName, title: Option<&str>, now: DateTime<Utc>) -> Result<(), StoreError>;

    /// Records that a folder is gone. Its rows, its view and its runs stay.
    fn mark_task_removed(&mut self, name: &TaskName, now: DateTime<Utc>) -> Result<(), StoreError>;

    fn set_next_due(&mut self, name: &TaskName, due: Option<DateTime<Utc>>) -> Result<(), StoreError>;

    fn set_paused(&mut self, name: &TaskName, paused: bool) -> Result<(), StoreError>;

    /// Sets what is wrong with the folder, for the status table; `None` once it is repaired.
    fn set_problem(&mut self, name: &TaskName, problem: Option<&str>) -> Result<(), StoreError>;

    /// Every task ever seen, by name, in two queries.
    fn tasks(&self) -> Result<Vec<TaskRow>, StoreError>;
}
