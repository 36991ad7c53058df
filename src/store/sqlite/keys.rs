//! Key blocks: the keys of a large generation, sorted and stored in blocks that are found by their first key. SQLite's
//! own index on 500,000 hashes cost 0.7 s of the 2.9 s of a publication: it reads the whole table again and compares
//! hash by hash, while the run has the keys in memory and sorts them in 0.03 s. A small generation, whose table is
//! filled again and again, and one whose keys do not fit into memory, have an index on `_key` instead.

use rusqlite::{Connection, OptionalExtension, params};

use super::compare::RowFingerprint;
use super::digest::KeyHash;
use super::names::{quoted, rows_table};
use super::{StoreError, StoreResult, timestamp};

/// A key, when it was first seen (milliseconds) and its row number, big-endian, so that entries sort as bytes do.
pub(super) type KeyEntry = [u8; ENTRY_BYTES];

const ENTRY_BYTES: usize = 28;

/// An entry with the first half of its record's digest, by which two generations are compared: 64 bits, so that one
/// change in 10^19 is overlooked.
pub(super) type DigestedKeyEntry = [u8; ENTRY_BYTES + DIGEST_BYTES];

const DIGEST_BYTES: usize = 8;

/// Entries of a block. A row of a table without rowid stays whole within a quarter of a page (1,002 bytes of 4,096).
const ENTRIES_PER_BLOCK: usize = 26;

/// What is stored with the key of a published record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyedRow {
    pub first_seen: i64,
    pub row: i64,
}

pub(super) fn entry(key: KeyHash, found: KeyedRow) -> StoreResult<KeyEntry> {
    let row = u32::try_from(found.row).map_err(|_| StoreError::InvalidValue(format!("row number {}", found.row)))?;
    let mut entry = [0; ENTRY_BYTES];
    entry[..16].copy_from_slice(&key);
    entry[16..24].copy_from_slice(&found.first_seen.to_be_bytes());
    entry[24..].copy_from_slice(&row.to_be_bytes());
    Ok(entry)
}

pub(super) fn digested_entry(key: KeyHash, found: KeyedRow, digest: u64) -> StoreResult<DigestedKeyEntry> {
    let mut marked = [0; ENTRY_BYTES + DIGEST_BYTES];
    marked[..ENTRY_BYTES].copy_from_slice(&entry(key, found)?);
    marked[ENTRY_BYTES..].copy_from_slice(&digest.to_be_bytes());
    Ok(marked)
}

pub(super) fn key_of(entry: &KeyEntry) -> KeyHash {
    let mut key = [0; 16];
    key.copy_from_slice(&entry[..16]);
    key
}

fn row_of(entry: &KeyEntry) -> KeyedRow {
    let (mut first_seen, mut row) = ([0; 8], [0; 4]);
    first_seen.copy_from_slice(&entry[16..24]);
    row.copy_from_slice(&entry[24..]);
    KeyedRow { first_seen: i64::from_be_bytes(first_seen), row: i64::from(u32::from_be_bytes(row)) }
}

/// The entry of a key among sorted ones.
pub(super) fn search(entries: &[KeyEntry], key: KeyHash) -> Option<KeyedRow> {
    // As numbers, which take one comparison where bytes take a call.
    let (number, wanted) = (|entry: &KeyEntry| u128::from_be_bytes(key_of(entry)), u128::from_be_bytes(key));
    let place = entries.partition_point(|entry| number(entry) < wanted);
    entries.get(place).filter(|entry| number(entry) == wanted).map(row_of)
}

/// Writes the keys of a generation. Of equal keys the oldest is kept. The digests are then left out, since those of
/// some rows would be missing: two generations are compared by their rows.
pub(super) fn write(connection: &Connection, generation: i64, marked: &mut Vec<DigestedKeyEntry>) -> StoreResult<()> {
    // An earlier attempt to end the run may have written them.
    delete_blocks(connection, generation)?;
    marked.sort_unstable();
    let rows = marked.len();
    marked.dedup_by(|next, kept| next[..16] == kept[..16]);
    let is_each_once = marked.len() == rows;
    let sql = "INSERT INTO _keys (generation, first, entries, digests) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = connection.prepare(sql)?;
    let (mut entries, mut digests) = (Vec::new(), Vec::new());
    for block in marked.chunks(ENTRIES_PER_BLOCK) {
        entries.clear();
        digests.clear();
        for (entry, digest) in block.iter().map(|it| it.split_at(ENTRY_BYTES)) {
            entries.extend_from_slice(entry);
            digests.extend_from_slice(digest);
        }
        insert.execute(params![generation, &block[0][..16], entries, is_each_once.then_some(&digests)])?;
    }
    Ok(())
}

