//! Alerts: which tasks have any, what was told of them, and what is still to be delivered. What an alert says is its own
//! affair: here it is JSON.

use chrono::{DateTime, Utc};

use super::{StoreError, TaskRow};
use crate::model::TaskName;
use crate::model::task::Alert;

/// Alerts of a task that are remembered once they are delivered or given up.
pub(super) const MAX_FINISHED_DELIVERIES: u32 = 50;

/// A task with alerts.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertTask {
    pub row: TaskRow,
    pub alert: Alert,
    /// What was told, as it was last given to [`Letters::tell`]; `{}` at first.
    pub state_json: String,
}

/// Of which tasks?
#[derive(Clone, Debug)]
pub enum AlertTaskFilter {
    All,
    One(TaskName),
    /// Those whose next run should have started by then.
    DueBefore(DateTime<Utc>),
}

/// What a task's people have been told by now.
#[derive(Clone, Debug)]
pub struct AlertStateUpdate {
    pub task: TaskName,
    pub state_json: String,
    /// The alert that tells them, where there is one.
    pub outgoing: Option<OutgoingAlert>,
}

/// An alert to be kept and delivered.
#[derive(Clone, Debug)]
pub struct OutgoingAlert {
    pub id: String,
    pub json: String,
    /// As task.toml spells them: with the names of secrets, not their values.
    pub targets: Vec<String>,
}

/// One alert for one target, to be delivered now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    pub id: String,
    pub task: TaskName,
    pub target: String,
    pub json: String,
    /// How often it was tried before.
    pub attempts: u32,
}

/// How the delivery of an alert stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub entry: OutboxEntry,
    pub made_at: DateTime<Utc>,
    pub delivered_at: Option<DateTime<Utc>>,
    /// Absent when it was delivered, and when it was given up.
    pub next_attempt: Option<DateTime<Utc>>,
    /// Why the last try failed.
    pub last_error: Option<String>,
}

/// What people are told of their tasks.
pub trait Outbox {
    /// Takes in what tasks want to be told; none for those that want nothing.
    fn set_alert_configs(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> Result<(), StoreError>;

    /// The tasks that have alerts and are not gone.
    fn tasks_with_alerts(&self, which: &AlertTaskFilter) -> Result<Vec<AlertTask>, StoreError>;

    /// Keeps what was told, and the alerts that are to be delivered for it: all of it or nothing, and many tasks are one wait
    /// for the disk.
    fn enqueue_alerts(&mut self, told: &[AlertStateUpdate], now: DateTime<Utc>) -> Result<(), StoreError>;

    /// What is to be delivered now, oldest first. A target gets the alerts of a task in their order: while one waits for
    /// its next try, the ones after it wait too.
    fn due_deliveries(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<OutboxEntry>, StoreError>;

    /// When something is to be tried next.
    fn next_delivery_at(&self) -> Result<Option<DateTime<Utc>>, StoreError>;

    /// How many wait to be delivered.
    fn pending_deliveries(&self) -> Result<u64, StoreError>;

    /// How many did not arrive so far: those that are tried again, and those that were given up since then.
    fn failing_deliveries(&self, since: DateTime<Utc>) -> Result<u64, StoreError>;

    fn mark_delivered(&mut self, letter: &OutboxEntry, now: DateTime<Utc>) -> Result<(), StoreError>;

    /// It did not arrive. Without a next try it is given up.
    fn mark_undelivered(
        &mut self,
        letter: &OutboxEntry,
        trouble: &str,
        next_try: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError>;

    /// The last deliveries, newest first: of one task or of all.
    fn deliveries(&self, task: Option<&TaskName>, most: u32) -> Result<Vec<Delivery>, StoreError>;
}
