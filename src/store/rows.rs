//! Reading rows: published and quarantined ones.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::StoreError;
use super::change_set::RecordKey;
use super::generation::Generation;
use super::names::ColumnName;
use super::sql::{SqlRow, SqlSession};
use crate::model::{Facet, Row, RunId, Table, TaskName, ValueColumn, Verdict};

/// Some rows of a generation, with the view's additional columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The newest run that saw exactly these rows: `_run`.
    pub run: RunId,
    /// When that was: `_last_seen`.
    pub last_seen: DateTime<Utc>,
    /// How many rows the generation has, whatever part of it was asked for.
    pub total: u64,
    /// Under the column names of the view; `_page` is each row's page.
    pub table: Table,
    /// Value columns of the columns that have a type; each names its column of the table by number.
    pub values: Vec<ValueColumn>,
    /// The cells of `values`, for each row.
    pub cells: Vec<Vec<Json>>,
    /// `_first_seen` of each row of the table.
    pub first_seen: Vec<DateTime<Utc>>,
    /// `_key` of each row: identifies it from run to run.
    pub keys: Vec<RecordKey>,
}

/// Which part of the published rows is shown, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrowseQuery {
    /// Only rows with this text in one of their cells; the case of plain letters is ignored.
    pub contains: Option<String>,
    /// Sort by this column of the view, by value where it has a type. None: in the order of the pages.
    pub sort_by: Option<String>,
    pub descending: bool,
    pub limit: u64,
    pub offset: u64,
}

impl BrowseQuery {
    /// The column of the table that sorts.
    pub(super) fn sort_column(&self, columns: &[ColumnName]) -> Option<usize> {
        let by = self.sort_by.as_deref()?;
        let at = columns.iter().position(|it| it.is_text() && it.stored == by)?;
        let is_value = |it: &ColumnName| it.value.is_some_and(|value| value.of == at && value.facet == Facet::Value);
        Some(columns.iter().position(is_value).unwrap_or(at))
    }
}

/// What a person wants done with unpublished rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewAction {
    /// Publish the newest quarantined rows.
    Accept,
    /// Remove all quarantined rows.
    Drop,
    /// Publish the previous rows again.
    RollBack,
}

/// The rows of a task.
pub trait PublishedRows {
    /// The published rows of a task in the order of its pages; `None` when nothing was ever published.
    fn published(&self, task: &TaskName, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError>;

    /// Some of the published rows; `total` is the number of all matches. An unknown column does not sort.
    fn browse(&self, task: &TaskName, browse: &BrowseQuery) -> Result<Option<Rows>, StoreError>;

    /// Reads all published rows of a task in the order of its pages, as one snapshot, in bounded parts: memory use does
    /// not depend on the number of rows. A part without rows comes first, so that the columns are known. `false` when
    /// nothing was ever published.
    fn each_published(
        &self,
        task: &TaskName,
        take: &mut dyn FnMut(&Rows) -> ControlFlow<()>,
    ) -> Result<bool, StoreError>;

    /// The quarantined rows of a run; `None` when it was not quarantined or they were removed.
    fn quarantined_rows(&self, run: RunId, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError>;

    /// Published records by key, as one snapshot, in the order of the keys. A key consists of the cells that identify a
    /// record, under their column names in the view.
    fn published_by_key(&self, task: &TaskName, keys: &[Vec<(&str, &str)>]) -> Result<Vec<Option<Row>>, StoreError>;
}

/// A person's decisions on unpublished rows.
pub trait Review {
    /// Returns the verdict of the run that it made, or none where there are no such rows. `key` names the task's key
    /// columns.
    fn apply_review(
        &mut self,
        task: &TaskName,
        what: ReviewAction,
        key: &[String],
        now: DateTime<Utc>,
    ) -> Result<Option<Verdict>, StoreError>;

    /// The run whose rows are quarantined, if there is one.
    fn quarantined_run(&self, task: &TaskName) -> Result<Option<RunId>, StoreError>;
}

/// What is known of a generation before any row is read.
pub(super) fn without_rows(session: &impl SqlSession, generation: &Generation) -> Result<Rows, StoreError> {
    let sql = "SELECT run, last_seen FROM _generation WHERE id = $1";
    let seen = session.query_first(sql, &[&generation.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let gone = || StoreError::InvalidValue(format!("generation {} is gone", generation.id));
    let (run, last_seen) = seen.ok_or_else(gone)?;
    let columns = &generation.columns;
    let RowLayout { texts, values } = RowLayout::of(generation);
    // Index among the text columns, as the table has them.
    let among = |value: ValueColumn| ValueColumn { of: texts.iter().filter(|&&at| at < value.of).count(), ..value };
    Ok(Rows {
        run,
        last_seen,
        total: u64::try_from(generation.rows).unwrap_or(0),
        table: Table { columns: texts.iter().map(|&at| columns[at].stored.clone()).collect(), rows: Vec::new() },
        values: values.iter().filter_map(|&at| columns[at].value).map(among).collect(),
        cells: Vec::new(),
        first_seen: Vec::new(),
        keys: Vec::new(),
    })
}

/// Which columns of a generation's table hold texts, and which values.
pub(super) struct RowLayout {
    texts: Vec<usize>,
    values: Vec<usize>,
}

impl RowLayout {
    pub fn of(generation: &Generation) -> RowLayout {
        let columns = &generation.columns;
        let (texts, values) = (0..columns.len()).partition(|&at| columns[at].is_text());
        RowLayout { texts, values }
    }

    /// Appends a row of `_page`, `_first_seen`, `_key` and all cells, and returns the number of bytes of its texts.
    pub fn append_row(&self, row: &dyn SqlRow, rows: &mut Rows) -> Result<usize, StoreError> {
        let cells: Vec<Option<String>> = self.texts.iter().map(|at| row.get(at + 3)).collect::<Result<_, _>>()?;
        let bytes = cells.iter().flatten().map(String::len).sum();
        rows.table.rows.push(Row { cells, page: row.get(0)? });
        rows.first_seen.push(row.get(1)?);
        rows.keys.push(row.get(2)?);
        if !self.values.is_empty() {
            rows.cells.push(self.values.iter().map(|at| row.get(at + 3)).collect::<Result<_, _>>()?);
        }
        Ok(bytes)
    }
}