/// Whether the key blocks of a generation contain the digests of its records.
pub(super) fn has_digests(connection: &Connection, generation: i64) -> StoreResult<bool> {
    let sql = "SELECT digests IS NOT NULL FROM _keys WHERE generation = ?1 LIMIT 1";
    Ok(connection.prepare_cached(sql)?.query_row([generation], |row| row.get(0)).optional()?.unwrap_or(false))
}

/// The records of one block.
pub(super) fn fingerprints_of(entries: &[u8], digests: &[u8]) -> StoreResult<Vec<RowFingerprint>> {
    let (entries, digests) = (entries.as_chunks::<ENTRY_BYTES>().0, digests.as_chunks::<DIGEST_BYTES>().0);
    if entries.len() != digests.len() {
        return Err(StoreError::InvalidValue("a key block without its digests".to_owned()));
    }
    let mark = |(entry, digest): (&KeyEntry, &[u8; DIGEST_BYTES])| RowFingerprint {
        key: u128::from_be_bytes(key_of(entry)),
        row: row_of(entry).row,
        digest: u64::from_be_bytes(*digest),
    };
    Ok(entries.iter().zip(digests).map(mark).collect())
}

/// All keys of a generation in their order; none where it has an index.
pub(super) fn read(connection: &Connection, generation: i64, rows: usize) -> StoreResult<Vec<KeyEntry>> {
    let mut statement = connection.prepare("SELECT entries FROM _keys WHERE generation = ?1 ORDER BY first")?;
    let mut blocks = statement.query([generation])?;
    let mut entries = Vec::new();
    while let Some(block) = blocks.next()? {
        // The keys of an invalid block are treated as new.
        let Ok(Some(bytes)) = block.get_ref(0)?.as_blob_or_null() else { continue };
        if entries.is_empty() {
            entries.reserve(rows);
        }
        entries.extend_from_slice(bytes.as_chunks().0);
    }
    Ok(entries)
}

/// Whether a generation has key blocks.
pub(super) fn has_blocks(connection: &Connection, generation: i64) -> StoreResult<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM _keys WHERE generation = ?1 LIMIT 1")?.exists([generation])?)
}

/// The record of a key; the oldest, where there are several.
pub(super) fn find(
    connection: &Connection,
    generation: i64,
    blocks: bool,
    key: KeyHash,
) -> StoreResult<Option<KeyedRow>> {
    if blocks { find_in_blocks(connection, generation, key) } else { find_by_index(connection, generation, key) }
}

fn find_in_blocks(connection: &Connection, generation: i64, key: KeyHash) -> StoreResult<Option<KeyedRow>> {
    let block: Option<Vec<u8>> = connection
        .prepare_cached("SELECT entries FROM _keys WHERE generation = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1")?
        .query_row(params![generation, key], |row| row.get(0))
        .optional()?;
    Ok(block.and_then(|bytes| search(bytes.as_chunks().0, key)))
}

fn find_by_index(connection: &Connection, generation: i64, key: KeyHash) -> StoreResult<Option<KeyedRow>> {
    let table = quoted(&rows_table(generation));
    let sql = format!("SELECT _first_seen, _rowid_ FROM {table} WHERE _key = ?1 ORDER BY _first_seen LIMIT 1");
    let found: Option<(String, i64)> =
        connection.prepare_cached(&sql)?.query_row([key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(found
        .and_then(|(text, row)| Some(KeyedRow { first_seen: timestamp::parse(&text).ok()?.timestamp_millis(), row })))
}

/// Deletes the key blocks of a table that is filled with other rows.
pub(super) fn delete_blocks(connection: &Connection, generation: i64) -> StoreResult<()> {
    connection.prepare_cached("DELETE FROM _keys WHERE generation = ?1")?.execute([generation])?;
    Ok(())
}
