//! What changed in the published rows, record by record, for as long as the task's `data.history` says.
//!
//! Each publication that changes what is published is one [`Change`]; the first of a task is none, for `_first_seen` says
//! as much. docs/history.md has the rules.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::StoreError;
use super::record_history::RecordHistory;
use crate::model::{ChangeCounts, RunId, TaskName, TimeSpan};

/// Why the records of a change are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnlistedReason {
    /// So many differ that a list would be the table again; they are counted.
    Many,
    /// The columns that tell one record from another are not the same; nothing can be compared.
    Key,
    /// The rows of before were removed before they were compared.
    Lost,
}

impl UnlistedReason {
    pub const ALL: &'static [UnlistedReason] = &[UnlistedReason::Many, UnlistedReason::Key, UnlistedReason::Lost];

    pub fn word(self) -> &'static str {
        match self {
            UnlistedReason::Many => "many",
            UnlistedReason::Key => "key",
            UnlistedReason::Lost => "lost",
        }
    }

    pub fn sentence(self) -> &'static str {
        match self {
            UnlistedReason::Many => "most of a large table is different: the records are counted, not listed",
            UnlistedReason::Key => {
                "the columns that tell records apart are others than before: nothing could be compared"
            }
            UnlistedReason::Lost => "the rows of before were gone before they were compared",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<UnlistedReason> {
        UnlistedReason::ALL.iter().copied().find(|it| it.word() == word)
    }
}

/// One publication that changed what is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeSet {
    /// Grows from change to change of a task.
    pub id: i64,
    pub run: RunId,
    pub at: DateTime<Utc>,
    pub rows_before: u64,
    pub rows_after: u64,
    /// None while a large table is still being compared.
    pub counts: Option<ChangeCounts>,
    pub unlisted: Option<UnlistedReason>,
}

impl ChangeSet {
    /// The counts, unless they say nothing.
    pub fn known_counts(&self) -> Option<ChangeCounts> {
        self.counts.filter(|_| !matches!(self.unlisted, Some(UnlistedReason::Key | UnlistedReason::Lost)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Added,
    Changed,
    Removed,
}

impl ChangeKind {
    pub const ALL: &'static [ChangeKind] = &[ChangeKind::Added, ChangeKind::Changed, ChangeKind::Removed];

    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Changed => "changed",
            ChangeKind::Removed => "removed",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<ChangeKind> {
        ChangeKind::ALL.iter().copied().find(|it| it.word() == word)
    }
}

/// What tells a record from run to run; 32 hexadecimal digits where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey(pub(super) u128);

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for RecordKey {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<RecordKey, std::num::ParseIntError> {
        u128::from_str_radix(text, 16).map(RecordKey)
    }
}

impl Serialize for RecordKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A cell's text, and what it means where its column has a type.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CellValue {
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Json::is_null")]
    pub value: Json,
}

/// A cell that is not what it was. Of an added record `from` is empty, of a removed one `to` is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellChange {
    pub column: String,
    pub from: CellValue,
    pub to: CellValue,
}

/// A record that a change has added, changed or removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordChange {
    /// Grows from record to record of a change.
    pub id: i64,
    pub key: RecordKey,
    pub what: ChangeKind,
    /// For people: the texts of its key columns, or else the first text that it has.
    pub name: String,
    pub cells: Vec<CellChange>,
}

/// What changed, and when.
pub trait History {
    /// How long changes of tasks are kept; a task that nobody has spoken of keeps them for 90 days.
    fn keep_history(&mut self, spans: &[(TaskName, TimeSpan)]) -> Result<(), StoreError>;

    /// The changes of a task, newest first; only those before `before`, where that is given.
    fn changes(&self, task: &TaskName, before: Option<i64>, limit: u32) -> Result<Vec<ChangeSet>, StoreError>;

    /// The change that a run has made, if it has made one.
    fn change_of(&self, run: RunId) -> Result<Option<ChangeSet>, StoreError>;

    /// The records of a change: those added, changed and removed, each in the order of the table; only those after `after`.
    fn records_of(&self, change: i64, after: i64, limit: u32) -> Result<Vec<RecordChange>, StoreError>;

    /// What a change has done to the records of some keys; those that it has left alone are not there.
    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> Result<Vec<RecordChange>, StoreError>;

    /// Records that a person may mean: the one whose key columns say exactly that, or else those whose names contain it.
    fn records_named(
        &self,
        task: &TaskName,
        words: &[String],
        limit: u32,
    ) -> Result<Vec<(RecordKey, String)>, StoreError>;

    /// The life of one record; none where it is not published and was not in all of the history.
    fn record_history(&self, task: &TaskName, key: RecordKey) -> Result<Option<RecordHistory>, StoreError>;
}
