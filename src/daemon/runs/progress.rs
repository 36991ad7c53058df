//! The progress of the runs under way, for `pieme status`. Kept in memory: a run of a page or two writes nothing to the
//! store until its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::model::{RunId, TaskName};

/// A run under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub task: TaskName,
    pub run: RunId,
    pub started_at: DateTime<Utc>,
    /// Pages that its rows come from.
    pub pages: u32,
    pub rows: u64,
    /// The robot's last step.
    pub step: Option<String>,
}

/// The progress of all runs, updated by the collectors of their messages.
#[derive(Clone, Default)]
pub struct ProgressBoard {
    runs: Arc<Mutex<BTreeMap<RunId, Progress>>>,
    /// Why nothing runs: what the daemon waits for before it can open the store.
    waiting_for: Arc<Mutex<Option<String>>>,
}

impl ProgressBoard {
    /// Adds a run to the board, until the returned entry is dropped.
    pub fn register(&self, run: RunId, task: TaskName, started_at: DateTime<Utc>) -> ProgressEntry {
        self.lock().insert(run, Progress { task, run, started_at, pages: 0, rows: 0, step: None });
        ProgressEntry { board: self.clone(), run }
    }

    pub fn all(&self) -> Vec<Progress> {
        self.lock().values().cloned().collect()
    }

    /// Sets the reason why nothing runs; `None` when the wait is over.
    pub fn set_waiting_for(&self, reason: Option<String>) {
        *self.waiting_for.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    pub fn waiting_for(&self) -> Option<String> {
        self.waiting_for.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Progress>> {
        // Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run's entry on the board.
pub struct ProgressEntry {
    board: ProgressBoard,
    run: RunId,
}

impl ProgressEntry {
    pub fn set_counts(&self, pages: u32, rows: u64) {
        self.update(|line| (line.pages, line.rows) = (pages, rows));
    }

    pub fn set_step(&self, verb: &str) {
        // Verbs are short, but a child may send anything.
        let verb: String = verb.chars().take(20).collect();
        self.update(|line| line.step = Some(verb));
    }

    fn update(&self, change: impl FnOnce(&mut Progress)) {
        if let Some(line) = self.board.lock().get_mut(&self.run) {
            change(line);
        }
    }
}

impl Drop for ProgressEntry {
    fn drop(&mut self) {
        self.board.lock().remove(&self.run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_on_the_board_while_it_goes() {
        let board = ProgressBoard::default();
        let task = TaskName::new("hotels").expect("a name");
        let entry = board.register(RunId::new(), task, DateTime::UNIX_EPOCH);
        entry.set_counts(1, 12);
        entry.set_counts(2, 20);
        entry.set_step("paginate");
        let all = board.all();
        assert_eq!((all[0].pages, all[0].rows, all[0].step.as_deref()), (2, 20, Some("paginate")));
        drop(entry);
        assert_eq!(board.all(), []);
    }
}
