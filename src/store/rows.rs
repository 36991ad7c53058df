//! Reading rows: published and quarantined ones.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::change_set::RecordKey;
use super::digest::KeyHash;
use super::generation::{self, Generation, RowTables};
use super::names::ColumnName;
use super::sql::{SqlParam, SqlRow, SqlSession, SqlStore};
use super::{StoreError, StoreResult, digest};
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
    /// Rows in the order of the pages.
    pub(super) fn part(limit: u64, offset: u64) -> BrowseQuery {
        BrowseQuery { limit, offset, ..BrowseQuery::default() }
    }

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
    fn published(&self, task: &TaskName, limit: u64, offset: u64) -> StoreResult<Option<Rows>>;

    /// Some of the published rows; `total` is the number of all matches. An unknown column does not sort.
    fn browse(&self, task: &TaskName, browse: &BrowseQuery) -> StoreResult<Option<Rows>>;

    /// Reads all published rows of a task in the order of its pages, as one snapshot, in bounded parts: memory use does
    /// not depend on the number of rows. A part without rows comes first, so that the columns are known. `false` when
    /// nothing was ever published.
    fn each_published(&self, task: &TaskName, take: &mut dyn FnMut(&Rows) -> ControlFlow<()>) -> StoreResult<bool>;

    /// The quarantined rows of a run; `None` when it was not quarantined or they were removed.
    fn quarantined_rows(&self, run: RunId, limit: u64, offset: u64) -> StoreResult<Option<Rows>>;

    /// Published records by key, as one snapshot, in the order of the keys. A key consists of the cells that identify a
    /// record, under their column names in the view.
    fn published_by_key(&self, task: &TaskName, keys: &[Vec<(&str, &str)>]) -> StoreResult<Vec<Option<Row>>>;
}

/// When the published rows and those before them were published and seen, by the starts of their runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicationTimes {
    /// The run that published the rows; none where nothing is published, or where the run is forgotten.
    pub published: Option<DateTime<Utc>>,
    /// The last run that found the previous rows; none where no rows can be brought back.
    pub previous_seen: Option<DateTime<Utc>>,
    /// The published rows were brought back by a rollback.
    pub is_rolled_back: bool,
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
    ) -> StoreResult<Option<Verdict>>;

    /// The run whose rows are quarantined, if there is one.
    fn quarantined_run(&self, task: &TaskName) -> StoreResult<Option<RunId>>;

    /// What a rollback would bring back.
    fn publication_times(&self, task: &TaskName) -> StoreResult<PublicationTimes>;
}

/// Reading rows, where the databases differ.
pub(super) trait RowReading: RowTables {
    /// Row numbers have no gaps, so that an offset needs no counting.
    const IS_NUMBERED_WITHOUT_GAPS: bool;

    /// What `$1` of [`RowReading::contains_sql`] is for a text.
    fn pattern(text: &str) -> String;

    /// Condition that a cell contains the text of `$1`.
    fn contains_sql(cell: &str) -> String;

    /// How a column sorts, with a comma after it. Empty cells are last in both directions.
    fn order_sql(cell: &str, column: &ColumnName, direction: &str) -> String;

    /// As [`PublishedRows::each_published`].
    fn each_published(&self, task: &TaskName, take: &mut dyn FnMut(&Rows) -> ControlFlow<()>) -> StoreResult<bool>;

    /// The oldest record of each key.
    fn rows_by_key(&self, generation: &Generation, keys: &[KeyHash]) -> StoreResult<Vec<Option<Row>>>;
}

impl<S: SqlStore<Session: RowReading>> PublishedRows for S {
    fn published(&self, task: &TaskName, limit: u64, offset: u64) -> StoreResult<Option<Rows>> {
        self.browse(task, &BrowseQuery::part(limit, offset))
    }

    fn browse(&self, task: &TaskName, browse: &BrowseQuery) -> StoreResult<Option<Rows>> {
        read(self.session(), "task = $1 AND state = 'published'", task, browse)
    }

