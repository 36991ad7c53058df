//! Rows of a run that is going. They wait in memory until there are many: most runs bring a page or two, and most of
//! those say what is published already, so that they never need a table. What does not fit is written to a table that no
//! view leads to yet, in transactions short enough that the log stays small (24 MB instead of 316 MB for 500,000 rows)
//! and other tasks are not kept waiting.

use std::ops::Range;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::digest::{self, Digest};
use super::known::Known;
use super::names::{self, ColumnName, list, quoted, rows_table};
use super::{Store, StoreError, runs, stamp};
use crate::model::{Row, RunId, TaskName};

/// Rows a transaction. Measured on 500,000 rows of 569 bytes: the fastest way that keeps readers and the log in peace.
const CHUNK: usize = 20_000;

/// A run never holds more than this in memory, whatever its rows are like.
const CHUNK_BYTES: usize = 8 << 20;

/// The rows of one run so far.
#[derive(Default)]
pub(super) struct Staged {
    pub columns: Vec<ColumnName>,
    pub rows: i64,
    pub digest: Digest,
    /// Not written yet; their texts and cells stand one after the other, so that a row costs no allocation.
    waiting: Vec<Record>,
    text: String,
    cells: Vec<Option<Range<usize>>>,
    table: Option<Written>,
    /// When the published rows were first seen, once there are enough new ones that asking for each would be dear.
    known: Option<Known>,
}

/// The table that a run's rows go to, once there is one.
#[derive(Clone, Copy)]
struct Written {
    generation: i64,
    columns: usize,
}

struct Record {
    key: [u8; 16],
    seen: Arc<str>,
    page: u32,
    /// Where its cells stand, in the order of the run's columns, up to the last that was known when it came.
    cells: Range<usize>,
}

impl Store {
    /// Takes rows of a run that is going. May be called once a page; a column that only later pages have is added.
    /// `key` names the columns that identify a record; without them, or where all of them are empty, the whole record
    /// does.
    pub fn stage_rows(
        &mut self,
        run: RunId,
        task: &TaskName,
        columns: &[String],
        key: &[String],
        rows: &[Row],
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        runs::must_be_open(&self.connection, run)?;
        let staged = self.staged.entry(run).or_default();
        let places = names::place(&mut staged.columns, columns)?;
        let key_cells: Option<Vec<usize>> = key.iter().map(|name| columns.iter().position(|it| it == name)).collect();
        let key_cells = key_cells.unwrap_or_default();
        let seen: Arc<str> = stamp::text(now).into();
        let mut spilled = false;
        for row in rows {
            staged.take(row, &places, &key_cells, &seen);
            if staged.waiting.len() >= CHUNK || staged.waiting_bytes() >= CHUNK_BYTES {
                staged.spill(&mut self.connection, run, task)?;
                spilled = true;
            }
        }
        if spilled { self.shorten_log() } else { Ok(()) }
    }
}

impl Staged {
    fn take(&mut self, row: &Row, places: &[usize], key: &[usize], seen: &Arc<str>) {
        let first = self.cells.len();
        let cells = first..first + self.columns.len();
        self.cells.resize(cells.end, None);
        for (&place, cell) in places.iter().zip(&row.cells) {
            let Some(cell) = cell else { continue };
            let from = self.text.len();
            self.text.push_str(cell);
            self.cells[first + place] = Some(from..self.text.len());
        }
        let named = |place: usize| {
            let text = self.cells[first + place].clone()?;
            Some((self.columns[place].stored.as_str(), &self.text[text]))
        };
        let record = digest::of_cells((0..self.columns.len()).filter_map(named));
        let keyed = || key.iter().filter_map(|&index| places.get(index)).filter_map(|&place| named(place));
        let key = if keyed().next().is_some() { digest::of_cells(keyed()) } else { record };
        self.digest.add(record);
        self.rows += 1;
        self.waiting.push(Record { key: key.to_be_bytes(), seen: seen.clone(), page: row.page, cells });
    }

    fn waiting_bytes(&self) -> usize {
        self.text.len() + self.cells.len() * size_of::<Option<Range<usize>>>()
    }

