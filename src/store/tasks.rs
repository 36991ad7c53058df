//! Tasks: what is known of each besides its folder.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use rusqlite::{ToSql, params};

use super::{Store, StoreError, runs, stamp};
use crate::model::{PastRun, TaskName};

/// One line of the status table, before judgement.
#[derive(Clone, Debug, PartialEq)]
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
pub enum Seen {
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

impl Store {
    /// All that a look at tasks/ has found, in one transaction: ten thousand new folders are one wait for the disk.
    pub fn note_seen(&mut self, seen: &[Seen], now: DateTime<Utc>) -> Result<(), StoreError> {
        self.in_one(|store| {
            seen.iter().try_for_each(|seen| match seen {
                Seen::Good { name, title } => {
                    store.remember_task(name, title.as_deref(), now)?;
                    store.set_problem(name, None)
                }
                Seen::Broken { name, problem } => {
                    store.remember_task(name, None, now)?;
                    store.set_problem(name, Some(problem))
                }
                Seen::Gone { name } => store.forget_task(name, now),
            })
        })
    }

    /// Next due times of many tasks, in one transaction.
    pub fn set_all_next_due(&mut self, due: &[(TaskName, Option<DateTime<Utc>>)]) -> Result<(), StoreError> {
        self.in_one(|store| due.iter().try_for_each(|(name, due)| store.set_next_due(name, *due)))
    }

    /// All of the work in one transaction, or none of it.
    fn in_one(&mut self, work: impl FnOnce(&mut Store) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let done = work(self).and_then(|()| Ok(self.connection.execute_batch("COMMIT")?));
        if done.is_err() && !self.connection.is_autocommit() {
            // The first error is the one to tell; without a roll-back nothing could be written any more.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        done
    }

    /// A folder is there: new, edited, or back again.
    pub fn remember_task(
        &mut self,
        name: &TaskName,
        title: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO _task (name, title, added_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET title = ?2, removed_at = NULL
                     WHERE title IS NOT ?2 OR removed_at IS NOT NULL",
            )?
            .execute(params![name.as_str(), title, stamp::text(now)])?;
        Ok(())
    }

    /// The folder is gone. Its rows, its view and its runs stay.
    pub fn forget_task(&mut self, name: &TaskName, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE _task SET removed_at = ?2, next_due = NULL, problem = NULL WHERE name = ?1")?
            .execute(params![name.as_str(), stamp::text(now)])?;
        Ok(())
    }

    pub fn set_next_due(&mut self, name: &TaskName, due: Option<DateTime<Utc>>) -> Result<(), StoreError> {
        self.set(name, "next_due", &due.map(stamp::text))
    }

    pub fn set_paused(&mut self, name: &TaskName, paused: bool) -> Result<(), StoreError> {
        self.set(name, "paused", &paused)
    }

    /// What is wrong with the folder, shown by the status table; `None` when it was mended.
    pub fn set_problem(&mut self, name: &TaskName, problem: Option<&str>) -> Result<(), StoreError> {
        self.set(name, "problem", &problem)
    }

    /// Every task ever seen, by name, in two queries.
    pub fn tasks(&self) -> Result<Vec<TaskRow>, StoreError> {
        self.tasks_where("TRUE", &[])
    }

    /// Those of them for which this holds of `_task` under the name `t`.
    pub(super) fn tasks_where(&self, condition: &str, values: &[&dyn ToSql]) -> Result<Vec<TaskRow>, StoreError> {
        // Both queries of one moment: a run that ends in between must not be running and ended.
        let moment = self.connection.unchecked_transaction()?;
        let running = self.running()?;
        let sql = format!(
            "SELECT t.name, t.title, t.paused, t.removed_at IS NOT NULL, t.next_due, t.last_slot, t.problem, t.published_rows,
                 t.previous_rows, t.last_ok, t.fails, {} FROM _task t LEFT JOIN _runs r ON r.id = t.last_run WHERE {condition} ORDER BY t.name",
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
                name: TaskName::new(&name).map_err(|error| StoreError::Value(error.to_string()))?,
                title: row.get(1)?,
                paused: row.get(2)?,
                removed: row.get(3)?,
                next_due: stamp::parse_if_any(row.get(4)?)?,
                last_slot: stamp::parse_if_any(row.get(5)?)?,
                problem: row.get(6)?,
                published_rows: runs::count(row.get(7)?),
                previous_rows: runs::count(row.get(8)?),
                last_ok: stamp::parse_if_any(row.get(9)?)?,
                fails_in_a_row: row.get(10)?,
                last_run: if has_run { runs::read(row, 11)?.past() } else { None },
            });
        }
        Ok(tasks)
    }

    fn set(&mut self, name: &TaskName, column: &'static str, value: &dyn ToSql) -> Result<(), StoreError> {
        // A value that is there already costs no write, and so no wait for the disk.
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
            running.insert(row.get(0)?, stamp::parse(&row.get::<_, String>(1)?)?);
        }
        Ok(running)
    }
}
