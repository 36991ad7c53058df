//! Stages the rows of a running run. They are buffered in memory until there are many: most runs bring a page or two
//! that equal the published rows, so that they never need a table (`unchanged_prefix.rs`). What does not fit is written
//! to a table that no view shows yet, in transactions short enough that the log stays small (24 MB instead of 316 MB
//! for 500,000 rows) and other tasks do not wait.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::digest::KeyHash;
use super::key_cache::{self, KeyCache};
use super::keys::{self, DigestedKeyEntry, KeyedRow};
use super::{Sqlite, StoreResult, generation, runs, timestamp, wal};
use crate::model::{Row, RunId, TaskName, ValueColumn};
use crate::store::RowStaging;
use crate::store::batch::{Batch, BufferedRow};
use crate::store::generation::find_with_key;
use crate::store::rekey::first_seen_by_new_key;
use crate::store::unchanged_prefix::UnchangedPrefix;

/// The rows of one run so far.
#[derive(Default)]
pub(super) struct StagedRows {
    pub batch: Batch,
    /// Leading rows that equal the published ones and were not written.
    pub(super) unchanged_prefix: Option<UnchangedPrefix>,
    pub(super) table: Option<StagedTable>,
    /// When the published rows were first seen, loaded once there are too many new rows to look up each.
    key_cache: Option<KeyCache>,
    /// The keys of the written rows, unless there are too many.
    keys: Vec<DigestedKeyEntry>,
}

/// The table of a run's rows, once there is one.
#[derive(Clone, Copy)]
pub(super) struct StagedTable {
    pub generation: i64,
    pub columns: usize,
}

impl RowStaging for Sqlite {
    fn stage_values(
        &mut self,
        run: RunId,
        task: &TaskName,
        columns: (&[String], &[ValueColumn]),
        key: &[String],
        rows: &[Row],
        now: DateTime<Utc>,
    ) -> StoreResult<()> {
        runs::require_open(&self.connection, run)?;
        let staged = self.staged.entry(run).or_default();
        let places = staged.batch.map_columns(columns, key)?;
        let seen = now.timestamp_millis();
        let mut spilled = false;
        for row in rows {
            staged.batch.push(row, &places, seen);
            if staged.batch.is_full() && !staged.extend_unchanged_prefix(&self.connection, task)? {
                staged.copy_unchanged_prefix(&mut self.connection, self.file.as_ref(), run, task)?;
                staged.spill(&mut self.connection, run, task)?;
                spilled = true;
            }
        }
        if spilled { wal::truncate(&self.connection, self.file.as_ref()) } else { Ok(()) }
    }
}

