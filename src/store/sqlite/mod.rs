//! SQLite with a write-ahead log; one writer (the daemon), any number of readers.
//!
//! A generation is a table `_rows_N`; while it is staged no view leads to it.

mod alive;
mod open;
mod verify;
mod schema;
mod keys;
mod known;
mod generation;
mod stage;
mod log;
mod publish;
mod refill;
mod runs;
mod trace;
mod tasks;
mod alerts;
mod gc;
mod rows;
mod aside;

use std::collections::HashMap;

use rusqlite::Connection;

use super::owed::Owings;
use super::{Keep, StoreError, digest, names, settle, stamp, stored};
use crate::model::RunId;

/// The database, opened for writing or for reading.
pub struct Sqlite {
    connection: Connection,
    keep: Keep,
    /// The rows of the runs that are going.
    staged: HashMap<RunId, stage::Staged>,
    /// Ends of runs that could not be written down yet.
    owed: Owings,
    /// The file that was opened for writing.
    home: Option<open::Home>,
    /// Tells a run of before a reboot from one whose process id was given out again.
    boot: Option<String>,
}

#[cfg(test)]
mod tests;
