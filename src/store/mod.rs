//! EDGE: the database, the only SQL. A file of SQLite has one writer (the daemon) and any number of readers; a PostgreSQL
//! database has as many daemons as one likes.
//!
//! What a store can do is said here, in one trait a concern; a database that can do all of it is a [`Backend`].
//! All our own tables start with `_`, which no task's name does.

mod error;
mod run;
mod rows;
mod task;
mod search;
mod letters;
mod pages;
mod history;
mod life;
mod compare;
mod record;
mod care;
mod fleet;
mod folders;
mod names;
mod digest;
mod stamp;
mod stored;
mod batch;
mod settle;
mod same;
mod owed;
mod aside;
mod copy;
mod sqlite;
mod postgres;

use crate::model::StoreAddress;
use std::ops::{Deref, DerefMut};

pub use care::{Care, Collected, Collecting, Keep};
pub use copy::{Copied, Datum, Giving, Kept, Kind, Part, Record, Set, copy, nobody_at_work};
pub use error::StoreError;
pub use fleet::{Fleet, Look, Member};
pub use folders::{FolderHead, Folders, SharedFile};
pub use history::{Cell, CellChange, Change, History, RecordChange, RecordKey, Unlisted, What};
pub use letters::{Delivery, Letter, Letters, Outgoing, Told, Watched, Which};
pub use life::{Event, Life, Point};
pub use pages::Pages;
pub use rows::{Aside, Browse, Resort, Rows, Shown};
pub use run::{Begun, Ending, RunRow, RunStart, Runs, Staging, Trigger};
pub use search::{Answer, Hit, Indexed, Marks, Query, QueryError, Search, Snippet, Wanted};
pub use sqlite::{Affinity, Scalar, TableFile};
pub use task::{Seen, TaskRow, Tasks};

/// A database that pieme can be kept in.
pub trait Backend:
    Runs
    + Staging
    + Ending
    + Shown
    + History
    + Aside
    + Search
    + Tasks
    + Letters
    + Pages
    + Care
    + Collecting
    + Fleet
    + Folders
    + Giving
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
