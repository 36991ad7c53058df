//! Rows of a run that is going. They wait in memory until there are many: most runs bring a page or two, and most of
//! those say what is published already, so that they never need a table. What does not fit is written to a table that no
//! view leads to yet, in transactions short enough that the log stays small (24 MB instead of 316 MB for 500,000 rows)
//! and other tasks are not kept waiting.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::digest::{self, Digest};
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
    /// Not written yet.
    waiting: Vec<Record>,
    waiting_bytes: usize,
    table: Option<Written>,
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
    /// In the order of the run's columns; ends with the last column that was known when it came.
    cells: Vec<Option<String>>,
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
        for row in rows {
            staged.take(row, &places, &key_cells, &seen);
            if staged.waiting.len() >= CHUNK || staged.waiting_bytes >= CHUNK_BYTES {
                staged.spill(&mut self.connection, run, task)?;
            }
        }
        Ok(())
    }
}

impl Staged {
    fn take(&mut self, row: &Row, places: &[usize], key: &[usize], seen: &Arc<str>) {
        let mut cells = vec![None; self.columns.len()];
        for (&place, cell) in places.iter().zip(&row.cells) {
            self.waiting_bytes += size_of::<Option<String>>() + cell.as_ref().map_or(0, String::len);
            cells[place].clone_from(cell);
        }
        let named = |place: usize| cells[place].as_deref().map(|text| (self.columns[place].stored.as_str(), text));
        let record = digest::of_cells((0..cells.len()).filter_map(named));
        let keyed = || key.iter().filter_map(|&index| places.get(index)).filter_map(|&place| named(place));
        let key = if keyed().next().is_some() { digest::of_cells(keyed()) } else { record };
        self.digest.add(record);
        self.rows += 1;
        self.waiting.push(Record { key: key.to_be_bytes(), seen: seen.clone(), page: row.page, cells });
    }

    /// Writes what waits, in a transaction of its own, and answers with the generation. On an error nothing was written
    /// and everything still waits.
    pub fn spill(&mut self, connection: &mut Connection, run: RunId, task: &TaskName) -> Result<i64, StoreError> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let generation = self.write(&transaction, run, task)?;
        transaction.commit()?;
        self.table = Some(Written { generation, columns: self.columns.len() });
        self.waiting.clear();
        self.waiting_bytes = 0;
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
        let mut insert = connection.prepare(&insert_sql(generation, &self.columns, published))?;
        for record in &self.waiting {
            insert.raw_bind_parameter(1, &record.key[..])?;
            insert.raw_bind_parameter(2, &*record.seen)?;
            insert.raw_bind_parameter(3, record.page)?;
            for index in 0..self.columns.len() {
                insert.raw_bind_parameter(index + 4, record.cells.get(index).and_then(Option::as_deref))?;
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
