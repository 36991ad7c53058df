//! Outbox of alerts, in PostgreSQL.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::session::get;
use super::{PgSession, Postgres, StoreError, decode, timestamp};
use crate::model::TaskName;
use crate::model::task::Alert;
use crate::store::batch::storable;
use crate::store::outbox::MAX_FINISHED_DELIVERIES;
use crate::store::{AlertStateUpdate, AlertTask, AlertTaskFilter, Delivery, Outbox, OutboxEntry, OutgoingAlert};

/// Condition: no older alert of the task is pending for the same target.
const FIRST_IN_LINE: &str = "NOT EXISTS (SELECT 1 FROM _delivery e WHERE e.task = d.task AND e.target = d.target
    AND e.alert < d.alert AND e.next_try IS NOT NULL)";

impl Outbox for Postgres {
    fn set_alert_configs(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> Result<(), StoreError> {
        let session = &self.session;
        session.in_transaction(|| {
            for (task, alert) in wanted {
                let Some(alert) = alert else {
                    session.execute("DELETE FROM _watched WHERE task = $1", &[&task.as_str()])?;
                    continue;
                };
                let json = serde_json::to_string(alert).map_err(StoreError::invalid_value)?;
                session.execute(
                    "INSERT INTO _watched (task, wanted, said) VALUES ($1, $2, '{}')
                     ON CONFLICT (task) DO UPDATE SET wanted = excluded.wanted
                     WHERE _watched.wanted <> excluded.wanted",
                    &[&task.as_str(), &json],
                )?;
            }
            Ok(())
        })
    }

    fn tasks_with_alerts(&self, which: &AlertTaskFilter) -> Result<Vec<AlertTask>, StoreError> {
        let watched = format!(
            "t.removed_at IS NULL AND t.name IN (SELECT task FROM _watched) AND {}",
            self.owned_condition("t.name")
        );
        let rows = match which {
            AlertTaskFilter::All => self.tasks_where(&watched, &[])?,
            AlertTaskFilter::One(task) => self.tasks_where(&format!("{watched} AND t.name = $1"), &[&task.as_str()])?,
            AlertTaskFilter::DueBefore(at) => self.tasks_where(&format!("{watched} AND t.next_due < $1"), &[at])?,
        };
        let mut watched = Vec::new();
        for row in rows {
            let sql = "SELECT wanted, said FROM _watched WHERE task = $1";
            let Some(found) = self.session.row(sql, &[&row.name.as_str()])? else { continue };
            let wanted = serde_json::from_str(get(&found, 0)?).map_err(StoreError::invalid_value)?;
            watched.push(AlertTask { row, alert: wanted, state_json: get(&found, 1)? });
        }
        Ok(watched)
    }

    fn enqueue_alerts(&mut self, told: &[AlertStateUpdate], now: DateTime<Utc>) -> Result<(), StoreError> {
        let session = &self.session;
        session.in_transaction(|| {
            for AlertStateUpdate { task, state_json: said, outgoing } in told {
                let sql = "UPDATE _watched SET said = $2 WHERE task = $1 AND said <> $2";
                session.execute(sql, &[&task.as_str(), &storable(said)])?;
                if let Some(outgoing) = outgoing {
                    insert_alert(session, task, outgoing, now)?;
                    prune_finished(session, task)?;
                }
            }
            Ok(())
        })
    }

    fn due_deliveries(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<OutboxEntry>, StoreError> {
        let sql = format!(
            "SELECT d.alert, d.task, d.target, a.notice, d.tries FROM _delivery d JOIN _alert a ON a.id = d.alert
                 WHERE d.next_try <= $1 AND {FIRST_IN_LINE} AND {} ORDER BY d.alert, d.target LIMIT $2",
            self.owned_condition("d.task")
        );
        self.session.rows(&sql, &[&now, &i64::try_from(most).unwrap_or(i64::MAX)])?.iter().map(read_entry).collect()
    }

    fn next_delivery_at(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let sql = format!(
            "SELECT min(d.next_try) FROM _delivery d WHERE d.next_try IS NOT NULL AND {FIRST_IN_LINE} AND {}",
            self.owned_condition("d.task")
        );
        self.session.row(&sql, &[])?.map_or(Ok(None), |row| get(&row, 0))
    }

    fn pending_deliveries(&self) -> Result<u64, StoreError> {
        let count = self.session.number("SELECT count(*) FROM _delivery WHERE next_try IS NOT NULL", &[])?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    fn failing_deliveries(&self, since: DateTime<Utc>) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM _delivery d JOIN _alert a ON a.id = d.alert
                   WHERE d.delivered_at IS NULL AND d.trouble IS NOT NULL
                       AND (d.next_try IS NOT NULL OR a.made_at > $1)";
        Ok(u64::try_from(self.session.number(sql, &[&since])?).unwrap_or(0))
    }

    fn mark_delivered(&mut self, letter: &OutboxEntry, now: DateTime<Utc>) -> Result<(), StoreError> {
        let sql = "UPDATE _delivery SET tries = tries + 1, next_try = NULL, delivered_at = $3, trouble = NULL
                   WHERE alert = $1 AND target = $2";
        self.session.execute(sql, &[&letter.id, &letter.target, &timestamp::to_millis(now)])?;
        Ok(())
    }

    fn mark_undelivered(
        &mut self,
        letter: &OutboxEntry,
        trouble: &str,
        next_try: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let sql =
            "UPDATE _delivery SET tries = tries + 1, next_try = $3, trouble = $4 WHERE alert = $1 AND target = $2";
        let next_try = next_try.map(timestamp::to_millis);
        self.session.execute(sql, &[&letter.id, &letter.target, &next_try, &storable(trouble)])?;
        Ok(())
    }

    fn deliveries(&self, task: Option<&TaskName>, most: u32) -> Result<Vec<Delivery>, StoreError> {
        let sql =
            "SELECT d.alert, d.task, d.target, a.notice, d.tries, a.made_at, d.delivered_at, d.next_try, d.trouble
                   FROM _delivery d JOIN _alert a ON a.id = d.alert WHERE $1::text IS NULL OR a.task = $1
                   ORDER BY d.alert DESC, d.target LIMIT $2";
        let found = self.session.rows(sql, &[&task.map(TaskName::as_str), &i64::from(most)])?;
        let delivery = |row| {
            Ok(Delivery {
                entry: read_entry(row)?,
                made_at: get(row, 5)?,
                delivered_at: get(row, 6)?,
                next_attempt: get(row, 7)?,
                last_error: get(row, 8)?,
            })
        };
        found.iter().map(delivery).collect()
    }
}

fn read_entry(row: &Row) -> Result<OutboxEntry, StoreError> {
    Ok(OutboxEntry {
        id: get(row, 0)?,
        task: decode::task_name(get(row, 1)?)?,
        target: get(row, 2)?,
        json: get(row, 3)?,
        attempts: u32::try_from(get::<i64>(row, 4)?).unwrap_or(u32::MAX),
    })
}

fn insert_alert(
    session: &PgSession,
    task: &TaskName,
    outgoing: &OutgoingAlert,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let now = timestamp::to_millis(now);
    let sql = "INSERT INTO _alert (id, task, made_at, notice) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    session.execute(sql, &[&outgoing.id, &task.as_str(), &now, &storable(&outgoing.json)])?;
    for target in &outgoing.targets {
        // A target that is listed twice gets the alert once.
        let sql =
            "INSERT INTO _delivery (alert, task, target, next_try) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        session.execute(sql, &[&outgoing.id, &task.as_str(), target, &now])?;
    }
    Ok(())
}

fn prune_finished(session: &PgSession, task: &TaskName) -> Result<(), StoreError> {
    session.execute(
        "DELETE FROM _alert WHERE id IN (SELECT id FROM _alert WHERE task = $1 ORDER BY id DESC OFFSET $2)
             AND NOT EXISTS (SELECT 1 FROM _delivery WHERE alert = id AND next_try IS NOT NULL)",
        &[&task.as_str(), &i64::from(MAX_FINISHED_DELIVERIES)],
    )?;
    Ok(())
}
