//! The parts of a copy of a store, in a form that every database reads and writes. `migrate.rs` makes the copy.
//!
//! Derived data is rebuilt instead of copied: the full-text index, the key blocks, and which daemon owns which task.

mod export;
mod tables;

use chrono::{DateTime, Utc};

use super::generation::Generation;
use super::names::ColumnName;
use super::sql::{SqlParam, SqlSession, SqlValue};
use super::{StoreError, StoreResult, digest};
use crate::model::TaskName;

pub(super) use export::{export_entries, generations, send_generation};
pub use tables::{CopiedKind, CopiedTable};
pub(super) use tables::{FOLDER_TABLES, TABLES_AFTER_ROWS, TABLES_BEFORE_ROWS};

/// The parts of a copy, in this order: tasks and runs; each generation from its begin to its end; then the tables that
/// refer to them.
pub enum CopyPart<'a> {
    /// Rows of one of pieme's own tables.
    Entries(&'static CopiedTable, &'a [Vec<SqlValue<'static>>]),
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

    /// Writes its entry, once all of its rows are there. `shape` is the number of their table, where that has one.
    pub(super) fn insert(&self, session: &impl SqlSession, shape: Option<i64>) -> StoreResult<()> {
        let Generation { id, columns, key, rows, digest, .. } = &self.generation;
        let columns = serde_json::to_string(columns).map_err(StoreError::invalid_value)?;
        let key = key.as_ref().map(serde_json::to_string).transpose().map_err(StoreError::invalid_value)?;
        let digest = digest.to_bytes();
        let digest = digest.as_slice();
        let mut values: Vec<&dyn SqlParam> =
            vec![id, &self.task, &self.run, &self.state, &columns, rows, &digest, &self.last_seen, &key];
        values.extend(shape.iter().map(|shape| shape as &dyn SqlParam));
        let (name, value) = if shape.is_some() { (", shape", ", $10") } else { ("", "") };
        let sql = format!(
            "INSERT INTO _generation (id, task, run, state, columns, rows, digest, last_seen, key{name})
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9{value})"
        );
        session.apply(&sql, &values)
    }
}

/// A store that can be copied.
pub trait Exporter {
    /// The daemons that use this store; while they work it may change.
    fn active_daemons(&self) -> StoreResult<Vec<String>>;

    /// Sends everything that is kept, as one snapshot.
    fn export(&self, take: PartSink<'_>) -> StoreResult<()>;
}

/// Receives one part after the other.
pub type PartSink<'t> = &'t mut dyn FnMut(CopyPart<'_>) -> StoreResult<()>;

/// A store under construction. It cannot be opened before it is finished; an interrupted copy starts again from the
/// beginning.
pub(super) trait CopyTarget {
    fn import_part(&mut self, part: CopyPart<'_>) -> StoreResult<()>;

    /// Verifies the copy; from then on it is a store.
    fn finish(self: Box<Self>) -> StoreResult<()>;
}