impl StagedRows {
    /// Writes the buffered rows in a transaction of its own, and returns the generation. After an error nothing was
    /// written and all rows are still buffered.
    pub fn spill(&mut self, connection: &mut Connection, run: RunId, task: &TaskName) -> StoreResult<i64> {
        if self.key_cache.is_none() {
            self.key_cache = KeyCache::load(connection, task)?;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let first_seen = self.first_seen(&transaction, generation::published_id(&*transaction, task)?)?;
        let generation = self.write_with(&transaction, run, task, &first_seen)?;
        let mut keys = self.entries(&first_seen)?;
        transaction.commit()?;
        self.keep_keys(&mut keys);
        self.table = Some(StagedTable { generation, columns: self.batch.columns.len() });
        self.batch.clear_pending();
        Ok(generation)
    }

    pub(super) fn keep_keys(&mut self, keys: &mut Vec<DigestedKeyEntry>) {
        if self.batch.rows > key_cache::MAX_KEYS {
            self.keys = Vec::new();
        }
        self.keys.append(keys);
    }

    /// Writes the buffered rows inside the caller's transaction.
    pub fn write(&self, connection: &Connection, run: RunId, task: &TaskName) -> StoreResult<i64> {
        let first_seen = self.first_seen(connection, generation::published_id(connection, task)?)?;
        self.write_with(connection, run, task, &first_seen)
    }

    fn write_with(&self, connection: &Connection, run: RunId, task: &TaskName, first_seen: &[i64]) -> StoreResult<i64> {
        let generation = match self.table {
            Some(table) => {
                generation::add_columns(connection, table.generation, &self.batch.columns[table.columns..])?;
                table.generation
            }
            None => generation::create(connection, run, task, &self.batch.columns)?,
        };
        self.insert_pending(connection, generation, first_seen)?;
        generation::write_metadata(connection, generation, &self.batch)?;
        Ok(generation)
    }

    /// Whether no table was created: all rows are buffered, or equal the published ones.
    pub fn is_all_in_memory(&self) -> bool {
        self.table.is_none()
    }

    /// When each buffered row was first seen, from the published generation where it has the key. All at once and not
    /// row by row between insertions, so that the processor waits for many memory accesses at a time.
    pub fn first_seen(&self, connection: &Connection, published: Option<i64>) -> StoreResult<Vec<i64>> {
        let waiting = self.batch.pending().iter();
        let Some(published) = published else { return Ok(waiting.map(|it| it.seen).collect()) };
        let gone = RemovedKeys::of(connection, published)?;
        let rekeyed = match find_with_key(connection, "id = $1", &published)? {
            Some(generation) => first_seen_by_new_key(connection, &generation, &self.batch)?,
            None => None,
        };
        let blocks = self.key_cache.is_none() && keys::has_blocks(connection, published)?;
        let ask = |it: &BufferedRow| -> StoreResult<i64> {
            let found = match (&rekeyed, &self.key_cache) {
                (Some(known), _) => known.get(&it.key).copied(),
                (None, Some(known)) => known.first_seen(it.key),
                (None, None) => keys::find(connection, published, blocks, it.key)?.map(|found| found.first_seen),
            };
            match found {
                Some(first_seen) => Ok(first_seen),
                None => Ok(gone.first_seen(it.key)?.unwrap_or(it.seen)),
            }
        };
        waiting.map(ask).collect()
    }

    /// Inserts the buffered rows into a generation's table.
    pub fn insert_pending(&self, connection: &Connection, generation: i64, first_seen: &[i64]) -> StoreResult<()> {
        let mut insert = connection.prepare(&generation::insert_sql(generation, &self.batch.columns))?;
        let (mut seen, mut seen_text) = (0, timestamp::text_of_millis(0));
        for (record, &first_seen) in self.batch.pending().iter().zip(first_seen) {
            if first_seen != seen {
                (seen, seen_text) = (first_seen, timestamp::text_of_millis(first_seen));
            }
            insert.raw_bind_parameter(1, &record.key[..])?;
            insert.raw_bind_parameter(2, seen_text.as_str())?;
            insert.raw_bind_parameter(3, record.page)?;
            for (index, text) in self.batch.cells(record).enumerate() {
                insert.raw_bind_parameter(index + 4, text)?;
            }
            insert.raw_execute()?;
        }
        Ok(())
    }

    /// The keys of the buffered rows, as rows of a table of their own.
    pub(super) fn entries(&self, first_seen: &[i64]) -> StoreResult<Vec<DigestedKeyEntry>> {
        if self.batch.rows > key_cache::MAX_KEYS {
            return Ok(Vec::new());
        }
        let before = self.keys.len();
        let row = |index: usize| i64::try_from(before + index + 1).unwrap_or(i64::MAX);
        let records = self.batch.pending().iter().zip(first_seen).enumerate();
        records
            .map(|(index, (record, &first_seen))| {
                keys::digested_entry(record.key, KeyedRow { first_seen, row: row(index) }, record.digest)
            })
            .collect()
    }

    /// Writes the keys of a generation whose rows are all written, in a transaction of its own; `false` where there are
    /// too many of them for memory.
    pub fn write_keys(&mut self, connection: &mut Connection, generation: i64) -> StoreResult<bool> {
        if usize::try_from(self.batch.rows) != Ok(self.keys.len()) {
            return Ok(false);
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        keys::write(&transaction, generation, &mut self.keys)?;
        transaction.commit()?;
        Ok(true)
    }
}

/// The records of a task that were removed within its history, and may return: the history says when they were first
/// seen.
struct RemovedKeys<'c> {
    connection: &'c Connection,
    /// None where no record was ever removed: then 500,000 new rows need no lookup.
    task: Option<String>,
}

impl<'c> RemovedKeys<'c> {
    /// Of the task that has this published generation.
    fn of(connection: &'c Connection, published: i64) -> StoreResult<RemovedKeys<'c>> {
        let sql = "SELECT task FROM _generation g WHERE id = ?1 AND EXISTS
                       (SELECT 1 FROM _change WHERE task = g.task AND removed > 0 AND unlisted IS NULL)";
        let task = connection.prepare_cached(sql)?.query_row([published], |row| row.get(0)).optional()?;
        Ok(RemovedKeys { connection, task })
    }

    /// In milliseconds, as of the last removal.
    fn first_seen(&self, key: KeyHash) -> StoreResult<Option<i64>> {
        let Some(task) = &self.task else { return Ok(None) };
        let sql = "SELECT r.first_seen FROM _changed_record r JOIN _change c ON c.id = r.change
                   WHERE r.key = ?1 AND r.what = 'removed' AND c.task = ?2 ORDER BY r.id DESC LIMIT 1";
        let found: Option<String> =
            self.connection.prepare_cached(sql)?.query_row(params![key, task], |row| row.get(0)).optional()?;
        Ok(found.and_then(|text| timestamp::parse(&text).ok()).map(|at| at.timestamp_millis()))
    }
}