    /// Writes what waits, in a transaction of its own, and answers with the generation. On an error nothing was written
    /// and everything still waits.
    pub fn spill(&mut self, connection: &mut Connection, run: RunId, task: &TaskName) -> Result<i64, StoreError> {
        if self.known.is_none() {
            self.known = Known::load(connection, task)?;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let generation = self.write(&transaction, run, task)?;
        transaction.commit()?;
        self.table = Some(Written { generation, columns: self.columns.len() });
        self.waiting.clear();
        self.text.clear();
        self.cells.clear();
        Ok(generation)
    }

    /// Writes what waits inside a transaction that is the caller's.
    pub fn write(&self, connection: &Connection, run: RunId, task: &TaskName) -> Result<i64, StoreError> {
        let generation = match self.table {
            Some(table) => {
                add_columns(connection, table, &self.columns)?;
                table.generation
            }
            None => create(connection, run, task, &self.columns)?,
        };
        self.insert_waiting(connection, generation, published(connection, task)?)?;
        self.describe(connection, generation)?;
        Ok(generation)
    }

    /// Whether all rows wait still, so that no table of their own was made.
    pub fn is_all_in_memory(&self) -> bool {
        self.table.is_none()
    }

    /// Inserts what waits into a generation's table; `_first_seen` comes from the published one where that has the key.
    pub fn insert_waiting(
        &self,
        connection: &Connection,
        generation: i64,
        published: Option<i64>,
    ) -> Result<(), StoreError> {
        let asked = if self.known.is_some() { None } else { published };
        let mut insert = connection.prepare(&insert_sql(generation, &self.columns, asked))?;
        for record in &self.waiting {
            let first_seen = self.known.as_ref().and_then(|known| known.first_seen(record.key));
            insert.raw_bind_parameter(1, &record.key[..])?;
            insert.raw_bind_parameter(2, first_seen.unwrap_or(&record.seen))?;
            insert.raw_bind_parameter(3, record.page)?;
            let cells = &self.cells[record.cells.clone()];
            for index in 0..self.columns.len() {
                let text = cells.get(index).cloned().flatten();
                insert.raw_bind_parameter(index + 4, text.map(|text| &self.text[text]))?;
            }
            insert.raw_execute()?;
        }
        Ok(())
    }

    /// Writes down what a generation's table holds.
    pub fn describe(&self, connection: &Connection, generation: i64) -> Result<(), StoreError> {
        let columns = serde_json::to_string(&self.columns).map_err(|error| StoreError::Value(error.to_string()))?;
        connection
            .prepare_cached("UPDATE _generation SET columns = ?2, rows = ?3, digest = ?4 WHERE id = ?1")?
            .execute(params![generation, columns, self.rows, self.digest.to_bytes()])?;
        Ok(())
    }
}

/// A generation as its row in `_generation` describes it.
pub(super) struct Generation {
    pub id: i64,
    pub columns: Vec<ColumnName>,
    pub rows: i64,
    pub digest: Digest,
}

/// The newest generation that fits a condition on one text.
pub(super) fn find(connection: &Connection, condition: &str, text: &str) -> Result<Option<Generation>, StoreError> {
    let sql = format!("SELECT id, columns, rows, digest FROM _generation WHERE {condition} ORDER BY id DESC LIMIT 1");
    let found: Option<(i64, String, i64, Vec<u8>)> = connection
        .prepare_cached(&sql)?
        .query_row([text], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((id, columns, rows, digest)) = found else { return Ok(None) };
    let columns = serde_json::from_str(&columns).map_err(|error| StoreError::Value(error.to_string()))?;
    Ok(Some(Generation { id, columns, rows, digest: Digest::from_bytes(&digest)? }))
}

/// The generation that a task's view shows.
fn published(connection: &Connection, task: &TaskName) -> Result<Option<i64>, StoreError> {
    let found = connection
        .prepare_cached("SELECT published FROM _task WHERE name = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

fn create(connection: &Connection, run: RunId, task: &TaskName, columns: &[ColumnName]) -> Result<i64, StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO _generation (task, run, state, columns, rows, digest, last_seen)
             SELECT ?1, id, 'staging', '[]', 0, ?3, started FROM _runs WHERE id = ?2",
        )?
        .execute(params![task.as_str(), run.to_string(), Digest::default().to_bytes()])?;
    let generation = connection.last_insert_rowid();
    let columns: String = columns.iter().map(|column| format!(", {} TEXT", quoted(&column.stored))).collect();
    connection.execute_batch(&format!(
        "CREATE TABLE {} (_key BLOB NOT NULL, _first_seen TEXT NOT NULL, _page INTEGER NOT NULL{columns})",
        quoted(&rows_table(generation))
    ))?;
    Ok(generation)
}

fn add_columns(connection: &Connection, table: Written, columns: &[ColumnName]) -> Result<(), StoreError> {
    let name = quoted(&rows_table(table.generation));
    for column in &columns[table.columns..] {
        connection.execute_batch(&format!("ALTER TABLE {name} ADD COLUMN {} TEXT", quoted(&column.stored)))?;
    }
    Ok(())
}

/// `_first_seen` comes from the published generation where that has the record, by its index on `_key`.
fn insert_sql(generation: i64, columns: &[ColumnName], published: Option<i64>) -> String {
    let first_seen = match published {
        Some(id) => {
            format!("coalesce((SELECT min(_first_seen) FROM {} WHERE _key = ?1), ?2)", quoted(&rows_table(id)))
        }
        None => "?2".to_owned(),
    };
    let separator = if columns.is_empty() { "" } else { ", " };
    let marks: String = (0..columns.len()).map(|index| format!(", ?{}", index + 4)).collect();
    format!(
        "INSERT INTO {} (_key, _first_seen, _page{separator}{}) VALUES (?1, {first_seen}, ?3{marks})",
        quoted(&rows_table(generation)),
        list(columns)
    )
}
