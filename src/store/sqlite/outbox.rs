//! Outbox of alerts, in SQLite.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::{Sqlite, StoreError, decode, timestamp};
use crate::model::TaskName;
use crate::model::task::Alert;
use crate::store::outbox::MAX_FINISHED_DELIVERIES;
use crate::store::{AlertStateUpdate, AlertTask, AlertTaskFilter, Delivery, Outbox, OutboxEntry, OutgoingAlert};

/// Condition: no older alert of the task is pending for the same target.
const FIRST_IN_LINE: &str = "NOT EXISTS (SELECT 1 FROM _delivery e WHERE e.task = d.task AND e.target = d.target
    AND e.alert < d.alert AND e.next_try IS NOT NULL)";

impl Outbox for Sqlite {
    fn set_alert_configs(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (task, alert) in wanted {
            let Some(alert) = alert else {
                transaction.prepare_cached("DELETE FROM _watched WHERE task = ?1")?.execute([task.as_str()])?;
                continue;
            };
            let json = serde_json::to_string(alert).map_err(StoreError::invalid_value)?;
            transaction
                .prepare_cached(
                    "INSERT INTO _watched (task, wanted, said) VALUES (?1, ?2, '{}')
                     ON CONFLICT (task) DO UPDATE SET wanted = ?2 WHERE wanted <> ?2",
                )?
                .execute(params![task.as_str(), json])?;
        }
        Ok(transaction.commit()?)
    }

    fn tasks_with_alerts(&self, which: &AlertTaskFilter) -> Result<Vec<AlertTask>, StoreError> {
        let (condition, value) = match which {
            AlertTaskFilter::All => ("?1 = ''", String::new()),
            AlertTaskFilter::One(task) => ("t.name = ?1", task.to_string()),
            AlertTaskFilter::DueBefore(at) => ("t.next_due < ?1", timestamp::text(*at)),
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
            let wanted = serde_json::from_str(&wanted).map_err(StoreError::invalid_value)?;
            watched.push(AlertTask { row, alert: wanted, state_json: said });
        }
        Ok(watched)
    }

    fn enqueue_alerts(&mut self, told: &[AlertStateUpdate], now: DateTime<Utc>) -> Result<(), StoreError> {
        self.ensure_file_in_place()?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for AlertStateUpdate { task, state_json: said, outgoing } in told {
            transaction
                .prepare_cached("UPDATE _watched SET said = ?2 WHERE task = ?1 AND said <> ?2")?
                .execute(params![task.as_str(), said])?;
            if let Some(outgoing) = outgoing {
                insert_alert(&transaction, task, outgoing, &timestamp::text(now))?;
                prune_finished(&transaction, task)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn due_deliveries(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<OutboxEntry>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT d.alert, d.task, d.target, a.notice, d.tries FROM _delivery d JOIN _alert a ON a.id = d.alert
                 WHERE d.next_try <= ?1 AND {FIRST_IN_LINE} ORDER BY d.alert, d.target LIMIT ?2"
        ))?;
        let mut rows = statement.query(params![timestamp::text(now), i64::try_from(most).unwrap_or(i64::MAX)])?;
        let mut letters = Vec::new();
        while let Some(row) = rows.next()? {
            letters.push(read_entry(row)?);
        }
        Ok(letters)
    }

    fn next_delivery_at(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let sql = format!("SELECT min(d.next_try) FROM _delivery d WHERE d.next_try IS NOT NULL AND {FIRST_IN_LINE}");
        timestamp::parse_if_any(self.connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))?)
    }

    fn pending_deliveries(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM _delivery WHERE next_try IS NOT NULL";
        let count: i64 = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    fn failing_deliveries(&self, since: DateTime<Utc>) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM _delivery d JOIN _alert a ON a.id = d.alert
                   WHERE d.delivered_at IS NULL AND d.trouble IS NOT NULL
                       AND (d.next_try IS NOT NULL OR a.made_at > ?1)";
        let count: i64 = self.connection.prepare_cached(sql)?.query_row([timestamp::text(since)], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    fn mark_delivered(&mut self, letter: &OutboxEntry, now: DateTime<Utc>) -> Result<(), StoreError> {
        let sql = "UPDATE _delivery SET tries = tries + 1, next_try = NULL, delivered_at = ?3, trouble = NULL
                   WHERE alert = ?1 AND target = ?2";
        self.connection.prepare_cached(sql)?.execute(params![letter.id, letter.target, timestamp::text(now)])?;
        Ok(())
    }

    fn mark_undelivered(
        &mut self,
        letter: &OutboxEntry,
        trouble: &str,
        next_try: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let sql =
            "UPDATE _delivery SET tries = tries + 1, next_try = ?3, trouble = ?4 WHERE alert = ?1 AND target = ?2";
        let next_try = next_try.map(timestamp::text);
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
                entry: read_entry(row)?,
                made_at: timestamp::parse(&row.get::<_, String>(5)?)?,
                delivered_at: timestamp::parse_if_any(row.get(6)?)?,
                next_attempt: timestamp::parse_if_any(row.get(7)?)?,
                last_error: row.get(8)?,
            });
        }
        Ok(deliveries)
    }
}

fn read_entry(row: &Row<'_>) -> Result<OutboxEntry, StoreError> {
    let task: String = row.get(1)?;
    Ok(OutboxEntry {
        id: row.get(0)?,
        task: decode::task_name(&task)?,
        target: row.get(2)?,
        json: row.get(3)?,
        attempts: row.get(4)?,
    })
}

fn insert_alert(
    connection: &Connection,
    task: &TaskName,
    outgoing: &OutgoingAlert,
    now: &str,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT INTO _alert (id, task, made_at, notice) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![outgoing.id, task.as_str(), now, outgoing.json])?;
    for target in &outgoing.targets {
        // A target that is listed twice gets the alert once.
        connection
            .prepare_cached(
                "INSERT INTO _delivery (alert, task, target, next_try) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            )?
            .execute(params![outgoing.id, task.as_str(), target, now])?;
    }
    Ok(())
}

fn prune_finished(connection: &Connection, task: &TaskName) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "DELETE FROM _alert WHERE id IN (SELECT id FROM _alert WHERE task = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)
                 AND NOT EXISTS (SELECT 1 FROM _delivery WHERE alert = id AND next_try IS NOT NULL)",
        )?
        .execute(params![task.as_str(), MAX_FINISHED_DELIVERIES])?;
    Ok(())
}
