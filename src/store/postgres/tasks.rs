//! Task records in PostgreSQL.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::session::{SqlParams, get};
use super::{Member, Postgres, StoreError, decode, runs, timestamp};
use crate::model::TaskName;
use crate::store::batch::storable;
use crate::store::{FolderState, TaskRow, Tasks};

impl Tasks for Postgres {
    fn task_names(&self) -> Result<Vec<TaskName>, StoreError> {
        let sql = format!("SELECT name FROM _task WHERE {} ORDER BY name", self.owned_condition("name"));
        let found = self.session.rows(&sql, &[])?;
        found.iter().map(|row| decode::task_name(get(row, 0)?)).collect()
    }

    fn record_folder_states(&mut self, seen: &[FolderState], now: DateTime<Utc>) -> Result<(), StoreError> {
        self.session.in_transaction(|| {
            seen.iter().try_for_each(|seen| match seen {
                FolderState::Good { name, title } => {
                    self.upsert(name, title.as_deref(), now)?;
                    self.set(name, TaskSetting::Problem, &[&None::<&str>])
                }
                FolderState::Broken { name, problem } => {
                    self.upsert(name, None, now)?;
                    self.set(name, TaskSetting::Problem, &[&Some(storable(problem))])
                }
                FolderState::Gone { name } => self.mark_removed(name, now),
            })
        })
    }

    fn set_all_next_due(&mut self, due: &[(TaskName, Option<DateTime<Utc>>)]) -> Result<(), StoreError> {
        self.session.in_transaction(|| {
            due.iter()
                .try_for_each(|(name, due)| self.set(name, TaskSetting::NextDue, &[&due.map(timestamp::to_millis)]))
        })
    }

    fn upsert_task(&mut self, name: &TaskName, title: Option<&str>, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.upsert(name, title, now)
    }

    fn mark_task_removed(&mut self, name: &TaskName, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.mark_removed(name, now)
    }

    fn set_next_due(&mut self, name: &TaskName, due: Option<DateTime<Utc>>) -> Result<(), StoreError> {
        self.set(name, TaskSetting::NextDue, &[&due.map(timestamp::to_millis)])
    }

    fn set_paused(&mut self, name: &TaskName, paused: bool) -> Result<(), StoreError> {
        self.set(name, TaskSetting::Paused, &[&paused])
    }

    fn set_problem(&mut self, name: &TaskName, problem: Option<&str>) -> Result<(), StoreError> {
        self.set(name, TaskSetting::Problem, &[&problem.map(storable)])
    }

    fn tasks(&self) -> Result<Vec<TaskRow>, StoreError> {
        self.tasks_where("TRUE", &[])
    }
}

#[derive(Clone, Copy)]
enum TaskSetting {
    NextDue,
    Paused,
    Problem,
}

impl Postgres {
    fn upsert(&self, name: &TaskName, title: Option<&str>, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.session.execute(
            "INSERT INTO _task (name, title, added_at) VALUES ($1, $2, $3)
             ON CONFLICT (name) DO UPDATE SET title = excluded.title, removed_at = NULL
                 WHERE _task.title IS DISTINCT FROM excluded.title OR _task.removed_at IS NOT NULL",
            &[&name.as_str(), &title.map(storable), &timestamp::to_millis(now)],
        )?;
        Ok(())
    }

    fn mark_removed(&self, name: &TaskName, now: DateTime<Utc>) -> Result<(), StoreError> {
        let sql = "UPDATE _task SET removed_at = $2, next_due = NULL, problem = NULL WHERE name = $1";
        self.session.execute(sql, &[&name.as_str(), &timestamp::to_millis(now)])?;
        Ok(())
    }

    /// An unchanged value costs no write.
    fn set(&self, name: &TaskName, what: TaskSetting, value: SqlParams<'_>) -> Result<(), StoreError> {
        let sql = match what {
            // Only the owner sets when a task is due next; a daemon that has lost it changes nothing.
            TaskSetting::NextDue => format!(
                "UPDATE _task SET next_due = $2 WHERE name = $1 AND next_due IS DISTINCT FROM $2 AND {}",
                self.owned_condition("name")
            ),
            TaskSetting::Paused => {
                "UPDATE _task SET paused = $2 WHERE name = $1 AND paused IS DISTINCT FROM $2".to_owned()
            }
            TaskSetting::Problem => {
                "UPDATE _task SET problem = $2 WHERE name = $1 AND problem IS DISTINCT FROM $2".to_owned()
            }
        };
        self.session.execute(&sql, &[&[&name.as_str() as _], value].concat())?;
        Ok(())
    }

    /// Condition that this daemon owns a task; holds for every task where the store acts for no daemon. Only the owner
    /// sends a task's alerts and maintains its history.
    pub(super) fn owned_condition(&self, name: &str) -> String {
        match &self.member {
            None => "TRUE".to_owned(),
            Some(Member { name: owner, fence, .. }) => {
                let owner = owner.replace('\'', "''");
                format!("{name} IN (SELECT name FROM _task WHERE owner = '{owner}' AND owner_fence = {fence})")
            }
        }
    }

    /// The tasks that meet a condition on `_task` under the name `t`.
    pub(super) fn tasks_where(&self, condition: &str, values: SqlParams<'_>) -> Result<Vec<TaskRow>, StoreError> {
        let sql = format!(
            "SELECT t.name, t.title, t.paused, t.removed_at IS NOT NULL, t.next_due, t.last_slot, t.problem,
                 t.published_rows, t.previous_rows, t.last_ok, t.fails, {}
             FROM _task t LEFT JOIN _runs r ON r.id = t.last_run WHERE {condition} ORDER BY t.name",
            runs::COLUMNS
        );
        // Both queries read one snapshot: a run that ends in between must not be running and ended.
        let (running, found) = self.session.in_snapshot(|| Ok((self.running()?, self.session.rows(&sql, values)?)))?;
        let mut tasks = Vec::with_capacity(found.len());
        for row in &found {
            let name: &str = get(row, 0)?;
            let has_run = get::<Option<&str>>(row, 11)?.is_some();
            tasks.push(TaskRow {
                running_since: running.get(name).copied(),
                name: decode::task_name(name)?,
                title: get(row, 1)?,
                paused: get(row, 2)?,
                removed: get(row, 3)?,
                next_due: get(row, 4)?,
                last_slot: get(row, 5)?,
                problem: get(row, 6)?,
                published_rows: decode::count(get(row, 7)?),
                previous_rows: decode::count(get(row, 8)?),
                last_ok: get(row, 9)?,
                fails_in_a_row: u32::try_from(get::<i64>(row, 10)?).unwrap_or(u32::MAX),
                last_run: if has_run { runs::read(row, 11)?.into_past() } else { None },
            });
        }
        Ok(tasks)
    }

    fn running(&self) -> Result<HashMap<String, DateTime<Utc>>, StoreError> {
        let sql = "SELECT task, min(started) FROM _runs WHERE ended IS NULL GROUP BY task";
        self.session.rows(sql, &[])?.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?))).collect()
    }
}
