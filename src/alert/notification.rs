//! A notification, as it is stored in the outbox and sent to webhooks.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::task::AlertOn;
use crate::model::{ChangeCounts, RunId, State, TaskName};

/// The kinds of `alert.on`, and the test of `pieme alert test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotificationKind {
    Failed,
    NeedsLabel,
    Recovered,
    Overdue,
    Changed,
    Test,
}

impl NotificationKind {
    pub fn word(self) -> &'static str {
        match self {
            NotificationKind::Failed => "failed",
            NotificationKind::NeedsLabel => "needs-label",
            NotificationKind::Recovered => "recovered",
            NotificationKind::Overdue => "overdue",
            NotificationKind::Changed => "changed",
            NotificationKind::Test => "test",
        }
    }

    pub(super) fn is_enabled(self, on: &[AlertOn]) -> bool {
        let of = |it: &AlertOn| match it {
            AlertOn::Failed => NotificationKind::Failed,
            AlertOn::NeedsLabel => NotificationKind::NeedsLabel,
            AlertOn::Recovered => NotificationKind::Recovered,
            AlertOn::Overdue => NotificationKind::Overdue,
            AlertOn::Changed => NotificationKind::Changed,
        };
        self == NotificationKind::Test || on.iter().map(of).any(|it| it == self)
    }
}

/// The JSON of a webhook (docs/alerts.md). Keys are never removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// The same at every delivery attempt.
    pub id: Uuid,
    pub kind: NotificationKind,
    pub task: TaskName,
    pub title: Option<String>,
    pub state: State,
    /// Of the last run; absent for a broken folder.
    pub outcome: Option<String>,
    pub cause: Option<String>,
    /// One sentence: what happened.
    pub sentence: String,
    /// Further lines, such as the place in a file.
    pub detail: Option<String>,
    pub at: DateTime<Utc>,
    /// When the incident began; for `recovered` the incident that is over.
    pub since: Option<DateTime<Utc>>,
    /// Consecutive failures.
    pub fails: u32,
    /// Rows that are published now.
    pub rows: Option<u64>,
    /// What the last run changed in the published rows, if it was compared.
    #[serde(default)]
    pub changes: Option<ChangeCounts>,
    pub similarity: Option<f64>,
    /// When a run last published or confirmed the rows.
    pub last_ok: Option<DateTime<Utc>>,
    pub run: Option<RunId>,
    /// The command to type next.
    #[serde(rename = "do")]
    pub advice: String,
    /// A link to the dashboard, or the `alert.link` of config.toml.
    pub link: Option<String>,
}

impl Notification {
    /// What `pieme alert test` sends.
    pub fn test(task: TaskName, id: Uuid, now: DateTime<Utc>) -> Notification {
        Notification {
            id,
            kind: NotificationKind::Test,
            advice: format!("pieme status {task}"),
            task,
            title: None,
            state: State::Ok,
            outcome: None,
            cause: None,
            sentence: "this is a test alert; nothing has happened".to_owned(),
            detail: None,
            at: now,
            since: None,
            fails: 0,
            rows: None,
            changes: None,
            similarity: None,
            last_ok: None,
            run: None,
            link: None,
        }
    }
}
