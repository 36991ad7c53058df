//! EDGE: the database, the only SQL. A file of SQLite has one writer (the daemon) and any number of readers; a PostgreSQL
//! database has as many daemons as one likes.
//!
//! What a store can do is said here, in one trait a concern; a database that can do all of it is a [`Backend`].
//! All our own tables start with `_`, which no task's name does.

mod decode;
mod timestamp;
mod run_end;
mod unchanged_prefix;
mod record_diff;
mod artifacts;
mod pending_ends;
mod record_history;
mod maintenance;
mod review;
mod outbox;
mod error;
mod run;
mod rows;
mod task;
mod search;
mod history;
mod compare;
mod fleet;
mod folders;
mod names;
mod digest;
mod batch;
mod copy;
mod sqlite;
mod postgres;

use crate::model::StoreAddress;
use std::ops::{Deref, DerefMut};

pub use self::artifacts::RunArtifacts;
pub use self::maintenance::{GarbageCollection, GcCounts, Maintenance, RetentionLimits};
pub use self::outbox::{AlertStateUpdate, AlertTask, AlertTaskFilter, Delivery, Outbox, OutboxEntry, OutgoingAlert};
pub use self::record_history::{RecordEvent, RecordHistory, TimedValue};
pub use copy::{
    CopiedGeneration, CopiedRow, CopiedTable, CopyCounts, CopyPart, Datum, DatumKind, Exporter, copy,
    refuse_if_daemons_active,
};
pub use error::StoreError;
pub use fleet::{FleetMembership, HeartbeatReport, Member};
pub use folders::{FolderVersion, SharedFile, SharedFolders};
pub use history::{CellChange, CellValue, ChangeKind, ChangeSet, History, RecordChange, RecordKey, UnlistedReason};
pub use rows::{BrowseQuery, PublishedRows, Review, ReviewAction, Rows};
pub use run::{BeginOutcome, RowStaging, RunEnding, RunRow, RunStart, Runs, Trigger};
pub use search::{
    FullTextSearch, Highlights, Hit, IndexProgress, Query, QueryError, SearchRequest, SearchResults, Snippet,
};
pub use sqlite::{Affinity, Scalar, TableFile};
pub use task::{FolderState, TaskRow, Tasks};

/// A database that pieme can be kept in.
pub trait Backend:
    Runs
    + RowStaging
    + RunEnding
    + PublishedRows
    + History
    + Review
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
    /// Opens the database for writing; makes it, or brings its format up to date, if need be.
    pub fn open(at: impl Into<StoreAddress>) -> Result<Store, StoreError> {
        Ok(Store(match at.into() {
            StoreAddress::Sqlite(path) => Box::new(sqlite::Sqlite::open(&path)?),
            StoreAddress::Postgres(address) => Box::new(postgres::Postgres::open(&address)?),
        }))
    }

    /// Opens the database for reading; works with the daemon up or down.
    pub fn open_reader(at: impl Into<StoreAddress>) -> Result<Store, StoreError> {
        Ok(Store(match at.into() {
            StoreAddress::Sqlite(path) => Box::new(sqlite::Sqlite::open_reader(&path)?),
            StoreAddress::Postgres(address) => Box::new(postgres::Postgres::open_reader(&address)?),
        }))
    }

    /// As [`Store::open_reader`]; `None` where the daemon has never made one.
    pub fn open_reader_if_any(at: &StoreAddress) -> Result<Option<Store>, StoreError> {
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
