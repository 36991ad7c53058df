//! Generations: the rows of one run, as their entry in `_generation` describes them. Its state is `staging`,
//! `published`, `previous`, `refused`, `quarantined` or `old`.
//!
//! The rows that a publication replaces are `previous`, or `refused` where a person rolled them back. A task has one of
//! the two at most.

use chrono::{DateTime, Utc};

use super::batch::Batch;
use super::compare::RowShape;
use super::digest::Digest;
use super::names::ColumnName;
use super::sql::{NO_LIMIT, SqlParam, SqlRow, SqlSession};
use super::{StoreError, StoreResult};
use crate::model::{RunId, TaskName, Verdict};

/// A generation, without its rows.
pub(super) struct Generation {
    pub id: i64,
    /// Number of the table that has its rows.
    pub table: i64,
    pub columns: Vec<ColumnName>,
    /// Stored names of the key columns, where they were asked for and recorded.
    pub key: Option<Vec<String>>,
    pub rows: i64,
    pub digest: Digest,
}

impl Generation {
    /// Stored names of the text columns, in their order.
    pub fn texts(&self) -> Vec<&str> {
        self.columns.iter().filter(|column| column.is_text()).map(|column| column.stored.as_str()).collect()
    }

    pub fn shape(&self) -> RowShape {
        (self.texts().into_iter().map(str::to_owned).collect(), self.key.clone())
    }
}

/// How a database stores the rows of generations.
pub(super) trait RowTables: SqlSession {
    /// The column with the number of a row; rows are numbered from 1 in their order.
    const ROW_NUMBER: &'static str;

    /// SQL for the rows of a generation: its table, and a condition.
    fn rows_sql(generation: &Generation) -> String;

    /// SQL for the cells of a column, as they are read.
    fn cell_sql(at: usize, column: &ColumnName) -> String;

    /// The cells of all columns that are wanted, each after a comma.
    fn cells_sql(columns: &[ColumnName], is_wanted: impl Fn(&ColumnName) -> bool) -> String {
        let wanted = columns.iter().enumerate().filter(|(_, column)| is_wanted(column));
        wanted.map(|(at, column)| format!(", {}", Self::cell_sql(at, column))).collect()
    }
}

/// The newest generation that meets a condition on one value.
pub(super) fn find(
    session: &impl SqlSession,
    condition: &str,
    value: &dyn SqlParam,
) -> StoreResult<Option<Generation>> {
    session.query_first(&select(session, "", condition), &[value], read)
}

/// As `find`, with the key columns. A SQLite file that is not migrated yet has no such column.
pub(super) fn find_with_key(
    session: &impl SqlSession,
    condition: &str,
    value: &dyn SqlParam,
) -> StoreResult<Option<Generation>> {
    session.query_first(&select(session, ", key", condition), &[value], read_with_key)
}

fn select<S: SqlSession>(_: &S, key: &str, condition: &str) -> String {
    let table = S::ROWS_TABLE;
    format!(
        "SELECT id, {table}, columns, rows, digest{key} FROM _generation WHERE {condition} ORDER BY id DESC LIMIT 1"
    )
}

fn read(row: &dyn SqlRow) -> StoreResult<Generation> {
    let digest = Digest::from_bytes(&row.get::<Vec<u8>>(4)?)?;
    Ok(Generation { id: row.get(0)?, table: row.get(1)?, columns: row.json(2)?, key: None, rows: row.get(3)?, digest })
}

pub(super) fn read_with_key(row: &dyn SqlRow) -> StoreResult<Generation> {
    let key: Option<String> = row.get(5)?;
    let key = key.map(|key| serde_json::from_str(&key)).transpose().map_err(StoreError::invalid_value)?;
    Ok(Generation { key, ..read(row)? })
}

/// The published generation of a task.
pub(super) fn published(session: &impl SqlSession, task: &TaskName) -> StoreResult<Option<Generation>> {
    find(session, "task = $1 AND state = 'published'", task)
}

