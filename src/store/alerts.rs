//! Alerts: which tasks have any, what was told of them, and what is still to be delivered. What an alert says is its own
//! affair: here it is JSON.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::{Store, StoreError, TaskRow, stamp};
use crate::model::TaskName;
use crate::model::task::Alert;

/// Alerts of a task that are remembered once they are delivered or given up.
const KEPT: u32 = 50;

/// Nothing older of its task waits for the same target.
const FIRST_IN_LINE: &str = "NOT EXISTS (SELECT 1 FROM _delivery e WHERE e.task = d.task AND e.target = d.target
    AND e.alert < d.alert AND e.next_try IS NOT NULL)";

/// A task with alerts.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    pub row: TaskRow,
    pub wanted: Alert,
    /// What was told, as it was last given to [`Store::tell`]; `{}` at first.
    pub said: String,
}

/// Of which tasks?
#[derive(Clone, Debug)]
pub enum Which {
    All,
    One(TaskName),
    /// Those whose next run should have started by then.
    DueBefore(DateTime<Utc>),
}

/// What a task's people have been told by now.
#[derive(Clone, Debug)]
pub struct Told {
    pub task: TaskName,
    pub said: String,
    /// The alert that tells them, where there is one.
    pub outgoing: Option<Outgoing>,
}

/// An alert to be kept and delivered.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub id: String,
    pub json: String,
    /// As task.toml spells them: with the names of secrets, not their values.
    pub targets: Vec<String>,
}

/// One alert for one target, to be delivered now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    pub id: String,
    pub task: TaskName,
    pub target: String,
    pub json: String,
    /// How often it was tried before.
    pub tries: u32,
}

/// How the delivery of an alert stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub letter: Letter,
    pub made_at: DateTime<Utc>,
    pub delivered_at: Option<DateTime<Utc>>,
    /// Absent when it was delivered, and when it was given up.
    pub next_try: Option<DateTime<Utc>>,
    /// Why the last try failed.
    pub trouble: Option<String>,
}

impl Store {
    /// Takes in what tasks want to be told; none for those that want nothing.
    pub fn watch(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (task, alert) in wanted {
            let Some(alert) = alert else {
                transaction.prepare_cached("DELETE FROM _watched WHERE task = ?1")?.execute([task.as_str()])?;
                continue;
            };
            let json = serde_json::to_string(alert).map_err(|error| StoreError::Value(error.to_string()))?;
            transaction
                .prepare_cached(
                    "INSERT INTO _watched (task, wanted, said) VALUES (?1, ?2, '{}')
                     ON CONFLICT (task) DO UPDATE SET wanted = ?2 WHERE wanted <> ?2",
                )?
                .execute(params![task.as_str(), json])?;
        }
        Ok(transaction.commit()?)
    }

    /// The tasks that have alerts and are not gone.
    pub fn watched(&self, which: &Which) -> Result<Vec<Watched>, StoreError> {
        let (condition, value) = match which {
            Which::All => ("?1 = ''", String::new()),
            Which::One(task) => ("t.name = ?1", task.to_string()),
            Which::DueBefore(at) => ("t.next_due < ?1", stamp::text(*at)),
        };
        let condition = format!("t.removed_at IS NULL AND {condition} AND t.name IN (SELECT task FROM _watched)");
        let mut watched = Vec::new();
        for row in self.tasks_where(&condition, &[&value])? {
            let found: Option<(String, String)> = self
                .connection
                .prepare_cached("SELECT wanted, said FROM _watched WHERE task = ?1")?
                .query_row([row.name.as_str()], |it| Ok((it.get(0)?, it.get(1)?)))
                .optional()?;
            let Some((wanted, said)) = found else { continue };
            let wanted = serde_json::from_str(&wanted).map_err(|error| StoreError::Value(error.to_string()))?;
            watched.push(Watched { row, wanted, said });
        }
        Ok(watched)
    }

