//! The index of words follows what is published. A publication does not wait for it: afterwards all rows of the new generation are
//! gone through in small steps, records whose texts are new are added, then those that are gone are removed.
//!
//! Where it stands within a generation is kept in memory only. After a `kill -9` the rows are gone through again, and what is
//! in the index already is found there.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::generation;
use super::names::{ColumnName, list, quoted, rows_table};
use super::settle::Generation;
use super::{Sqlite, StoreError, digest, entry};
use crate::model::TaskName;
use crate::store::Indexed;
use crate::store::search::{folded, slot};

/// A step looks at so many rows, removes so many, or adds so many bytes of text; a guess at what nobody notices. In a debug build 547
/// steps took 81 ms of processor time each.
const ROWS_A_STEP: usize = 10_000;
const REMOVED_A_STEP: usize = 2_000;
const BYTES_A_STEP: usize = 512 << 10;

/// Entries that are held in memory at a time (some 20 MB). A larger table is gone through several times, each time for a part of
/// its records.
const PART: i64 = 500_000;

/// A generation on its way into the index.
pub(super) struct Indexing {
    task: TaskName,
    number: i64,
    generation: i64,
    digest: digest::Digest,
    /// Records whose hash leaves this rest are of the present part.
    part: u64,
    parts: u64,
    /// The last row that was looked at; none once all were.
    after: Option<i64>,
    /// By the hash of its texts: what the index has.
    known: HashMap<i64, Entry>,
    /// Which of `known` are gone.
    gone: Vec<(i64, i64)>,
    next: i64,
}

struct Entry {
    id: i64,
    row: i64,
    is_published: bool,
}

impl Sqlite {
    pub(super) fn index_step(&mut self, task: &TaskName) -> Result<Indexed, StoreError> {
        self.must_be_there()?;
        let done = Indexed { is_done: true, ..Indexed::default() };
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Some(generation) = generation::find(&transaction, "task = ?1 AND state = 'published'", task.as_str())?
        else {
            return Ok(done);
        };
        if is_indexed(&transaction, task, &generation)? {
            return Ok(done);
        }
        // Kept again only when the step is: what is in memory must not be ahead of the database.
        let begun = self.indexing.take().filter(|it| it.is_of(task, &generation));
        let mut indexing = match begun {
            Some(indexing) => indexing,
            None => Indexing::begin(&transaction, task, &generation)?,
        };
        let step = indexing.step(&transaction, &generation)?;
        transaction.commit()?;
        if !step.is_done {
            self.indexing = Some(indexing);
        }
        // What was added is there; the log can be shortened later, too.
        let _ = self.shorten_log();
        Ok(step)
    }
}

/// The tasks whose published rows are not all in the index, with how many they have.
pub(super) fn behind(connection: &Connection) -> Result<Vec<(TaskName, u64)>, StoreError> {
    let sql = "SELECT t.name, g.rows FROM _task t JOIN _generation g ON g.id = t.published
               LEFT JOIN _indexed i ON i.task = t.name WHERE i.digest IS NOT g.digest ORDER BY t.name";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut behind = Vec::new();
    while let Some(row) = rows.next()? {
        let name = TaskName::new(&row.get::<_, String>(0)?).map_err(|error| StoreError::Value(error.to_string()))?;
        behind.push((name, u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0)));
    }
    Ok(behind)
}

fn is_indexed(connection: &Connection, task: &TaskName, generation: &Generation) -> Result<bool, StoreError> {
    let found: Option<Option<Vec<u8>>> = connection
        .prepare_cached("SELECT digest FROM _indexed WHERE task = ?1")?
        .query_row([task.as_str()], |row| row.get(0))
        .optional()?;
    Ok(found.flatten().is_some_and(|digest| digest == generation.digest.to_bytes()))
}

