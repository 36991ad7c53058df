//! Outbox of alerts: which tasks have alerts, their alert state, and which deliveries are pending. The content of an
//! alert is opaque JSON here.

use chrono::{DateTime, Utc};

use super::sql::{NO_LIMIT, SqlRow, SqlSession, SqlStore};
use super::tasks::{self, TaskRow};
use super::{StoreError, StoreResult};
use crate::model::TaskName;
use crate::model::task::Alert;

/// Finished alerts (delivered or given up) that are kept per task.
const MAX_FINISHED_DELIVERIES: u32 = 50;

/// Condition: no older alert of the task is pending for the same target.
const FIRST_IN_LINE: &str = "NOT EXISTS (SELECT 1 FROM _delivery e WHERE e.task = d.task AND e.target = d.target
    AND e.alert < d.alert AND e.next_try IS NOT NULL)";

/// A task with alerts.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertTask {
    pub row: TaskRow,
    pub alert: Alert,
    /// Alert state, as it was last given to [`Outbox::enqueue_alerts`]; `{}` at first.
    pub state_json: String,
}

/// Selects tasks with alerts.
#[derive(Clone, Debug)]
pub enum AlertTaskFilter {
    All,
    One(TaskName),
    /// Tasks whose next run should have started by then.
    DueBefore(DateTime<Utc>),
}

/// The new alert state of a task.
#[derive(Clone, Debug)]
pub struct AlertStateUpdate {
    pub task: TaskName,
    pub state_json: String,
    /// The alert to be sent, if any.
    pub outgoing: Option<OutgoingAlert>,
}

/// An alert to be stored and delivered.
#[derive(Clone, Debug)]
pub struct OutgoingAlert {
    pub id: String,
    pub json: String,
    /// As written in task.toml: with the names of secrets, not their values.
    pub targets: Vec<String>,
}

/// One alert for one target, due for delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    pub id: String,
    pub task: TaskName,
    pub target: String,
    pub json: String,
    /// Attempts so far.
    pub attempts: u32,
}

/// State of an alert's delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub entry: OutboxEntry,
    pub made_at: DateTime<Utc>,
    pub delivered_at: Option<DateTime<Utc>>,
    /// None once it was delivered or given up.
    pub next_attempt: Option<DateTime<Utc>>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
}

