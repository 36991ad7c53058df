//! Maintains the full-text index. Publications do not wait for it: afterwards all rows of the new generation are
//! scanned in small steps, records with new texts are added, then those that are gone are removed.
//!
//! The progress within a generation is kept in memory only. After a `kill -9` the rows are scanned again, and what is
//! already in the index is found there.

use std::collections::HashMap;

use rusqlite::{Connection, TransactionBehavior};

use super::generation::{self, Generation, RowTables};
use super::names::ColumnName;
use super::{Sqlite, StoreResult, digest, index_entry, wal};
use crate::model::TaskName;
use crate::store::IndexProgress;
use crate::store::search::{folded, slot};
use crate::store::sql::{SqlRow, SqlSession};

/// A step scans so many rows, removes so many, or adds so many bytes of text; an estimate of what nobody notices. In a
/// debug build 547 steps took 81 ms of processor time each.
const ROWS_PER_STEP: usize = 10_000;
const REMOVED_PER_STEP: usize = 2_000;
const BYTES_PER_STEP: usize = 512 << 10;

/// Entries in memory at a time (some 20 MB). A larger table is scanned several times, each time for a part of its
/// records.
const MAX_ENTRIES_IN_MEMORY: i64 = 500_000;

/// Progress of a generation that is being indexed.
pub(super) struct IndexJob {
    task: TaskName,
    number: i64,
    generation: i64,
    digest: digest::Digest,
    /// The current part: records whose hash leaves this remainder.
    part: u64,
    parts: u64,
    /// The last row that was scanned; none once all were.
    after: Option<i64>,
    /// The entries of the index, by the digest of their texts.
    indexed: HashMap<i64, IndexEntry>,
    /// Entries of `indexed` that are no longer published.
    unpublished: Vec<(i64, i64)>,
    next: i64,
}

struct IndexEntry {
    id: i64,
    row: i64,
    is_published: bool,
}

pub(super) fn step(store: &mut Sqlite, task: &TaskName) -> StoreResult<IndexProgress> {
    store.ensure_file_in_place()?;
    let done = IndexProgress { is_done: true, ..IndexProgress::default() };
    let transaction = store.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(generation) = generation::published(&*transaction, task)? else { return Ok(done) };
    if is_indexed(&transaction, task, &generation)? {
        return Ok(done);
    }
    // Stored again only once the step is committed: memory must not be ahead of the database.
    let begun = store.indexing.take().filter(|it| it.is_of(task, &generation));
    let mut indexing = match begun {
        Some(indexing) => indexing,
        None => IndexJob::begin(&transaction, task, &generation)?,
    };
    let step = indexing.step(&transaction, &generation)?;
    transaction.commit()?;
    if !step.is_done {
        store.indexing = Some(indexing);
    }
    // The step is committed; the log can be shortened later, too.
    let _ = wal::truncate(&store.connection, store.file.as_ref());
    Ok(step)
}

fn is_indexed(connection: &Connection, task: &TaskName, generation: &Generation) -> StoreResult<bool> {
    let sql = "SELECT digest FROM _indexed WHERE task = $1";
    let found = connection.query_first(sql, &[task], |row| row.get::<Option<Vec<u8>>>(0))?;
    Ok(found.flatten().is_some_and(|digest| digest == generation.digest.to_bytes()))
}

