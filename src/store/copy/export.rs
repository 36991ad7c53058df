//! Reads what is copied of a store, and sends it in parts.

use super::{CopiedGeneration, CopiedKind, CopiedRow, CopiedTable, CopyPart, PartSink};
use crate::store::sql::{SqlRow, SqlSession, SqlValue};
use crate::store::{StoreResult, generation};

/// A part is sent when it has this many entries or bytes, whichever comes first.
const PART_ENTRIES: usize = 2_000;
const PART_BYTES: usize = 1 << 20;

/// Collects entries until they fill a part.
struct PartBuffer<T> {
    items: Vec<T>,
    bytes: usize,
}

impl<T> PartBuffer<T> {
    const EMPTY: PartBuffer<T> = PartBuffer { items: Vec::new(), bytes: 0 };

    fn add(&mut self, item: T, bytes: usize, give: impl FnOnce(&[T]) -> StoreResult<()>) -> StoreResult<()> {
        self.items.push(item);
        self.bytes += bytes;
        if self.items.len() < PART_ENTRIES && self.bytes < PART_BYTES {
            return Ok(());
        }
        self.flush(give)
    }

    /// Sends the rest as a part.
    fn flush(&mut self, give: impl FnOnce(&[T]) -> StoreResult<()>) -> StoreResult<()> {
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
) -> StoreResult<()> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let sql = format!("SELECT {} FROM {} ORDER BY {}", names.join(", "), table.name, table.order);
    let mut gathered = PartBuffer::EMPTY;
    session.query_each(&sql, &[], |row| {
        let cells = table.columns.iter().enumerate().map(|(at, (_, kind))| value(row, at, *kind));
        let entry = cells.collect::<Result<Vec<_>, _>>()?;
        let bytes = entry.iter().map(bytes).sum();
        gathered.add(entry, bytes, |entries| take(CopyPart::Entries(table, entries)))
    })?;
    gathered.flush(|entries| take(CopyPart::Entries(table, entries)))
}

fn value(row: &dyn SqlRow, at: usize, kind: CopiedKind) -> StoreResult<SqlValue<'static>> {
    let found = match kind {
        CopiedKind::Text => row.get::<Option<String>>(at)?.map(|text| SqlValue::Text(text.into())),
        CopiedKind::Int => row.get::<Option<_>>(at)?.map(SqlValue::Int),
        CopiedKind::Real => row.get::<Option<_>>(at)?.map(SqlValue::Real),
        CopiedKind::Bool => row.get::<Option<_>>(at)?.map(SqlValue::Bool),
        CopiedKind::Time => row.get::<Option<_>>(at)?.map(SqlValue::Time),
        CopiedKind::Bytes => row.get::<Option<Vec<u8>>>(at)?.map(|bytes| SqlValue::Bytes(bytes.into())),
    };
    Ok(found.unwrap_or(SqlValue::Null))
}

fn bytes(value: &SqlValue<'_>) -> usize {
    match value {
        SqlValue::Text(text) => text.len(),
        SqlValue::Bytes(bytes) => bytes.len(),
        _ => size_of::<SqlValue<'_>>(),
    }
}

/// The generations that are kept; rows that a run has staged are not copied.
pub(in crate::store) fn generations<S: SqlSession>(session: &S) -> StoreResult<Vec<CopiedGeneration>> {
    let sql = format!(
        "SELECT id, {}, columns, rows, digest, key, task, run, state, last_seen FROM _generation
         WHERE state IN ('published', 'previous', 'refused', 'quarantined') ORDER BY id",
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
    each: impl FnOnce(&mut dyn FnMut(CopiedRow) -> StoreResult<()>) -> StoreResult<()>,
) -> StoreResult<()> {
    take(CopyPart::GenerationBegin(set))?;
    let mut gathered = PartBuffer::EMPTY;
    each(&mut |record| {
        let bytes = record.bytes();
        gathered.add(record, bytes, |records| take(CopyPart::Rows(set, records)))
    })?;
    gathered.flush(|records| take(CopyPart::Rows(set, records)))?;
    take(CopyPart::GenerationEnd(set))
}
