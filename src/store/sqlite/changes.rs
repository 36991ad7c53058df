//! Comparison of two generations for the history. Large generations have keys and digests in blocks, which are read
//! sequentially instead of the tables.

use std::collections::HashMap;

use rusqlite::{Connection, Rows};

use super::compare::{Differences, RowFingerprint};
use super::generation::Generation;
use super::record_diff::StoredRecord;
use super::{StoreError, StoreResult, keys};
use crate::store::changes::ComparableGenerations;

impl ComparableGenerations for Connection {
    /// Few: a prepared statement reads one after the other.
    const RECORDS_PER_READ: usize = 100;

    fn differences_by_digests(&self, before: &Generation, after: &Generation) -> StoreResult<Option<Differences>> {
        if !keys::has_digests(self, before.id)? || !keys::has_digests(self, after.id)? {
            return Ok(None);
        }
        let sql = "SELECT entries, digests FROM _keys WHERE generation = ?1 ORDER BY first";
        let (mut old, mut new) = (self.prepare(sql)?, self.prepare(sql)?);
        let mut found = Differences::default();
        found.merge_join(
            BlockFingerprints::of(old.query([before.id])?),
            BlockFingerprints::of(new.query([after.id])?),
        )?;
        Ok(Some(found))
    }

    fn records_at(&self, generation: &Generation, rows: &[i64]) -> StoreResult<HashMap<i64, StoredRecord>> {
        let mut select = self.prepare(&StoredRecord::select::<Connection>(generation, "_rowid_ = ?1"))?;
        let mut read = |&row: &i64| {
            let mut found = select.query([row])?;
            let found = found.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
            Ok((row, StoredRecord::read(generation, found)?))
        };
        rows.iter().map(&mut read).collect()
    }
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

    fn next_block(&mut self) -> StoreResult<bool> {
        let Some(row) = self.rows.next()? else { return Ok(false) };
        let bytes = |at: usize| row.get_ref(at)?.as_blob().map_err(StoreError::invalid_value);
        self.block = keys::fingerprints_of(bytes(0)?, bytes(1)?)?.into_iter();
        Ok(true)
    }
}

impl Iterator for BlockFingerprints<'_> {
    type Item = StoreResult<RowFingerprint>;

    fn next(&mut self) -> Option<StoreResult<RowFingerprint>> {
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
