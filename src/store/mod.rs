//! EDGE: the database, the only SQL. A SQLite file has one writer (the daemon) and any number of readers; a PostgreSQL
//! database may have several daemons.
//!
//! What a store can do is declared in one trait per concern; a database that implements all of them is a [`Backend`].
//! SQL that both databases understand is written once, in the file of its concern, over the seam of `sql.rs`; `sqlite/`
//! and `postgres/` hold what differs. All of pieme's own tables start with `_`, which no task's name does.

mod artifacts;
mod batch;
mod change_set;
mod changes;
mod compare;
mod copy;
mod decode;
mod digest;
mod error;
mod fleet;
mod folders;
mod gc;
mod generation;
mod history;
mod maintenance;
mod migrate;
mod names;
mod outbox;
mod pending_ends;
mod postgres;
mod record_diff;
mod record_history;
mod refused;
mod rekey;
mod retention;
mod review;
mod rows;
mod run_end;
mod runs;
mod search;
mod sql;
mod sqlite;
mod tasks;
mod timestamp;
mod unchanged_prefix;
mod verify;

use crate::model::StoreAddress;
use std::ops::{Deref, DerefMut};

pub use artifacts::RunArtifacts;
pub use change_set::{CellChange, CellValue, ChangeKind, ChangeSet, RecordChange, RecordKey, UnlistedReason};
pub use copy::{CopiedGeneration, CopiedKind, CopiedRow, CopiedTable, CopyPart, Exporter};
pub use error::{StoreError, StoreResult};
pub use fleet::{FleetMembership, HeartbeatReport, Member};
pub use folders::{FolderVersion, SharedFile, SharedFolders};
pub use gc::{GarbageCollection, GcCounts};
pub use history::History;
pub use maintenance::{Interrupter, Maintenance};
pub use migrate::{CopyCounts, copy, refuse_if_daemons_active};
pub use outbox::{AlertStateUpdate, AlertTask, AlertTaskFilter, Delivery, Outbox, OutboxEntry, OutgoingAlert};
pub use record_history::{RecordEvent, RecordHistory, TimedValue};
pub use refused::{RefusedOverlap, RefusedRows};
pub use retention::RetentionLimits;
pub use rows::{BrowseQuery, PublicationTimes, PublishedRows, Review, ReviewAction, Rows};
pub use runs::{BeginOutcome, RowStaging, RunEnding, RunRow, RunStart, RunStarting, Runs, Trigger};
pub use search::{
    FullTextSearch, Highlights, Hit, IndexProgress, Query, QueryError, SearchRequest, SearchResults, Snippet,
};
pub use sql::SqlValue;
pub use sqlite::TableFile;
pub use tasks::{FolderState, TaskRow, Tasks};

/// A database that implements every concern of the store.
pub trait Backend:
    RunStarting
    + Runs
    + RowStaging
    + RunEnding
    + PublishedRows
    + History
    + Review
    + RefusedRows
    + FullTextSearch
    + Tasks
    + Outbox
    + RunArtifacts
    + Maintenance
    + GarbageCollection
    + FleetMembership
    + SharedFolders
    + Exporter
    + Send
{
}

impl Backend for sqlite::Sqlite {}

impl Backend for postgres::Postgres {}

/// The database, opened for writing or for reading.
pub struct Store(Box<dyn Backend>);

impl Store {
    /// Opens the database for writing; creates it, or migrates its format, if necessary.
    pub fn open(at: impl Into<StoreAddress>) -> StoreResult<Store> {
        Ok(Store(match at.into() {
            StoreAddress::Sqlite(path) => Box::new(sqlite::Sqlite::open(&path)?),
            StoreAddress::Postgres(address) => Box::new(postgres::Postgres::open(&address)?),
        }))
    }

    /// Opens the database for reading; works with the daemon up or down.
    pub fn open_reader(at: impl Into<StoreAddress>) -> StoreResult<Store> {
        Ok(Store(match at.into() {
            StoreAddress::Sqlite(path) => Box::new(sqlite::Sqlite::open_reader(&path)?),
            StoreAddress::Postgres(address) => Box::new(postgres::Postgres::open_reader(&address)?),
        }))
    }

    /// As [`Store::open_reader`]; `None` where no daemon has created the database yet.
    pub fn open_reader_if_any(at: &StoreAddress) -> StoreResult<Option<Store>> {
        match Store::open_reader(at) {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Deref for Store {
    type Target = dyn Backend;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for Store {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}