    /// Keeps what was told, and the alerts that are to be delivered for it: all of it or nothing, and many tasks are one wait
    /// for the disk.
    pub fn tell(&mut self, told: &[Told], now: DateTime<Utc>) -> Result<(), StoreError> {
        self.must_be_there()?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for Told { task, said, outgoing } in told {
            transaction
                .prepare_cached("UPDATE _watched SET said = ?2 WHERE task = ?1 AND said <> ?2")?
                .execute(params![task.as_str(), said])?;
            if let Some(outgoing) = outgoing {
                post(&transaction, task, outgoing, &stamp::text(now))?;
                forget_old(&transaction, task)?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// What is to be delivered now, oldest first. A target gets the alerts of a task in their order: while one waits for
    /// its next try, the ones after it wait too.
    pub fn letters(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<Letter>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT d.alert, d.task, d.target, a.notice, d.tries FROM _delivery d JOIN _alert a ON a.id = d.alert
                 WHERE d.next_try <= ?1 AND {FIRST_IN_LINE} ORDER BY d.alert, d.target LIMIT ?2"
        ))?;
        let mut rows = statement.query(params![stamp::text(now), i64::try_from(most).unwrap_or(i64::MAX)])?;
        let mut letters = Vec::new();
        while let Some(row) = rows.next()? {
            letters.push(letter(row)?);
        }
        Ok(letters)
    }

    /// When something is to be tried next.
    pub fn next_letter(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let sql = format!("SELECT min(d.next_try) FROM _delivery d WHERE d.next_try IS NOT NULL AND {FIRST_IN_LINE}");
        stamp::parse_if_any(self.connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))?)
    }

    /// How many wait to be delivered.
    pub fn letters_waiting(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM _delivery WHERE next_try IS NOT NULL";
        let count: i64 = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// How many did not arrive so far: those that are tried again, and those that were given up since then.
    pub fn letters_in_trouble(&self, since: DateTime<Utc>) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM _delivery d JOIN _alert a ON a.id = d.alert
                   WHERE d.delivered_at IS NULL AND d.trouble IS NOT NULL AND (d.next_try IS NOT NULL OR a.made_at > ?1)";
        let count: i64 = self.connection.prepare_cached(sql)?.query_row([stamp::text(since)], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    pub fn delivered(&mut self, letter: &Letter, now: DateTime<Utc>) -> Result<(), StoreError> {
        let sql = "UPDATE _delivery SET tries = tries + 1, next_try = NULL, delivered_at = ?3, trouble = NULL
                   WHERE alert = ?1 AND target = ?2";
        self.connection.prepare_cached(sql)?.execute(params![letter.id, letter.target, stamp::text(now)])?;
        Ok(())
    }

    /// It did not arrive. Without a next try it is given up.
    pub fn undelivered(
        &mut self,
        letter: &Letter,
        trouble: &str,
        next_try: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let sql =
            "UPDATE _delivery SET tries = tries + 1, next_try = ?3, trouble = ?4 WHERE alert = ?1 AND target = ?2";
        let next_try = next_try.map(stamp::text);
        self.connection.prepare_cached(sql)?.execute(params![letter.id, letter.target, next_try, trouble])?;
        Ok(())
    }

    /// The last deliveries, newest first: of one task or of all.
    pub fn deliveries(&self, task: Option<&TaskName>, most: u32) -> Result<Vec<Delivery>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT d.alert, d.task, d.target, a.notice, d.tries, a.made_at, d.delivered_at, d.next_try, d.trouble
             FROM _delivery d JOIN _alert a ON a.id = d.alert WHERE ?1 IS NULL OR a.task = ?1
             ORDER BY d.alert DESC, d.target LIMIT ?2",
        )?;
        let mut rows = statement.query(params![task.map(TaskName::as_str), most])?;
        let mut deliveries = Vec::new();
        while let Some(row) = rows.next()? {
            deliveries.push(Delivery {
                letter: letter(row)?,
                made_at: stamp::parse(&row.get::<_, String>(5)?)?,
                delivered_at: stamp::parse_if_any(row.get(6)?)?,
                next_try: stamp::parse_if_any(row.get(7)?)?,
                trouble: row.get(8)?,
            });
        }
        Ok(deliveries)
    }
}

fn letter(row: &Row<'_>) -> Result<Letter, StoreError> {
    let task: String = row.get(1)?;
    Ok(Letter {
        id: row.get(0)?,
        task: TaskName::new(&task).map_err(|error| StoreError::Value(error.to_string()))?,
        target: row.get(2)?,
        json: row.get(3)?,
        tries: row.get(4)?,
    })
}

fn post(connection: &Connection, task: &TaskName, outgoing: &Outgoing, now: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT INTO _alert (id, task, made_at, notice) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![outgoing.id, task.as_str(), now, outgoing.json])?;
    for target in &outgoing.targets {
        // A target that stands there twice gets it once.
        connection
            .prepare_cached(
                "INSERT INTO _delivery (alert, task, target, next_try) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            )?
            .execute(params![outgoing.id, task.as_str(), target, now])?;
    }
    Ok(())
}

fn forget_old(connection: &Connection, task: &TaskName) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "DELETE FROM _alert WHERE id IN (SELECT id FROM _alert WHERE task = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)
                 AND NOT EXISTS (SELECT 1 FROM _delivery WHERE alert = id AND next_try IS NOT NULL)",
        )?
        .execute(params![task.as_str(), KEPT])?;
    Ok(())
}
