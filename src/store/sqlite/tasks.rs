//! Task records in SQLite.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use rusqlite::{ToSql, params};

use super::{Sqlite, StoreError, decode, runs, timestamp};
use crate::model::TaskName;
use crate::store::{FolderState, TaskRow, Tasks};

impl Tasks for Sqlite {
    fn task_names(&self) -> Result<Vec<TaskName>, StoreError> {
        let mut statement = self.connection.prepare("SELECT name FROM _task ORDER BY name")?;
        let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let name = |text: &String| decode::task_name(text);
        names.iter().map(name).collect()
    }

    fn record_folder_states(&mut self, seen: &[FolderState], now: DateTime<Utc>) -> Result<(), StoreError> {
        self.in_transaction(|store| {
            seen.iter().try_for_each(|seen| match seen {
                FolderState::Good { name, title } => {
                    store.upsert_task(name, title.as_deref(), now)?;
                    store.set_problem(name, None)
                }
                FolderState::Broken { name, problem } => {
                    store.upsert_task(name, None, now)?;
                    store.set_problem(name, Some(problem))
                }
                FolderState::Gone { name } => store.mark_task_removed(name, now),
            })
        })
    }

    fn set_all_next_due(&mut self, due: &[(TaskName, Option<DateTime<Utc>>)]) -> Result<(), StoreError> {
        self.in_transaction(|store| due.iter().try_for_each(|(name, due)| store.set_next_due(name, *due)))
    }

    fn upsert_task(&mut self, name: &TaskName, title: Option<&str>, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO _task (name, title, added_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET title = ?2, removed_at = NULL
                     WHERE title IS NOT ?2 OR removed_at IS NOT NULL",
            )?
            .execute(params![name.as_str(), title, timestamp::text(now)])?;
        Ok(())
    }

    fn mark_task_removed(&mut self, name: &TaskName, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE _task SET removed_at = ?2, next_due = NULL, problem = NULL WHERE name = ?1")?
            .execute(params![name.as_str(), timestamp::text(now)])?;
        Ok(())
    }

    fn set_next_due(&mut self, name: &TaskName, due: Option<DateTime<Utc>>) -> Result<(), StoreError> {
        self.set(name, "next_due", &due.map(timestamp::text))
    }

    fn set_paused(&mut self, name: &TaskName, paused: bool) -> Result<(), StoreError> {
        self.set(name, "paused", &paused)
    }

    fn set_problem(&mut self, name: &TaskName, problem: Option<&str>) -> Result<(), StoreError> {
        self.set(name, "problem", &problem)
    }

    fn tasks(&self) -> Result<Vec<TaskRow>, StoreError> {
        self.tasks_where("TRUE", &[])
    }
}

impl Sqlite {
    /// All of the work in one transaction, or none of it.
    fn in_transaction(&mut self, work: impl FnOnce(&mut Sqlite) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let done = work(self).and_then(|()| Ok(self.connection.execute_batch("COMMIT")?));
        if done.is_err() && !self.connection.is_autocommit() {
            // The first error is reported; without a rollback nothing could be written any more.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        done
    }

    /// The tasks that meet a condition on `_task` under the name `t`.
    pub(super) fn tasks_where(&self, condition: &str, values: &[&dyn ToSql]) -> Result<Vec<TaskRow>, StoreError> {
        // Both queries read one snapshot: a run that ends in between must not be running and ended.
        let moment = self.connection.unchecked_transaction()?;
        let running = self.running()?;
        let sql = format!(
            "SELECT t.name, t.title, t.paused, t.removed_at IS NOT NULL, t.next_due, t.last_slot, t.problem,
                 t.published_rows, t.previous_rows, t.last_ok, t.fails, {}
             FROM _task t LEFT JOIN _runs r ON r.id = t.last_run WHERE {condition} ORDER BY t.name",
            runs::COLUMNS
        );
        let mut statement = moment.prepare_cached(&sql)?;
        let mut rows = statement.query(values)?;
        let mut tasks = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            let has_run: bool = row.get::<_, Option<String>>(11)?.is_some();
            tasks.push(TaskRow {
                running_since: running.get(&name).copied(),
                name: decode::task_name(&name)?,
                title: row.get(1)?,
                paused: row.get(2)?,
                removed: row.get(3)?,
                next_due: timestamp::parse_if_any(row.get(4)?)?,
                last_slot: timestamp::parse_if_any(row.get(5)?)?,
                problem: row.get(6)?,
                published_rows: decode::count(row.get(7)?),
                previous_rows: decode::count(row.get(8)?),
                last_ok: timestamp::parse_if_any(row.get(9)?)?,
                fails_in_a_row: row.get(10)?,
                last_run: if has_run { runs::read(row, 11)?.into_past() } else { None },
            });
        }
        Ok(tasks)
    }

    fn set(&mut self, name: &TaskName, column: &'static str, value: &dyn ToSql) -> Result<(), StoreError> {
        // An unchanged value costs no write, and so no wait for the disk.
        let sql = format!("UPDATE _task SET {column} = ?2 WHERE name = ?1 AND {column} IS NOT ?2");
        self.connection.prepare_cached(&sql)?.execute(params![name.as_str(), value])?;
        Ok(())
    }

    fn running(&self) -> Result<HashMap<String, DateTime<Utc>>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT task, min(started) FROM _runs WHERE ended IS NULL GROUP BY task")?;
        let mut rows = statement.query([])?;
        let mut running = HashMap::new();
        while let Some(row) = rows.next()? {
            running.insert(row.get(0)?, timestamp::parse(&row.get::<_, String>(1)?)?);
        }
        Ok(running)
    }
}