impl Indexing {
    fn begin(connection: &Connection, task: &TaskName, generation: &Generation) -> Result<Indexing, StoreError> {
        connection
            .prepare_cached(
                "INSERT INTO _indexed (task, number) SELECT ?1, 1 + coalesce(max(number), 0) FROM _indexed WHERE true
                 ON CONFLICT (task) DO NOTHING",
            )?
            .execute([task.as_str()])?;
        let number: i64 = connection
            .prepare_cached("SELECT number FROM _indexed WHERE task = ?1")?
            .query_row([task.as_str()], |row| row.get(0))?;
        let (first, last) = entry::ids(number);
        let (entries, next): (i64, i64) = connection
            .prepare_cached("SELECT count(*), 1 + coalesce(max(id), ?1) FROM _doc WHERE id BETWEEN ?1 AND ?2")?
            .query_row([first, last], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let parts = 1 + u64::try_from(entries.max(generation.rows) / PART).unwrap_or(0);
        let mut indexing = Indexing {
            task: task.clone(),
            number,
            generation: generation.id,
            digest: generation.digest,
            part: 0,
            parts,
            after: Some(0),
            known: HashMap::new(),
            gone: Vec::new(),
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

    fn load(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let (first, last) = entry::ids(self.number);
        let mut statement = connection.prepare_cached("SELECT id, digest, row FROM _doc WHERE id BETWEEN ?1 AND ?2")?;
        let mut rows = statement.query([first, last])?;
        self.known.clear();
        while let Some(row) = rows.next()? {
            let digest: i64 = row.get(1)?;
            if self.is_of_part(digest) {
                self.known.insert(digest, Entry { id: row.get(0)?, row: row.get(2)?, is_published: false });
            }
        }
        Ok(())
    }

    fn step(&mut self, connection: &Connection, generation: &Generation) -> Result<Indexed, StoreError> {
        if let Some(after) = self.after {
            return self.look_at_rows(connection, generation, after);
        }
        let removed = self.remove_gone(connection)?;
        if !self.gone.is_empty() {
            return Ok(Indexed { removed, ..Indexed::default() });
        }
        self.part += 1;
        if self.part < self.parts {
            self.after = Some(0);
            self.load(connection)?;
            return Ok(Indexed { removed, ..Indexed::default() });
        }
        connection
            .prepare_cached("UPDATE _indexed SET digest = ?2 WHERE task = ?1")?
            .execute(params![self.task.as_str(), self.digest.to_bytes()])?;
        Ok(Indexed { removed, is_done: true, ..Indexed::default() })
    }

    fn look_at_rows(
        &mut self,
        connection: &Connection,
        generation: &Generation,
        mut after: i64,
    ) -> Result<Indexed, StoreError> {
        let columns: Vec<ColumnName> = generation.columns.iter().filter(|it| it.is_text()).cloned().collect();
        let slots: Vec<usize> = columns.iter().map(|column| slot(&folded(&column.stored), entry::SLOTS)).collect();
        let separator = if columns.is_empty() { "" } else { ", " };
        let table = quoted(&rows_table(generation.id));
        let sql = format!(
            "SELECT _rowid_, _key{separator}{} FROM {table} WHERE _rowid_ > ?1 ORDER BY _rowid_",
            list(&columns)
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([after])?;
        let (mut looked_at, mut bytes, mut added) = (0, 0, 0);
        while looked_at < ROWS_A_STEP && bytes < BYTES_A_STEP {
            let Some(row) = rows.next()? else {
                self.after = None;
                let gone = self.known.iter().filter(|(_, entry)| !entry.is_published);
                self.gone = gone.map(|(&digest, entry)| (entry.id, digest)).collect();
                return Ok(Indexed { added, ..Indexed::default() });
            };
            after = row.get(0)?;
            looked_at += 1;
            let mut cells = Vec::with_capacity(columns.len());
            for (at, column) in columns.iter().enumerate() {
                let text = row.get_ref(at + 2)?.as_str_or_null().map_err(rusqlite::Error::from)?;
                cells.extend(text.map(|text| (at, column.stored.as_str(), text)));
            }
            let digest = entry::short(digest::of_cells(cells.iter().map(|&(_, name, text)| (name, text))));
            if !self.is_of_part(digest) {
                continue;
            }
            if let Some(entry) = self.known.get_mut(&digest) {
                // Of rows that say the same the first counts.
                if !entry.is_published && entry.row != after {
                    entry::move_to(connection, entry.id, after)?;
                }
                entry.is_published = true;
                continue;
            }
            bytes += cells.iter().map(|cell| cell.2.len()).sum::<usize>();
            let new = entry::Record { digest, key: row.get(1)?, row: after };
            entry::add(connection, self.next, &new, cells.iter().map(|&(at, _, text)| (slots[at], text)))?;
            self.known.insert(digest, Entry { id: self.next, row: after, is_published: true });
            self.next += 1;
            added += 1;
        }
        self.after = Some(after);
        Ok(Indexed { added, ..Indexed::default() })
    }

    fn remove_gone(&mut self, connection: &Connection) -> Result<u64, StoreError> {
        let from = self.gone.len().saturating_sub(REMOVED_A_STEP);
        let mut removed = 0;
        for (id, digest) in self.gone.drain(from..) {
            entry::remove(connection, id)?;
            self.known.remove(&digest);
            removed += 1;
        }
        Ok(removed)
    }
}
