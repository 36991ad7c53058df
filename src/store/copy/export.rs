//! Reads what is copied of a store, and sends it in parts.

use super::{CopiedGeneration, CopiedRow, CopiedTable, CopyPart, Datum, DatumKind, PartSink};
use crate::store::sql::{SqlRow, SqlSession};
use crate::store::{StoreError, generation};

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

/// Sends the entries of a table.
pub(in crate::store) fn export_entries(
    session: &impl SqlSession,
    table: &'static CopiedTable,
    take: PartSink<'_>,
) -> Result<(), StoreError> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let sql = format!("SELECT {} FROM {} ORDER BY {}", names.join(", "), table.name, table.order);
    let mut gathered = PartBuffer::new();
    session.query_each(&sql, &[], |row| {
        let cells = table.columns.iter().enumerate().map(|(at, (_, kind))| datum(row, at, *kind));
        let entry = cells.collect::<Result<Vec<Datum>, _>>()?;
        let bytes = entry.iter().map(Datum::bytes).sum();
        gathered.add(entry, bytes, |entries| take(CopyPart::Entries(table, entries)))
    })?;
    gathered.flush(|entries| take(CopyPart::Entries(table, entries)))
}

fn datum(row: &dyn SqlRow, at: usize, kind: DatumKind) -> Result<Datum, StoreError> {
    let found = match kind {
        DatumKind::Text => row.get::<Option<_>>(at)?.map(Datum::Text),
        DatumKind::Int => row.get::<Option<_>>(at)?.map(Datum::Int),
        DatumKind::Real => row.get::<Option<_>>(at)?.map(Datum::Real),
        DatumKind::Bool => row.get::<Option<_>>(at)?.map(Datum::Bool),
        DatumKind::Time => row.get::<Option<_>>(at)?.map(Datum::Time),
        DatumKind::Bytes => row.get::<Option<_>>(at)?.map(Datum::Bytes),
    };
    Ok(found.unwrap_or(Datum::Null))
}

/// The generations that are kept; rows that a run has staged are not copied.
pub(in crate::store) fn generations<S: SqlSession>(session: &S) -> Result<Vec<CopiedGeneration>, StoreError> {
    let sql = format!(
        "SELECT id, {}, columns, rows, digest, key, task, run, state, last_seen FROM _generation
         WHERE state IN ('published', 'previous', 'quarantined') ORDER BY id",
        S::ROWS_TABLE
    );
    session.query(&sql, &[], |row| {
        let generation = generation::read_with_key(row)?;
        let (task, run, state, last_seen) = (row.get(6)?, row.get(7)?, row.get(8)?, row.get(9)?);
        Ok(CopiedGeneration { generation, task, run, state, last_seen })
    })
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
