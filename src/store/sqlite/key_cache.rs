//! Cache of when the published rows were first seen. Looking up each of 500,000 new rows means as many random searches
//! in the old table; its keys are read sequentially instead.

use rusqlite::Connection;

use super::digest::KeyHash;
use super::keys::{self, KeyEntry, KeyedRow};
use super::names::{quoted, rows_table};
use super::{StoreResult, timestamp};
use crate::model::TaskName;
use crate::store::sql::SqlSession;

/// 14 MB: a hostile run that sends ever more rows costs the daemon no more. In a larger table each row is looked up:
/// that is slower, but the daemon stays small.
pub(super) const MAX_KEYS: i64 = 500_000;

/// Keys are hashes: their first bits select a bucket, which has this many keys on average.
const KEYS_PER_BUCKET: usize = 4;

/// Keys with the times when they were first seen.
pub(super) struct KeyCache {
    /// Sorted by key.
    entries: Vec<KeyEntry>,
    /// Where each bucket begins in `entries`, and where the last one ends.
    bucket_starts: Vec<usize>,
    /// Right shift of a key's first eight bytes that gives the number of its bucket.
    shift: u32,
}

impl KeyCache {
    /// Loads the keys of the published generation; none where there is none, or where it is too large.
    pub fn load(connection: &Connection, task: &TaskName) -> StoreResult<Option<KeyCache>> {
        let sql = "SELECT id, rows FROM _generation WHERE task = $1 AND state = 'published'";
        let published: Option<(i64, i64)> =
            connection.query_first(sql, &[task], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((generation, rows)) = published.filter(|&(_, rows)| rows <= MAX_KEYS) else { return Ok(None) };
        let entries = keys::read(connection, generation, usize::try_from(rows).unwrap_or(0))?;
        let entries = if entries.is_empty() { from_index(connection, generation)? } else { entries };
        Ok(Some(KeyCache::of(entries)))
    }

    fn of(entries: Vec<KeyEntry>) -> KeyCache {
        let bits = (entries.len() / KEYS_PER_BUCKET).checked_ilog2().unwrap_or(0).max(1);
        let shift = u64::BITS - bits;
        let mut parts = vec![0; (1 << bits) + 1];
        for entry in &entries {
            parts[bucket(keys::key_of(entry), shift) + 1] += 1;
        }
        let mut begins = 0;
        for part in &mut parts {
            begins += *part;
            *part = begins;
        }
        KeyCache { entries, bucket_starts: parts, shift }
    }

    pub fn first_seen(&self, key: KeyHash) -> Option<i64> {
        let part = bucket(key, self.shift);
        let entries = &self.entries[self.bucket_starts[part]..self.bucket_starts[part + 1]];
        keys::search(entries, key).map(|found| found.first_seen)
    }
}

fn bucket(key: KeyHash, shift: u32) -> usize {
    let [a, b, c, d, e, f, g, h, ..] = key;
    (u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> shift) as usize
}

fn from_index(connection: &Connection, generation: i64) -> StoreResult<Vec<KeyEntry>> {
    // By key and age, so that the oldest of equal keys comes first; the index on both has that order.
    let sql = format!("SELECT _key, _first_seen FROM {} ORDER BY _key, _first_seen", quoted(&rows_table(generation)));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut entries: Vec<KeyEntry> = Vec::new();
    while let Some(row) = rows.next()? {
        let (key, instant) = (row.get_ref(0)?.as_blob_or_null(), row.get_ref(1)?.as_str_or_null());
        let (Ok(Some(key)), Ok(Some(instant))) = (key, instant) else { continue };
        let (Ok(key), Ok(instant)) = (KeyHash::try_from(key), timestamp::parse(instant)) else { continue };
        if entries.last().is_none_or(|last| keys::key_of(last) != key) {
            entries.push(keys::entry(key, KeyedRow { first_seen: instant.timestamp_millis(), row: 0 })?);
        }
    }
    Ok(entries)
}
