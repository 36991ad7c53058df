//! SQLite with a write-ahead log; one writer (the daemon), any number of readers.
//!
//! A generation is a table `_rows_N`; while it is staged no view leads to it.

mod alive;
mod open;
mod verify;
mod schema;
mod keys;
mod known;
mod gone;
mod generation;
mod stage;
mod follow;
mod log;
mod publish;
mod refill;
mod changes;
mod marks;
mod reader;
mod history;
mod runs;
mod trace;
mod tasks;
mod alerts;
mod gc;
mod rows;
mod browse;
mod aside;
mod table_file;
mod giving;
mod taking;
mod entry;
mod index;
mod search;

use std::collections::HashMap;

use rusqlite::Connection;

use super::owed::Owings;
use super::{Keep, StoreError, compare, digest, names, record, settle, stamp, stored};
use crate::model::RunId;

pub use table_file::{Affinity, Scalar, TableFile};
pub(super) use taking::Taker;

/// The database, opened for writing or for reading.
pub struct Sqlite {
    connection: Connection,
    keep: Keep,
    /// The rows of the runs that are going.
    staged: HashMap<RunId, stage::Staged>,
    /// Ends of runs that could not be written down yet.
    owed: Owings,
    /// What is being brought into the index of words.
    indexing: Option<index::Indexing>,
    /// The file that was opened for writing.
    home: Option<open::Home>,
    /// Tells a run of before a reboot from one whose process id was given out again.
    boot: Option<String>,
}

#[cfg(test)]
mod tests;