/// As `published`, with the key columns.
pub(super) fn published_with_key(session: &impl SqlSession, task: &TaskName) -> StoreResult<Option<Generation>> {
    find_with_key(session, "task = $1 AND state = 'published'", task)
}

/// The generation that the published one has replaced, with the key columns.
pub(super) fn replaced_with_key(session: &impl SqlSession, task: &TaskName) -> StoreResult<Option<Generation>> {
    find_with_key(session, "task = $1 AND state IN ('previous', 'refused')", task)
}

/// The rows that a person rolled back, as long as those of before are published.
pub(super) fn refused_with_key(session: &impl SqlSession, task: &TaskName) -> StoreResult<Option<Generation>> {
    find_with_key(session, "task = $1 AND state = 'refused'", task)
}

/// The generation that a task's view shows.
pub(super) fn published_id(session: &impl SqlSession, task: &TaskName) -> StoreResult<Option<i64>> {
    let sql = "SELECT published FROM _task WHERE name = $1";
    Ok(session.query_first(sql, &[task], |row| row.get(0))?.flatten())
}

/// The run of the newest generation of a task in a state.
pub(super) fn newest_run(
    session: &impl SqlSession,
    task: &TaskName,
    state: &'static str,
) -> StoreResult<Option<RunId>> {
    let sql = "SELECT run FROM _generation WHERE task = $1 AND state = $2 ORDER BY id DESC LIMIT 1";
    session.query_first(sql, &[task, &state], |row| row.get(0))
}

/// Writes columns, row count, digest and key of the rows that have come so far.
pub(super) fn write_metadata(session: &impl SqlSession, generation: i64, batch: &Batch) -> StoreResult<()> {
    let key = serde_json::to_string(&batch.key).map_err(StoreError::invalid_value)?;
    let sql = "UPDATE _generation SET columns = $2, rows = $3, digest = $4, key = $5 WHERE id = $1";
    let digest = batch.digest.to_bytes();
    session.apply(sql, &[&generation, &batch.columns_json()?, &batch.rows, &digest.as_slice(), &key])
}

pub(super) fn set_state(session: &impl SqlSession, generation: i64, state: &str) -> StoreResult<()> {
    session.apply("UPDATE _generation SET state = $2 WHERE id = $1", &[&generation, &state])
}

/// The published rows were seen again: only `_run` and `_last_seen` change.
pub(super) fn confirm(
    session: &impl SqlSession,
    task: &TaskName,
    run: RunId,
    published: Option<&Generation>,
    now: DateTime<Utc>,
) -> StoreResult<()> {
    let sql = "UPDATE _generation SET run = $2, last_seen = $3 WHERE id = $1";
    session.modify(sql, &[&published.map(|old| old.id), &run, &now])?;
    session.apply("UPDATE _task SET previous_rows = published_rows WHERE name = $1", &[task])
}

/// Marks the abandoned rows of a run for removal.
pub(super) fn drop_staged(session: &impl SqlSession, run: RunId) -> StoreResult<()> {
    session.apply("UPDATE _generation SET state = 'old' WHERE run = $1 AND state = 'staging'", &[&run])
}

/// Marks the rows before the published ones for removal.
pub(super) fn drop_replaced(session: &impl SqlSession, task: &TaskName) -> StoreResult<()> {
    let sql = "UPDATE _generation SET state = 'old' WHERE task = $1 AND state IN ('previous', 'refused')";
    session.apply(sql, &[task])
}

/// The state of the published rows once this run has replaced them.
pub(super) fn state_when_replaced_by(verdict: &Verdict) -> &'static str {
    if verdict.statistics.rolled_back { "refused" } else { "previous" }
}

/// Marks quarantined rows for removal, all but the newest.
pub(super) fn drop_quarantined(session: &impl SqlSession, task: &TaskName, keep: u32) -> StoreResult<()> {
    let sql = format!(
        "UPDATE _generation SET state = 'old' WHERE id IN (
             SELECT id FROM _generation WHERE task = $1 AND state = 'quarantined'
             ORDER BY id DESC LIMIT {NO_LIMIT} OFFSET $2)"
    );
    session.apply(&sql, &[task, &keep])
}
