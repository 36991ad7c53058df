//! One store copied into another, whichever databases they are: what was kept is given part by part, all of one moment, and
//! taken into a new store that nobody can open before it is whole.
//!
//! The source is only read. What follows from the rest is not copied but made anew: the index of words, keys in blocks, and
//! who among the daemons has which task.

mod tables;
mod gather;
mod sum;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::digest;
use super::names::ColumnName;
use super::postgres;
use super::settle::Generation;
use super::sqlite;
use super::{Store, StoreError};
use crate::model::{StoreAddress, TaskName};

pub(super) use gather::{give_entries, give_set};
use sum::Sum;
pub(super) use tables::{AFTER_ROWS, BEFORE_ROWS, FOLDERS};
pub use tables::{Datum, Kept, Kind};

/// What is copied, in this order: tasks and runs; each set of rows, from its beginning to its end; what else is kept of them.
pub enum Part<'a> {
    /// Rows of one of our own tables.
    Entries(&'static Kept, &'a [Vec<Datum>]),
    /// A set of rows begins.
    Set(&'a Set),
    Records(&'a Set, &'a [Record]),
    /// All records of the set were given.
    Whole(&'a Set),
}

/// The rows of one good run, or of one that was kept aside.
pub struct Set {
    pub(super) generation: Generation,
    pub(super) task: TaskName,
    pub(super) run: String,
    pub(super) state: String,
    pub(super) last_seen: DateTime<Utc>,
}

/// A row as it is stored: numbers are their digits.
pub struct Record {
    pub(super) key: Vec<u8>,
    /// In milliseconds.
    pub(super) first_seen: i64,
    pub(super) page: u32,
    pub(super) cells: Vec<Option<String>>,
}

impl Record {
    /// Of the texts as found; values follow from them.
    pub(super) fn digest(&self, columns: &[ColumnName]) -> u128 {
        let texts = columns.iter().zip(&self.cells).filter(|(column, _)| column.is_text());
        digest::of_cells(texts.filter_map(|(column, cell)| Some((column.stored.as_str(), cell.as_deref()?))))
    }

    fn bytes(&self) -> usize {
        self.cells.iter().flatten().map(String::len).sum()
    }
}

impl Set {
    /// Whether anybody will ask for records of it by their keys.
    pub(super) fn is_shown(&self) -> bool {
        self.state == "published"
    }
}

/// A store that can be copied.
pub trait Giving {
    /// The daemons that are at work on it: under their hands it changes.
    fn at_work(&self) -> Result<Vec<String>, StoreError>;

    /// Everything that is kept, all of one moment.
    fn give(&self, take: Take<'_>) -> Result<(), StoreError>;
}

/// Takes one part after the other.
pub type Take<'t> = &'t mut dyn FnMut(Part<'_>) -> Result<(), StoreError>;

/// A store in the making. Until it is finished nobody can open it; one that was cut short is begun anew.
pub(super) trait Taking {
    fn take(&mut self, part: Part<'_>) -> Result<(), StoreError>;

    /// Looks through what was taken; from then on it is a store.
    fn finish(self: Box<Self>) -> Result<(), StoreError>;
}

/// How much was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Copied {
    pub tasks: u64,
    pub runs: u64,
    /// Published, those before them, and those kept aside.
    pub sets: u64,
    pub rows: u64,
    pub pages: u64,
    /// Publications that changed something.
    pub changes: u64,
}

impl Copied {
    fn count(&mut self, part: &Part<'_>) {
        let number = |entries: usize| entries as u64;
        match part {
            Part::Entries(table, entries) => match table.name {
                "_task" => self.tasks += number(entries.len()),
                "_runs" => self.runs += number(entries.len()),
                "_pages" => self.pages += number(entries.len()),
                "_change" => self.changes += number(entries.len()),
                _ => {}
            },
            Part::Set(_) => self.sets += 1,
            Part::Records(_, records) => self.rows += number(records.len()),
            Part::Whole(_) => {}
        }
    }
}

/// Copies a store into a new one at another address; `watch` hears how far it is.
pub fn copy(from: &Store, to: &StoreAddress, watch: &mut dyn FnMut(&Copied)) -> Result<Copied, StoreError> {
    nobody_at_work(from)?;
    let mut target: Box<dyn Taking> = match to {
        StoreAddress::Sqlite(path) => Box::new(sqlite::Taker::begin(path)?),
        StoreAddress::Postgres(address) => Box::new(postgres::Taker::begin(address)?),
    };
    let (mut copied, mut sum) = (Copied::default(), Sum::default());
    from.give(&mut |part| {
        copied.count(&part);
        watch(&copied);
        sum.check(&part)?;
        target.take(part)
    })?;
    // What somebody did meanwhile would be missing.
    nobody_at_work(from)?;
    target.finish()?;
    Ok(copied)
}

/// Refuses a store that changes under somebody's hands.
pub fn nobody_at_work(from: &Store) -> Result<(), StoreError> {
    let daemons = from.at_work()?;
    if daemons.is_empty() { Ok(()) } else { Err(StoreError::AtWork(daemons)) }
}