impl IndexJob {
    fn begin(connection: &Connection, task: &TaskName, generation: &Generation) -> StoreResult<IndexJob> {
        let sql = "INSERT INTO _indexed (task, number) SELECT $1, 1 + coalesce(max(number), 0) FROM _indexed WHERE true
                   ON CONFLICT (task) DO NOTHING";
        connection.modify(sql, &[task])?;
        let number = connection.query_number("SELECT number FROM _indexed WHERE task = $1", &[task])?;
        let (first, last) = index_entry::id_range(number);
        let sql = "SELECT count(*), 1 + coalesce(max(id), $1) FROM _doc WHERE id BETWEEN $1 AND $2";
        let counted = connection.query_first(sql, &[&first, &last], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (entries, next): (i64, i64) = counted.unwrap_or_default();
        let parts = 1 + u64::try_from(entries.max(generation.rows) / MAX_ENTRIES_IN_MEMORY).unwrap_or(0);
        let mut indexing = IndexJob {
            task: task.clone(),
            number,
            generation: generation.id,
            digest: generation.digest,
            part: 0,
            parts,
            after: Some(0),
            indexed: HashMap::new(),
            unpublished: Vec::new(),
            next,
        };
        indexing.load(connection)?;
        Ok(indexing)
    }

    fn is_of(&self, task: &TaskName, generation: &Generation) -> bool {
        self.task == *task && self.generation == generation.id && self.digest == generation.digest
    }

    fn is_of_part(&self, digest: i64) -> bool {
        digest.cast_unsigned() % self.parts == self.part
    }

    fn load(&mut self, connection: &Connection) -> StoreResult<()> {
        let (first, last) = index_entry::id_range(self.number);
        let mut statement = connection.prepare_cached("SELECT id, digest, row FROM _doc WHERE id BETWEEN ?1 AND ?2")?;
        let mut rows = statement.query([first, last])?;
        self.indexed.clear();
        while let Some(row) = rows.next()? {
            let digest: i64 = row.get(1)?;
            if self.is_of_part(digest) {
                self.indexed.insert(digest, IndexEntry { id: row.get(0)?, row: row.get(2)?, is_published: false });
            }
        }
        Ok(())
    }

    fn step(&mut self, connection: &Connection, generation: &Generation) -> StoreResult<IndexProgress> {
        if let Some(after) = self.after {
            return self.index_rows(connection, generation, after);
        }
        let removed = self.remove_unpublished(connection)?;
        if !self.unpublished.is_empty() {
            return Ok(IndexProgress { removed, ..IndexProgress::default() });
        }
        self.part += 1;
        if self.part < self.parts {
            self.after = Some(0);
            self.load(connection)?;
            return Ok(IndexProgress { removed, ..IndexProgress::default() });
        }
        let sql = "UPDATE _indexed SET digest = $2 WHERE task = $1";
        connection.modify(sql, &[&self.task, &self.digest.to_bytes().as_slice()])?;
        Ok(IndexProgress { removed, is_done: true, ..IndexProgress::default() })
    }

    fn index_rows(
        &mut self,
        connection: &Connection,
        generation: &Generation,
        mut after: i64,
    ) -> StoreResult<IndexProgress> {
        let names = generation.texts();
        let slot_of = |name: &str| slot(&folded(name), index_entry::SLOTS);
        let slots: HashMap<&str, usize> = names.iter().map(|name| (*name, slot_of(name))).collect();
        let cells = Connection::cells_sql(&generation.columns, ColumnName::is_text);
        let rows = Connection::rows_sql(generation);
        let sql = format!("SELECT _rowid_, _key{cells} FROM {rows} AND _rowid_ > ?1 ORDER BY _rowid_");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([after])?;
        let (mut looked_at, mut bytes, mut added) = (0, 0, 0);
        while looked_at < ROWS_PER_STEP && bytes < BYTES_PER_STEP {
            let Some(row) = rows.next()? else {
                self.after = None;
                let gone = self.indexed.iter().filter(|(_, entry)| !entry.is_published);
                self.unpublished = gone.map(|(&digest, entry)| (entry.id, digest)).collect();
                return Ok(IndexProgress { added, ..IndexProgress::default() });
            };
            after = row.get(0)?;
            looked_at += 1;
            let cells = <dyn SqlRow>::named_texts(row, 2, &names)?;
            let digest = digest::short(digest::record_digest(cells.iter().copied()));
            if !self.is_of_part(digest) {
                continue;
            }
            if let Some(entry) = self.indexed.get_mut(&digest) {
                // Of rows with equal texts the first counts.
                if !entry.is_published && entry.row != after {
                    index_entry::move_to(connection, entry.id, after)?;
                }
                entry.is_published = true;
                continue;
            }
            bytes += cells.iter().map(|(_, text)| text.len()).sum::<usize>();
            let new = index_entry::IndexedRecord { digest, key: row.get(1)?, row: after };
            index_entry::add(connection, self.next, &new, cells.iter().map(|&(name, text)| (slots[name], text)))?;
            self.indexed.insert(digest, IndexEntry { id: self.next, row: after, is_published: true });
            self.next += 1;
            added += 1;
        }
        self.after = Some(after);
        Ok(IndexProgress { added, ..IndexProgress::default() })
    }

    fn remove_unpublished(&mut self, connection: &Connection) -> StoreResult<u64> {
        let from = self.unpublished.len().saturating_sub(REMOVED_PER_STEP);
        let mut removed = 0;
        for (id, digest) in self.unpublished.drain(from..) {
            index_entry::remove(connection, id)?;
            self.indexed.remove(&digest);
            removed += 1;
        }
        Ok(removed)
    }
}
