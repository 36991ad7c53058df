//! Alerts: which tasks have any, what was told of them, and what is still to be delivered. What an alert says is its own
//! affair: here it is JSON.

use chrono::{DateTime, Utc};

use super::{StoreError, TaskRow};
use crate::model::TaskName;
use crate::model::task::Alert;

/// Alerts of a task that are remembered once they are delivered or given up.
pub(super) const KEPT: u32 = 50;

/// A task with alerts.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    pub row: TaskRow,
    pub wanted: Alert,
    /// What was told, as it was last given to [`Letters::tell`]; `{}` at first.
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

/// What people are told of their tasks.
pub trait Letters {
    /// Takes in what tasks want to be told; none for those that want nothing.
    fn watch(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> Result<(), StoreError>;

    /// The tasks that have alerts and are not gone.
    fn watched(&self, which: &Which) -> Result<Vec<Watched>, StoreError>;

    /// Keeps what was told, and the alerts that are to be delivered for it: all of it or nothing, and many tasks are one wait
    /// for the disk.
    fn tell(&mut self, told: &[Told], now: DateTime<Utc>) -> Result<(), StoreError>;

    /// What is to be delivered now, oldest first. A target gets the alerts of a task in their order: while one waits for
    /// its next try, the ones after it wait too.
    fn letters(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<Letter>, StoreError>;

    /// When something is to be tried next.
    fn next_letter(&self) -> Result<Option<DateTime<Utc>>, StoreError>;

    /// How many wait to be delivered.
    fn letters_waiting(&self) -> Result<u64, StoreError>;

    /// How many did not arrive so far: those that are tried again, and those that were given up since then.
    fn letters_in_trouble(&self, since: DateTime<Utc>) -> Result<u64, StoreError>;

    fn delivered(&mut self, letter: &Letter, now: DateTime<Utc>) -> Result<(), StoreError>;

    /// It did not arrive. Without a next try it is given up.
    fn undelivered(
        &mut self,
        letter: &Letter,
        trouble: &str,
        next_try: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError>;

    /// The last deliveries, newest first: of one task or of all.
    fn deliveries(&self, task: Option<&TaskName>, most: u32) -> Result<Vec<Delivery>, StoreError>;
}
