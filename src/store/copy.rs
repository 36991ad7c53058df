//! Copies one store into another, whichever databases they are. The source is read part by part as one snapshot; the
//! target cannot be opened before it is complete.
//!
//! The source is only read. Derived data is rebuilt instead of copied: the full-text index, the key blocks, and which
//! daemon owns which task.

mod buffer;
mod checksum;
mod tables;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::digest;
use super::names::ColumnName;
use super::postgres;
use super::run_end::Generation;
use super::sqlite;
use super::{Store, StoreError};
use crate::model::{StoreAddress, TaskName};

pub(super) use buffer::{send_entries, send_generation};
use checksum::GenerationChecksum;
pub use tables::{CopiedTable, Datum, DatumKind};
pub(super) use tables::{FOLDER_TABLES, TABLES_AFTER_ROWS, TABLES_BEFORE_ROWS};

/// The parts of a copy, in this order: tasks and runs; each generation from its begin to its end; then the tables that
/// refer to them.
pub enum CopyPart<'a> {
    /// Rows of one of pieme's own tables.
    Entries(&'static CopiedTable, &'a [Vec<Datum>]),
    GenerationBegin(&'a CopiedGeneration),
    Rows(&'a CopiedGeneration, &'a [CopiedRow]),
    /// Follows the last record of a generation.
    GenerationEnd(&'a CopiedGeneration),
}

/// A generation: the rows of one good run, or of a quarantined one.
pub struct CopiedGeneration {
    pub(super) generation: Generation,
    pub(super) task: TaskName,
    pub(super) run: String,
    pub(super) state: String,
    pub(super) last_seen: DateTime<Utc>,
}

/// A row as it is stored; numbers are decimal digits.
pub struct CopiedRow {
    pub(super) key: Vec<u8>,
    /// In milliseconds.
    pub(super) first_seen: i64,
    pub(super) page: u32,
    pub(super) cells: Vec<Option<String>>,
}

impl CopiedRow {
    /// Digest of the texts as found; values follow from them.
    pub(super) fn digest(&self, columns: &[ColumnName]) -> u128 {
        let texts = columns.iter().zip(&self.cells).filter(|(column, _)| column.is_text());
        digest::record_digest(texts.filter_map(|(column, cell)| Some((column.stored.as_str(), cell.as_deref()?))))
    }

    fn bytes(&self) -> usize {
        self.cells.iter().flatten().map(String::len).sum()
    }
}

impl CopiedGeneration {
    /// Whether records of this generation are looked up by key.
    pub(super) fn needs_key_lookup(&self) -> bool {
        self.state == "published"
    }
}

/// A store that can be copied.
pub trait Exporter {
    /// The daemons that use this store; while they work it may change.
    fn active_daemons(&self) -> Result<Vec<String>, StoreError>;

    /// Sends everything that is kept, as one snapshot.
    fn export(&self, take: PartSink<'_>) -> Result<(), StoreError>;
}

/// Receives one part after the other.
pub type PartSink<'t> = &'t mut dyn FnMut(CopyPart<'_>) -> Result<(), StoreError>;

/// A store under construction. It cannot be opened before it is finished; an interrupted copy starts again from the
/// beginning.
pub(super) trait CopyTarget {
    fn import_part(&mut self, part: CopyPart<'_>) -> Result<(), StoreError>;

    /// Verifies the copy; from then on it is a store.
    fn finish(self: Box<Self>) -> Result<(), StoreError>;
}

/// How much was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CopyCounts {
    pub tasks: u64,
    pub runs: u64,
    /// Published, previous and quarantined generations.
    pub sets: u64,
    pub rows: u64,
    pub pages: u64,
    /// Publications that changed something.
    pub changes: u64,
}

impl CopyCounts {
    fn count(&mut self, part: &CopyPart<'_>) {
        let number = |entries: usize| entries as u64;
        match part {
            CopyPart::Entries(table, entries) => match table.name {
                "_task" => self.tasks += number(entries.len()),
                "_runs" => self.runs += number(entries.len()),
                "_pages" => self.pages += number(entries.len()),
                "_change" => self.changes += number(entries.len()),
                _ => {}
            },
            CopyPart::GenerationBegin(_) => self.sets += 1,
            CopyPart::Rows(_, records) => self.rows += number(records.len()),
            CopyPart::GenerationEnd(_) => {}
        }
    }
}

/// Copies a store into a new one at another address; `watch` is called with the progress.
pub fn copy(from: &Store, to: &StoreAddress, watch: &mut dyn FnMut(&CopyCounts)) -> Result<CopyCounts, StoreError> {
    refuse_if_daemons_active(from)?;
    let mut target: Box<dyn CopyTarget> = match to {
        StoreAddress::Sqlite(path) => Box::new(sqlite::Importer::begin(path)?),
        StoreAddress::Postgres(address) => Box::new(postgres::Importer::begin(address)?),
    };
    let (mut copied, mut sum) = (CopyCounts::default(), GenerationChecksum::default());
    from.export(&mut |part| {
        copied.count(&part);
        watch(&copied);
        sum.check(&part)?;
        target.import_part(part)
    })?;
    // Changes that were made during the copy would be missing.
    refuse_if_daemons_active(from)?;
    target.finish()?;
    Ok(copied)
}

/// Refuses a store that active daemons may change.
pub fn refuse_if_daemons_active(from: &Store) -> Result<(), StoreError> {
    let daemons = from.active_daemons()?;
    if daemons.is_empty() { Ok(()) } else { Err(StoreError::DaemonsActive(daemons)) }
}