/// Alert settings, alert state and deliveries.
pub trait Outbox {
    /// Stores the alert settings of tasks; `None` removes them.
    fn set_alert_configs(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> StoreResult<()>;

    /// Tasks that have alerts and whose folders are not gone.
    fn tasks_with_alerts(&self, which: &AlertTaskFilter) -> StoreResult<Vec<AlertTask>>;

    /// Stores the new alert states and the alerts to be delivered, all or nothing: many tasks cost one wait for the
    /// disk.
    fn enqueue_alerts(&mut self, told: &[AlertStateUpdate], now: DateTime<Utc>) -> StoreResult<()>;

    /// Deliveries that are due, oldest first. A target gets the alerts of a task in order: while one waits for its
    /// retry, the later ones wait too.
    fn due_deliveries(&self, now: DateTime<Utc>, most: usize) -> StoreResult<Vec<OutboxEntry>>;

    /// When the next delivery is due.
    fn next_delivery_at(&self) -> StoreResult<Option<DateTime<Utc>>>;

    /// Number of pending deliveries.
    fn pending_deliveries(&self) -> StoreResult<u64>;

    /// Number of failing deliveries: those that are being retried, and those that were given up since then.
    fn failing_deliveries(&self, since: DateTime<Utc>) -> StoreResult<u64>;

    fn mark_delivered(&mut self, letter: &OutboxEntry, now: DateTime<Utc>) -> StoreResult<()>;

    /// Records a failed attempt. Without a next attempt the delivery is given up.
    fn mark_undelivered(
        &mut self,
        letter: &OutboxEntry,
        trouble: &str,
        next_try: Option<DateTime<Utc>>,
    ) -> StoreResult<()>;

    /// The last deliveries, newest first, of one task or of all.
    fn deliveries(&self, task: Option<&TaskName>, most: u32) -> StoreResult<Vec<Delivery>>;
}

impl<S: SqlStore> Outbox for S {
    fn set_alert_configs(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> StoreResult<()> {
        let session = self.session();
        session.in_transaction(|| {
            for (task, alert) in wanted {
                let Some(alert) = alert else {
                    session.modify("DELETE FROM _watched WHERE task = $1", &[task])?;
                    continue;
                };
                let json = serde_json::to_string(alert).map_err(StoreError::invalid_value)?;
                session.modify(
                    "INSERT INTO _watched (task, wanted, said) VALUES ($1, $2, '{}')
                     ON CONFLICT (task) DO UPDATE SET wanted = excluded.wanted
                     WHERE _watched.wanted <> excluded.wanted",
                    &[task, &json],
                )?;
            }
            Ok(())
        })
    }

    fn tasks_with_alerts(&self, which: &AlertTaskFilter) -> StoreResult<Vec<AlertTask>> {
        let session = self.session();
        let watched = format!(
            "t.removed_at IS NULL AND t.name IN (SELECT task FROM _watched) AND {}",
            self.owned_condition("t.name")
        );
        let rows = match which {
            AlertTaskFilter::All => tasks::tasks_where(session, &watched, &[])?,
            AlertTaskFilter::One(task) => tasks::tasks_where(session, &format!("{watched} AND t.name = $1"), &[task])?,
            AlertTaskFilter::DueBefore(at) => {
                tasks::tasks_where(session, &format!("{watched} AND t.next_due < $1"), &[at])?
            }
        };
        let mut watched = Vec::new();
        for row in rows {
            let sql = "SELECT wanted, said FROM _watched WHERE task = $1";
            let found = session.query_first(sql, &[&row.name], |found| Ok((found.json(0)?, found.get(1)?)))?;
            watched.extend(found.map(|(alert, state_json)| AlertTask { row, alert, state_json }));
        }
        Ok(watched)
    }

    fn enqueue_alerts(&mut self, told: &[AlertStateUpdate], now: DateTime<Utc>) -> StoreResult<()> {
        self.ensure_writable()?;
        let session = self.session();
        session.in_transaction(|| {
            for AlertStateUpdate { task, state_json: said, outgoing } in told {
                session.modify("UPDATE _watched SET said = $2 WHERE task = $1 AND said <> $2", &[task, said])?;
                if let Some(outgoing) = outgoing {
                    insert_alert(session, task, outgoing, now)?;
                    prune_finished(session, task)?;
                }
            }
            Ok(())
        })
    }

    fn due_deliveries(&self, now: DateTime<Utc>, most: usize) -> StoreResult<Vec<OutboxEntry>> {
        let sql = format!(
            "SELECT d.alert, d.task, d.target, a.notice, d.tries FROM _delivery d JOIN _alert a ON a.id = d.alert
             WHERE d.next_try <= $1 AND {FIRST_IN_LINE} AND {} ORDER BY d.alert, d.target LIMIT $2",
            self.owned_condition("d.task")
        );
        self.session().query(&sql, &[&now, &(most as u64)], read_entry)
    }

    fn next_delivery_at(&self) -> StoreResult<Option<DateTime<Utc>>> {
        let sql = format!(
            "SELECT min(d.next_try) FROM _delivery d WHERE d.next_try IS NOT NULL AND {FIRST_IN_LINE} AND {}",
            self.owned_condition("d.task")
        );
        Ok(self.session().query_first(&sql, &[], |row| row.get(0))?.flatten())
    }

    fn pending_deliveries(&self) -> StoreResult<u64> {
        let sql = "SELECT count(*) FROM _delivery WHERE next_try IS NOT NULL";
        Ok(u64::try_from(self.session().query_number(sql, &[])?).unwrap_or(0))
    }

    fn failing_deliveries(&self, since: DateTime<Utc>) -> StoreResult<u64> {
        let sql = "SELECT count(*) FROM _delivery d JOIN _alert a ON a.id = d.alert
                   WHERE d.delivered_at IS NULL AND d.trouble IS NOT NULL
                       AND (d.next_try IS NOT NULL OR a.made_at > $1)";
        Ok(u64::try_from(self.session().query_number(sql, &[&since])?).unwrap_or(0))
    }

    fn mark_delivered(&mut self, letter: &OutboxEntry, now: DateTime<Utc>) -> StoreResult<()> {
        let sql = "UPDATE _delivery SET tries = tries + 1, next_try = NULL, delivered_at = $3, trouble = NULL
                   WHERE alert = $1 AND target = $2";
        self.session().apply(sql, &[&letter.id, &letter.target, &now])
    }

    fn mark_undelivered(
        &mut self,
        letter: &OutboxEntry,
        trouble: &str,
        next_try: Option<DateTime<Utc>>,
    ) -> StoreResult<()> {
        let sql =
            "UPDATE _delivery SET tries = tries + 1, next_try = $3, trouble = $4 WHERE alert = $1 AND target = $2";
        self.session().apply(sql, &[&letter.id, &letter.target, &next_try, &trouble])
    }

    fn deliveries(&self, task: Option<&TaskName>, most: u32) -> StoreResult<Vec<Delivery>> {
        let sql =
            "SELECT d.alert, d.task, d.target, a.notice, d.tries, a.made_at, d.delivered_at, d.next_try, d.trouble
             FROM _delivery d JOIN _alert a ON a.id = d.alert WHERE CAST($1 AS text) IS NULL OR a.task = $1
             ORDER BY d.alert DESC, d.target LIMIT $2";
        self.session().query(sql, &[&task, &most], |row| {
            Ok(Delivery {
                entry: read_entry(row)?,
                made_at: row.get(5)?,
                delivered_at: row.get(6)?,
                next_attempt: row.get(7)?,
                last_error: row.get(8)?,
            })
        })
    }
}

fn read_entry(row: &dyn SqlRow) -> StoreResult<OutboxEntry> {
    Ok(OutboxEntry {
        id: row.get(0)?,
        task: row.get(1)?,
        target: row.get(2)?,
        json: row.get(3)?,
        attempts: row.get(4)?,
    })
}

fn insert_alert(
    session: &impl SqlSession,
    task: &TaskName,
    outgoing: &OutgoingAlert,
    now: DateTime<Utc>,
) -> StoreResult<()> {
    let sql = "INSERT INTO _alert (id, task, made_at, notice) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    session.modify(sql, &[&outgoing.id, task, &now, &outgoing.json])?;
    for target in &outgoing.targets {
        // A target that is listed twice gets the alert once.
        let sql =
            "INSERT INTO _delivery (alert, task, target, next_try) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        session.modify(sql, &[&outgoing.id, task, target, &now])?;
    }
    Ok(())
}

fn prune_finished(session: &impl SqlSession, task: &TaskName) -> StoreResult<()> {
    let sql = format!(
        "DELETE FROM _alert
         WHERE id IN (SELECT id FROM _alert WHERE task = $1 ORDER BY id DESC LIMIT {NO_LIMIT} OFFSET $2)
             AND NOT EXISTS (SELECT 1 FROM _delivery WHERE alert = id AND next_try IS NOT NULL)"
    );
    session.apply(&sql, &[task, &MAX_FINISHED_DELIVERIES])
}
