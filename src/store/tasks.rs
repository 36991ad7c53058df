//! Task records: what the store keeps of a task besides its folder.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::StoreResult;
use super::runs::{self, RUN_COLUMNS};
use super::sql::{SqlParam, SqlParams, SqlSession, SqlStore};
use crate::model::{PastRun, RunId, TaskName};

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
    fn task_names(&self) -> StoreResult<Vec<TaskName>>;

    /// Records the result of a scan of tasks/ in one transaction: ten thousand new folders cost one wait for the disk.
    fn record_folder_states(&mut self, seen: &[FolderState], now: DateTime<Utc>) -> StoreResult<()>;

    /// Next due times of many tasks, in one transaction.
    fn set_all_next_due(&mut self, due: &[(TaskName, Option<DateTime<Utc>>)]) -> StoreResult<()>;

    /// Records that a folder exists: new, edited, or back again.
    fn upsert_task(&mut self, name: &TaskName, title: Option<&str>, now: DateTime<Utc>) -> StoreResult<()>;

    /// Records that a folder is gone. Its rows, its view and its runs stay.
    fn mark_task_removed(&mut self, name: &TaskName, now: DateTime<Utc>) -> StoreResult<()>;

    fn set_next_due(&mut self, name: &TaskName, due: Option<DateTime<Utc>>) -> StoreResult<()>;

    fn set_paused(&mut self, name: &TaskName, paused: bool) -> StoreResult<()>;

    /// Sets what is wrong with the folder, for the status table; `None` once it is repaired.
    fn set_problem(&mut self, name: &TaskName, problem: Option<&str>) -> StoreResult<()>;

    /// Every task ever seen, by name, in two queries.
    fn tasks(&self) -> StoreResult<Vec<TaskRow>>;
}

impl<S: SqlStore> Tasks for S {
    fn task_names(&self) -> StoreResult<Vec<TaskName>> {
        let sql = format!("SELECT name FROM _task WHERE {} ORDER BY name", self.owned_condition("name"));
        self.session().query(&sql, &[], |row| row.get(0))
    }

    fn record_folder_states(&mut self, seen: &[FolderState], now: DateTime<Utc>) -> StoreResult<()> {
        let session = self.session();
        session.in_transaction(|| {
            seen.iter().try_for_each(|seen| match seen {
                FolderState::Good { name, title } => {
                    upsert(session, name, title.as_deref(), now)?;
                    set(session, name, "problem", &None::<&str>, "TRUE")
                }
                FolderState::Broken { name, problem } => {
                    upsert(session, name, None, now)?;
                    set(session, name, "problem", problem, "TRUE")
                }
                FolderState::Gone { name } => mark_removed(session, name, now),
            })
        })
    }

    fn set_all_next_due(&mut self, due: &[(TaskName, Option<DateTime<Utc>>)]) -> StoreResult<()> {
        self.session().in_transaction(|| due.iter().try_for_each(|(name, due)| set_next_due(self, name, *due)))
    }

    fn upsert_task(&mut self, name: &TaskName, title: Option<&str>, now: DateTime<Utc>) -> StoreResult<()> {
        upsert(self.session(), name, title, now)
    }

    fn mark_task_removed(&mut self, name: &TaskName, now: DateTime<Utc>) -> StoreResult<()> {
        mark_removed(self.session(), name, now)
    }

    fn set_next_due(&mut self, name: &TaskName, due: Option<DateTime<Utc>>) -> StoreResult<()> {
        set_next_due(self, name, due)
    }

    fn set_paused(&mut self, name: &TaskName, paused: bool) -> StoreResult<()> {
        set(self.session(), name, "paused", &paused, "TRUE")
    }

    fn set_problem(&mut self, name: &TaskName, problem: Option<&str>) -> StoreResult<()> {
        set(self.session(), name, "problem", &problem, "TRUE")
    }

    fn tasks(&self) -> StoreResult<Vec<TaskRow>> {
        tasks_where(self.session(), "TRUE", &[])
    }
}

fn upsert(session: &impl SqlSession, name: &TaskName, title: Option<&str>, now: DateTime<Utc>) -> StoreResult<()> {
    session.apply(
        "INSERT INTO _task (name, title, added_at) VALUES ($1, $2, $3)
         ON CONFLICT (name) DO UPDATE SET title = excluded.title, removed_at = NULL
             WHERE _task.title IS DISTINCT FROM excluded.title OR _task.removed_at IS NOT NULL",
        &[name, &title, &now],
    )
}

fn mark_removed(session: &impl SqlSession, name: &TaskName, now: DateTime<Utc>) -> StoreResult<()> {
    let sql = "UPDATE _task SET removed_at = $2, next_due = NULL, problem = NULL WHERE name = $1";
    session.apply(sql, &[name, &now])
}

/// Only the owner sets when a task is due next; a daemon that has lost it changes nothing.
fn set_next_due(store: &impl SqlStore, name: &TaskName, due: Option<DateTime<Utc>>) -> StoreResult<()> {
    set(store.session(), name, "next_due", &due, &store.owned_condition("name"))
}

/// An unchanged value costs no write, and so no wait for the disk.
fn set(
    session: &impl SqlSession,
    name: &TaskName,
    column: &'static str,
    value: &dyn SqlParam,
    condition: &str,
) -> StoreResult<()> {
    let sql =
        format!("UPDATE _task SET {column} = $2 WHERE name = $1 AND {column} IS DISTINCT FROM $2 AND {condition}");
    session.apply(&sql, &[name, value])
}

/// The tasks that meet a condition on `_task` under the name `t`.
pub(super) fn tasks_where(
    session: &impl SqlSession,
    condition: &str,
    values: SqlParams<'_>,
) -> StoreResult<Vec<TaskRow>> {
    let sql = format!(
        "SELECT t.name, t.title, t.paused, t.removed_at IS NOT NULL, t.next_due, t.last_slot, t.problem,
             t.published_rows, t.previous_rows, t.last_ok, t.fails, {RUN_COLUMNS}
         FROM _task t LEFT JOIN _runs r ON r.id = t.last_run WHERE {condition} ORDER BY t.name"
    );
    // Both queries read one snapshot: a run that ends in between must not be running and ended.
    session.in_snapshot(|| {
        let running = running(session)?;
        session.query(&sql, values, |row| {
            let name: TaskName = row.get(0)?;
            let last_run: Option<RunId> = row.get(11)?;
            Ok(TaskRow {
                running_since: running.get(&name).copied(),
                name,
                title: row.get(1)?,
                paused: row.get(2)?,
                removed: row.get(3)?,
                next_due: row.get(4)?,
                last_slot: row.get(5)?,
                problem: row.get(6)?,
                published_rows: row.get(7)?,
                previous_rows: row.get(8)?,
                last_ok: row.get(9)?,
                fails_in_a_row: row.get(10)?,
                last_run: if last_run.is_some() { runs::read(row, 11)?.into_past() } else { None },
            })
        })
    })
}

fn running(session: &impl SqlSession) -> StoreResult<HashMap<TaskName, DateTime<Utc>>> {
    let sql = "SELECT task, min(started) FROM _runs WHERE ended IS NULL GROUP BY task";
    Ok(session.query(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
}
