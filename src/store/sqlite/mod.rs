//! SQLite with a write-ahead log; one writer (the daemon), any number of readers.
//!
//! A generation is a table `_rows_N`; while it is staged no view leads to it.

mod changes;
mod export;
mod gc;
mod generation;
mod history;
mod import;
mod index;
mod index_entry;
mod key_cache;
mod keys;
mod maintenance;
mod open;
mod publish;
mod refill;
mod review;
mod rows;
mod runs;
mod schema;
mod search;
mod sql;
mod stage;
mod table_file;
mod unchanged_prefix;
mod verify;
mod wal;

use std::collections::HashMap;

use rusqlite::Connection;

use super::pending_ends::PendingEnds;
use super::{
    RetentionLimits, StoreError, StoreResult, compare, decode, digest, names, record_diff, run_end, timestamp,
};
use crate::model::RunId;

pub(super) use import::Importer;
pub use table_file::TableFile;

/// The database, opened for writing or for reading.
pub struct Sqlite {
    connection: Connection,
    retention: RetentionLimits,
    /// The staged rows of the runs that are running.
    staged: HashMap<RunId, stage::StagedRows>,
    /// Ends of runs that could not be recorded yet.
    pending_ends: PendingEnds,
    /// The generation that is being indexed.
    indexing: Option<index::IndexJob>,
    /// The file that was opened for writing.
    file: Option<open::DatabaseFile>,
    /// Boot id: distinguishes a run from before a reboot from one whose process id was reused.
    boot: Option<String>,
}

#[cfg(test)]
mod tests;
