//! Tasks: what is known of each besides its folder.

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
    /// The folder is gone; the rows are not.
    pub removed: bool,
    pub next_due: Option<DateTime<Utc>>,
    /// The newest slot that had a run.
    pub last_slot: Option<DateTime<Utc>>,
    /// What is wrong with the folder as it stands.
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
    /// A task that the store has never heard of.
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

/// What a look at tasks/ has found of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderState {
    /// New, edited, mended, or back again.
    Good {
        name: TaskName,
        title: Option<String>,
    },
    /// It cannot be read as it stands.
    Broken {
        name: TaskName,
        problem: String,
    },
    Gone {
        name: TaskName,
    },
}

/// What is known of tasks.
pub trait Tasks {
    /// Every task that the store knows, to be gone through one by one.
    fn task_names(&self) -> Result<Vec<TaskName>, StoreError>;

    /// All that a look at tasks/ has found, in one transaction: ten thousand new folders are one wait for the disk.
    fn record_folder_states(&mut self, seen: &[FolderState], now: DateTime<Utc>) -> Result<(), StoreError>;

    /// Next due times of many tasks, in one transaction.
    fn set_all_next_due(&mut self, due: &[(TaskName, Option<DateTime<Utc>>)]) -> Result<(), StoreError>;

    /// A folder is there: new, edited, or back again.
    fn upsert_task(&mut self, name: &TaskName, title: Option<&str>, now: DateTime<Utc>) -> Result<(), StoreError>;

    /// The folder is gone. Its rows, its view and its runs stay.
    fn mark_task_removed(&mut self, name: &TaskName, now: DateTime<Utc>) -> Result<(), StoreError>;

    fn set_next_due(&mut self, name: &TaskName, due: Option<DateTime<Utc>>) -> Result<(), StoreError>;

    fn set_paused(&mut self, name: &TaskName, paused: bool) -> Result<(), StoreError>;

    /// What is wrong with the folder, shown by the status table; `None` when it was mended.
    fn set_problem(&mut self, name: &TaskName, problem: Option<&str>) -> Result<(), StoreError>;

    /// Every task ever seen, by name, in two queries.
    fn tasks(&self) -> Result<Vec<TaskRow>, StoreError>;
}