    fn each_published(&self, task: &TaskName, take: &mut dyn FnMut(&Rows) -> ControlFlow<()>) -> StoreResult<bool> {
        self.session().each_published(task, take)
    }

    fn quarantined_rows(&self, run: RunId, limit: u64, offset: u64) -> StoreResult<Option<Rows>> {
        rows_in_state(self.session(), run, "quarantined", &BrowseQuery::part(limit, offset))
    }

    fn published_by_key(&self, task: &TaskName, keys: &[Vec<(&str, &str)>]) -> StoreResult<Vec<Option<Row>>> {
        let hash = |key: &Vec<(&str, &str)>| digest::record_digest(key.iter().copied()).to_be_bytes();
        let keys: Vec<KeyHash> = keys.iter().map(hash).collect();
        self.session().in_snapshot(|| match generation::published(self.session(), task)? {
            Some(generation) => self.session().rows_by_key(&generation, &keys),
            None => Ok(vec![None; keys.len()]),
        })
    }
}

/// Some rows of a run, which are in a state.
pub(super) fn rows_in_state(
    session: &impl RowReading,
    run: RunId,
    state: &str,
    browse: &BrowseQuery,
) -> StoreResult<Option<Rows>> {
    read(session, &format!("run = $1 AND state = '{state}'"), &run, browse)
}

/// Some rows of the newest generation that meets a condition on one value.
fn read(
    session: &impl RowReading,
    condition: &str,
    value: &dyn SqlParam,
    browse: &BrowseQuery,
) -> StoreResult<Option<Rows>> {
    // One snapshot: a publication in between must not drop the table.
    session.in_snapshot(|| {
        let found = generation::find(session, condition, value)?;
        found.map(|generation| read_part(session, &generation, browse)).transpose()
    })
}

pub(super) fn read_part<S: RowReading>(
    session: &S,
    generation: &Generation,
    browse: &BrowseQuery,
) -> StoreResult<Rows> {
    let mut rows = without_rows(session, generation)?;
    let columns = &generation.columns;
    let pattern = browse.contains.as_deref().filter(|text| !text.is_empty()).map(S::pattern);
    let texts = columns.iter().enumerate().filter(|(_, column)| column.is_text());
    let each: String = texts.map(|(at, it)| format!(" OR {}", S::contains_sql(&S::cell_sql(at, it)))).collect();
    let condition = format!("(CAST($1 AS text) IS NULL{each})");
    if pattern.is_some() {
        let sql = format!("SELECT count(*) FROM {} AND {condition}", S::rows_sql(generation));
        rows.total = u64::try_from(session.query_number(&sql, &[&pattern])?).unwrap_or(0);
    }
    let direction = if browse.descending { "DESC" } else { "ASC" };
    let sorted = browse.sort_column(columns);
    let order = sorted.map(|at| S::order_sql(&S::cell_sql(at, &columns[at]), &columns[at], direction));
    let is_plain = S::IS_NUMBERED_WITHOUT_GAPS && pattern.is_none() && order.is_none();
    let (after, offset) = if is_plain { (browse.offset, 0) } else { (0, browse.offset) };
    let (select, number, order) = (select::<S>(generation), S::ROW_NUMBER, order.unwrap_or_default());
    let sql = format!("{select} AND {number} > $2 AND {condition} ORDER BY {order}{number} LIMIT $3 OFFSET $4");
    let layout = RowLayout::of(generation);
    session.query(&sql, &[&pattern, &after, &browse.limit, &offset], |row| layout.append_row(row, &mut rows))?;
    Ok(rows)
}

/// Selects everything that [`RowLayout::append_row`] reads of a row.
pub(super) fn select<S: RowTables>(generation: &Generation) -> String {
    let cells = S::cells_sql(&generation.columns, |_| true);
    format!("SELECT _page, _first_seen, _key{cells} FROM {}", S::rows_sql(generation))
}

/// What is known of a generation before any row is read.
pub(super) fn without_rows(session: &impl SqlSession, generation: &Generation) -> StoreResult<Rows> {
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
    pub fn append_row(&self, row: &dyn SqlRow, rows: &mut Rows) -> StoreResult<usize> {
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
