//! Outbox of alerts: which tasks have alerts, their alert state, and which deliveries are pending. The content of an
//! alert is opaque JSON here.

use chrono::{DateTime, Utc};

use super::{StoreError, TaskRow};
use crate::model::TaskName;
use crate::model::task::Alert;

/// Finished alerts (delivered or given up) that are kept per task.
pub(super) const MAX_FINISHED_DELIVERIES: u32 = 50;

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
    fn set_alert_configs(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> Result<(), StoreError>;

    /// Tasks that have alerts and whose folders are not gone.
    fn tasks_with_alerts(&self, which: &AlertTaskFilter) -> Result<Vec<AlertTask>, StoreError>;

    /// Stores the new alert states and the alerts to be delivered, all or nothing: many tasks cost one wait for the
    /// disk.
    fn enqueue_alerts(&mut self, told: &[AlertStateUpdate], now: DateTime<Utc>) -> Result<(), StoreError>;

    /// Deliveries that are due, oldest first. A target gets the alerts of a task in order: while one waits for its
    /// retry, the later ones wait too.
    fn due_deliveries(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<OutboxEntry>, StoreError>;

    /// When the next delivery is due.
    fn next_delivery_at(&self) -> Result<Option<DateTime<Utc>>, StoreError>;

    /// Number of pending deliveries.
    fn pending_deliveries(&self) -> Result<u64, StoreError>;

    /// Number of failing deliveries: those that are being retried, and those that were given up since then.
    fn failing_deliveries(&self, since: DateTime<Utc>) -> Result<u64, StoreError>;

    fn mark_delivered(&mut self, letter: &OutboxEntry, now: DateTime<Utc>) -> Result<(), StoreError>;

    /// Records a failed attempt. Without a next attempt the delivery is given up.
    fn mark_undelivered(
        &mut self,
        letter: &OutboxEntry,
        trouble: &str,
        next_try: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError>;

    /// The last deliveries, newest first, of one task or of all.
    fn deliveries(&self, task: Option<&TaskName>, most: u32) -> Result<Vec<Delivery>, StoreError>;
}
