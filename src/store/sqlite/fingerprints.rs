//! Reads the records of two generations in the order of their keys, for comparison. Large generations with the same
//! columns have keys and digests in blocks, which are read sequentially; otherwise the tables themselves are read.

use rusqlite::{Connection, Rows};

use super::compare::{ComparisonBasis, Differences, RowFingerprint};
use super::generation::Generation;
use super::names::{quoted, rows_table};
use super::{StoreError, keys};

/// Records of a table that are in memory at a time (16 MB); a larger table is compared in several passes, each over a
/// share of the keys.
const RECORDS_PER_PASS: i64 = 500_000;

pub(super) fn differences(
    connection: &Connection,
    before: &Generation,
    after: &Generation,
    measure: &ComparisonBasis,
) -> Result<Differences, StoreError> {
    let mut found = Differences::default();
    let in_blocks = |it: &Generation| keys::has_digests(connection, it.id);
    if measure.uses_stored_keys() && in_blocks(before)? && in_blocks(after)? {
        let sql = "SELECT entries, digests FROM _keys WHERE generation = ?1 ORDER BY first";
        let (mut old, mut new) = (connection.prepare(sql)?, connection.prepare(sql)?);
        found.merge_join(
            BlockFingerprints::of(old.query([before.id])?),
            BlockFingerprints::of(new.query([after.id])?),
        )?;
        return Ok(found);
    }
    let passes = u128::from((before.rows.max(after.rows) / RECORDS_PER_PASS).unsigned_abs() + 1);
    for pass in 0..passes {
        let part = |it| read(connection, it, measure, |key| key % passes == pass);
        found.merge_join(part(before)?.into_iter().map(Ok), part(after)?.into_iter().map(Ok))?;
    }
    Ok(found)
}

/// The records of a share of the keys, sorted by key and row.
fn read(
    connection: &Connection,
    generation: &Generation,
    measure: &ComparisonBasis,
    is_wanted: impl Fn(u128) -> bool,
) -> Result<Vec<RowFingerprint>, StoreError> {
    let texts: Vec<&str> =
        generation.texts().map(|it| it.stored.as_str()).filter(|it| measure.includes_column(it)).collect();
    let names: String = texts.iter().map(|name| format!(", {}", quoted(name))).collect();
    let mut statement =
        connection.prepare(&format!("SELECT _rowid_, _key{names} FROM {}", quoted(&rows_table(generation.id))))?;
    let mut rows = statement.query([])?;
    let mut marks = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells: Vec<(&str, &str)> = Vec::with_capacity(texts.len());
        for (at, name) in texts.iter().enumerate() {
            let text =
                row.get_ref(at + 2)?.as_str_or_null().map_err(|error| StoreError::InvalidValue(error.to_string()))?;
            cells.extend(text.map(|text| (*name, text)));
        }
        let mark = measure.fingerprint(row.get(0)?, u128::from_be_bytes(row.get(1)?), &cells);
        if is_wanted(mark.key) {
            marks.push(mark);
        }
    }
    marks.sort_unstable();
    Ok(marks)
}

/// Iterates over the records of one block after the other.
struct BlockFingerprints<'s> {
    rows: Rows<'s>,
    block: std::vec::IntoIter<RowFingerprint>,
}

impl<'s> BlockFingerprints<'s> {
    fn of(rows: Rows<'s>) -> BlockFingerprints<'s> {
        BlockFingerprints { rows, block: Vec::new().into_iter() }
    }

    fn next_block(&mut self) -> Result<bool, StoreError> {
        let Some(row) = self.rows.next()? else { return Ok(false) };
        let bytes = |at: usize| row.get_ref(at)?.as_blob().map_err(|error| StoreError::InvalidValue(error.to_string()));
        self.block = keys::fingerprints_of(bytes(0)?, bytes(1)?)?.into_iter();
        Ok(true)
    }
}

impl Iterator for BlockFingerprints<'_> {
    type Item = Result<RowFingerprint, StoreError>;

    fn next(&mut self) -> Option<Result<RowFingerprint, StoreError>> {
        loop {
            if let Some(mark) = self.block.next() {
                return Some(Ok(mark));
            }
            match self.next_block() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
