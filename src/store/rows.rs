//! Rows that are there to be read: those published, and those kept aside.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::StoreError;
use super::history::RecordKey;
use crate::model::{Row, RunId, Table, TaskName, ValueColumn, Verdict};

/// Some rows of a generation, with what the view says beside the columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The newest run that saw exactly these rows: `_run`.
    pub run: RunId,
    /// When that was: `_last_seen`.
    pub last_seen: DateTime<Utc>,
    /// How many rows the generation has, whatever part of it was asked for.
    pub total: u64,
    /// Under the names that the view has; `_page` is each row's page.
    pub table: Table,
    /// What the texts mean, for the columns that have a type: under the table's columns by number.
    pub values: Vec<ValueColumn>,
    /// Of each row: what each of `values` is.
    pub cells: Vec<Vec<Json>>,
    /// `_first_seen` of each row of the table.
    pub first_seen: Vec<DateTime<Utc>>,
    /// `_key` of each row: what tells it from run to run.
    pub keys: Vec<RecordKey>,
}

/// Which part of the published rows is looked at, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrowseQuery {
    /// Only rows with this text in one of their cells; upper and lower case of plain letters are the same.
    pub contains: Option<String>,
    /// By this column, under the name that the view has; by what its texts mean where it has a type. Absent: as the pages had them.
    pub sort_by: Option<String>,
    pub descending: bool,
    pub limit: u64,
    pub offset: u64,
}

/// What a person wants done with rows that are not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewAction {
    /// Publish the newest rows that were kept aside.
    Accept,
    /// Forget all that were kept aside.
    Drop,
    /// Publish the rows before those of now.
    RollBack,
}

/// The rows of a task.
pub trait PublishedRows {
    /// The published rows of a task in the order of its pages; `None` when nothing was ever published.
    fn published(&self, task: &TaskName, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError>;

    /// Some of the published rows; `total` is how many of them are wanted. A column that is not there sorts nothing.
    fn browse(&self, task: &TaskName, browse: &BrowseQuery) -> Result<Option<Rows>, StoreError>;

    /// Goes through all published rows of a task in the order of its pages, all of one moment, in parts of some thousand: the
    /// memory that it takes does not depend on how many there are. A part without rows comes first, so that the columns are
    /// known. `false` when nothing was ever published.
    fn each_published(
        &self,
        task: &TaskName,
        take: &mut dyn FnMut(&Rows) -> ControlFlow<()>,
    ) -> Result<bool, StoreError>;

    /// The rows that a run had kept aside; `None` when it was not quarantined or they are gone.
    fn quarantined_rows(&self, run: RunId, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError>;

    /// The published records of some keys, all of one moment, in the order of the keys. A key is the cells that identify a
    /// record, under the names of their columns in the view.
    fn published_by_key(&self, task: &TaskName, keys: &[Vec<(&str, &str)>]) -> Result<Vec<Option<Row>>, StoreError>;
}

/// What a person does with rows that are not published.
pub trait Review {
    /// Answers with the verdict of the run that it made, or none where there are no such rows. `key` are the task's columns
    /// that identify a record.
    fn apply_review(
        &mut self,
        task: &TaskName,
        what: ReviewAction,
        key: &[String],
        now: DateTime<Utc>,
    ) -> Result<Option<Verdict>, StoreError>;

    /// Has the task rows that were kept aside? Says whose.
    fn quarantined_run(&self, task: &TaskName) -> Result<Option<RunId>, StoreError>;
}
