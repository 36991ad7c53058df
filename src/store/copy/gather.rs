//! What a database reads one by one is given in parts.

use super::{Datum, Kept, Part, Record, Set, Take};
use crate::store::StoreError;

/// A part is given when it has so many entries or bytes; whichever comes first.
const PART_ENTRIES: usize = 2_000;
const PART_BYTES: usize = 1 << 20;

/// Gathers what is given until it is a part.
struct Gathered<T> {
    items: Vec<T>,
    bytes: usize,
}

impl<T> Gathered<T> {
    fn new() -> Gathered<T> {
        Gathered { items: Vec::new(), bytes: 0 }
    }

    fn add(
        &mut self,
        item: T,
        bytes: usize,
        give: impl FnOnce(&[T]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.items.push(item);
        self.bytes += bytes;
        if self.items.len() < PART_ENTRIES && self.bytes < PART_BYTES {
            return Ok(());
        }
        self.rest(give)
    }

    /// What is left is a part too.
    fn rest(&mut self, give: impl FnOnce(&[T]) -> Result<(), StoreError>) -> Result<(), StoreError> {
        if !self.items.is_empty() {
            give(&self.items)?;
        }
        self.items.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Gives the entries of a table that a database reads one by one.
pub(in crate::store) fn give_entries(
    table: &'static Kept,
    take: Take<'_>,
    each: impl FnOnce(&mut dyn FnMut(Vec<Datum>) -> Result<(), StoreError>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut gathered = Gathered::new();
    each(&mut |entry| {
        let bytes = entry.iter().map(Datum::bytes).sum();
        gathered.add(entry, bytes, |entries| take(Part::Entries(table, entries)))
    })?;
    gathered.rest(|entries| take(Part::Entries(table, entries)))
}

/// Gives a set of rows that a database reads one by one.
pub(in crate::store) fn give_set(
    set: &Set,
    take: Take<'_>,
    each: impl FnOnce(&mut dyn FnMut(Record) -> Result<(), StoreError>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    take(Part::Set(set))?;
    let mut gathered = Gathered::new();
    each(&mut |record| {
        let bytes = record.bytes();
        gathered.add(record, bytes, |records| take(Part::Records(set, records)))
    })?;
    gathered.rest(|records| take(Part::Records(set, records)))?;
    take(Part::Whole(set))
}
