//! Collects what a database reads one by one, and sends it in parts.

use super::{CopiedGeneration, CopiedRow, CopiedTable, CopyPart, Datum, PartSink};
use crate::store::StoreError;

/// A part is sent when it has this many entries or bytes, whichever comes first.
const PART_ENTRIES: usize = 2_000;
const PART_BYTES: usize = 1 << 20;

/// Collects entries until they fill a part.
struct PartBuffer<T> {
    items: Vec<T>,
    bytes: usize,
}

impl<T> PartBuffer<T> {
    fn new() -> PartBuffer<T> {
        PartBuffer { items: Vec::new(), bytes: 0 }
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
        self.flush(give)
    }

    /// Sends the rest as a part.
    fn flush(&mut self, give: impl FnOnce(&[T]) -> Result<(), StoreError>) -> Result<(), StoreError> {
        if !self.items.is_empty() {
            give(&self.items)?;
        }
        self.items.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Sends the entries of a table, which a database reads one by one.
pub(in crate::store) fn send_entries(
    table: &'static CopiedTable,
    take: PartSink<'_>,
    each: impl FnOnce(&mut dyn FnMut(Vec<Datum>) -> Result<(), StoreError>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut gathered = PartBuffer::new();
    each(&mut |entry| {
        let bytes = entry.iter().map(Datum::bytes).sum();
        gathered.add(entry, bytes, |entries| take(CopyPart::Entries(table, entries)))
    })?;
    gathered.flush(|entries| take(CopyPart::Entries(table, entries)))
}

/// Sends the rows of a generation, which a database reads one by one.
pub(in crate::store) fn send_generation(
    set: &CopiedGeneration,
    take: PartSink<'_>,
    each: impl FnOnce(&mut dyn FnMut(CopiedRow) -> Result<(), StoreError>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    take(CopyPart::GenerationBegin(set))?;
    let mut gathered = PartBuffer::new();
    each(&mut |record| {
        let bytes = record.bytes();
        gathered.add(record, bytes, |records| take(CopyPart::Rows(set, records)))
    })?;
    gathered.flush(|records| take(CopyPart::Rows(set, records)))?;
    take(CopyPart::GenerationEnd(set))
}
