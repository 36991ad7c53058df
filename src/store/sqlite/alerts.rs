//! Alerts: which tasks have any, what was told of them, and what is still to be delivered. What an alert says is its own
//! affair: here it is JSON.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::{Sqlite, StoreError, stamp, stored};
use crate::model::TaskName;
use crate::model::task::Alert;
use crate::store::letters::KEPT;
use crate::store::{Delivery, Letter, Letters, Outgoing, Told, Watched, Which};

/// Nothing older of its task waits for the same target.
const FIRST_IN_LINE: &str = "NOT EXISTS (SELECT 1 FROM _delivery e WHERE e.task = d.task AND e.target = d.target
    AND e.alert < d.alert AND e.next_try IS NOT NULL)";

impl Letters for Sqlite {
    fn watch(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (task, alert) in wanted {
            let Some(alert) = alert else {
                transaction.prepare_cached("DELETE FROM _watched WHERE task = ?1")?.execute([task.as_str()])?;
                continue;
            };
            let json = serde_json::to_string(alert).map_err(StoreError::value)?;
            transaction
                .prepare_cached(
                    "INSERT INTO _watched (task, wanted, said) VALUES (?1, ?2, '{}')
                     ON CONFLICT (task) DO UPDATE SET wanted = ?2 WHERE wanted <> ?2",
                )?
                .execute(params![task.as_str(), json])?;
        }
        Ok(transaction.commit()?)
    }

    fn watched(&self, which: &Which) -> Result<Vec<Watched>, StoreError> {
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
            let wanted = serde_json::from_str(&wanted).map_err(StoreError::value)?;
            watched.push(Watched { row, wanted, said });
        }
        Ok(watched)
    }

    fn tell(&mut self, told: &[Told], now: DateTime<Utc>) -> Result<(), StoreError> {
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

    fn letters(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<Letter>, StoreError> {
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

    fn next_letter(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let sql = format!("SELECT min(d.next_try) FROM _delivery d WHERE d.next_try IS NOT NULL AND {FIRST_IN_LINE}");
        stamp::parse_if_any(self.connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))?)
    }

    fn letters_waiting(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM _delivery WHERE next_try IS NOT NULL";
        let count: i64 = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    fn letters_in_trouble(&self, since: DateTime<Utc>) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM _delivery d JOIN _alert a ON a.id = d.alert
                   WHERE d.delivered_at IS NULL AND d.trouble IS NOT NULL AND (d.next_try IS NOT NULL OR a.made_at > ?1)";
        let count: i64 = self.connection.prepare_cached(sql)?.query_row([stamp::text(since)], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    fn delivered(&mut self, letter: &Letter, now: DateTime<Utc>) -> Result<(), StoreError> {
        let sql = "UPDATE _delivery SET tries = tries + 1, next_try = NULL, delivered_at = ?3, trouble = NULL
                   WHERE alert = ?1 AND target = ?2";
        self.connection.prepare_cached(sql)?.execute(params![letter.id, letter.target, stamp::text(now)])?;
        Ok(())
    }

    fn undelivered(
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

    fn deliveries(&self, task: Option<&TaskName>, most: u32) -> Result<Vec<Delivery>, StoreError> {
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
        task: stored::task_name(&task)?,
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
