//! SQLite with a write-ahead log; one writer (the daemon), any number of readers.
//!
//! A generation is a table `_rows_N`; while it is staged no view leads to it.

mod artifacts;
mod import;
mod fingerprints;
mod wal;
mod key_cache;
mod removed_keys;
mod export;
mod unchanged_prefix;
mod index_entry;
mod review;
mod maintenance;
mod outbox;
mod open;
mod verify;
mod schema;
mod keys;
mod generation;
mod stage;
mod publish;
mod refill;
mod changes;
mod reader;
mod history;
mod runs;
mod tasks;
mod gc;
mod rows;
mod browse;
mod table_file;
mod index;
mod search;

use std::collections::HashMap;

use rusqlite::Connection;

use super::pending_ends::PendingEnds;
use super::{RetentionLimits, StoreError, compare, decode, digest, names, record_diff, run_end, timestamp};
use crate::model::RunId;

pub(super) use self::import::Importer;
pub use table_file::{Affinity, Scalar, TableFile};

/// The database, opened for writing or for reading.
pub struct Sqlite {
    connection: Connection,
    retention: RetentionLimits,
    /// The rows of the runs that are going.
    staged: HashMap<RunId, stage::StagedRows>,
    /// Ends of runs that could not be written down yet.
    pending_ends: PendingEnds,
    /// What is being brought into the index of words.
    indexing: Option<index::IndexJob>,
    /// The file that was opened for writing.
    file: Option<open::DatabaseFile>,
    /// Tells a run of before a reboot from one whose process id was given out again.
    boot: Option<String>,
}

#[cfg(test)]
mod tests;
