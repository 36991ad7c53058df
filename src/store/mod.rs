//! EDGE: the database, the only SQL. One writer (the daemon), any number of readers.
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
mod names;
mod digest;
mod stamp;
mod sqlite;

use std::ops::{Deref, DerefMut};
use std::path::Path;

pub use care::{Care, Collected, Collecting, Keep};
pub use error::StoreError;
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
    Runs + Staging + Ending + Shown + History + Aside + Search + Tasks + Letters + Pages + Care + Collecting + Send
{
}

impl<T> Backend for T where
    T: Runs + Staging + Ending + Shown + History + Aside + Search + Tasks + Letters + Pages + Care + Collecting + Send
{
}

/// The database, opened for writing or for reading.
pub struct Store(Box<dyn Backend>);

impl Store {
    /// Opens the database for writing; makes it, or brings its format up to date, if need be.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Ok(Store(Box::new(sqlite::Sqlite::open(path)?)))
    }

    /// Opens the database for reading; works with the daemon up or down.
    pub fn open_reader(path: &Path) -> Result<Store, StoreError> {
        Ok(Store(Box::new(sqlite::Sqlite::open_reader(path)?)))
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
