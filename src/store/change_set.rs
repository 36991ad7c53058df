//! What a publication has changed in the published rows, record by record.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::model::{ChangeCounts, RunId};

/// Why the records of a change are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnlistedReason {
    /// Too many records differ: a list would repeat the table, so they are only counted.
    Many,
    /// The key columns are not the same, so nothing can be compared.
    Key,
    /// The previous rows were removed before they were compared.
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
            UnlistedReason::Many => "most of a large table has changed: the records are counted, not listed",
            UnlistedReason::Key => "the key columns have changed: the records could not be compared",
            UnlistedReason::Lost => "the previous rows were removed before they could be compared",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<UnlistedReason> {
        UnlistedReason::ALL.iter().copied().find(|it| it.word() == word)
    }
}

/// One publication that changed the published rows.
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
    /// The counts, unless nothing could be compared.
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

/// Identifies a record from run to run; written as 32 hexadecimal digits.
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

/// A cell's text, and its value where the column has a type.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CellValue {
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Json::is_null")]
    pub value: Json,
}

/// A changed cell. `from` is empty for an added record, `to` for a removed one.
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
    /// Display name: the texts of its key columns, or else its first text.
    pub name: String,
    pub cells: Vec<CellChange>,
}
