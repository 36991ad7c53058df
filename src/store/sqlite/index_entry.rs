//! Entries of the full-text index, one for each published record: `_words` has its words, `_doc` says which record it
//! is.

use rusqlite::{Connection, ErrorCode, params};

use super::schema::INDEX;
use super::{StoreError, StoreResult};
use crate::store::search::fold_words_into;

/// Columns of `_words`. A task's columns are assigned to them by a hash of their names, the same for all tasks:
/// `price:95` searches one of them. Two columns in one slot cost a second check of the matches.
pub(super) const SLOTS: usize = 16;

const INSERT: &str = "INSERT INTO _words (rowid, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

/// Between the texts of two columns in one slot, so that no phrase matches across them: a word that no query can
/// contain.
const BORDER: &str = " \u{f8ff}";

/// An entry's id is its task's number followed by a number of its own.
const ENTRY_NUMBER_BITS: u32 = 40;

/// Identifies the record of an entry.
pub(super) struct IndexedRecord {
    /// Digest of its texts.
    pub digest: i64,
    pub key: Vec<u8>,
    /// Row number in the table that it was indexed from.
    pub row: i64,
}

/// The range of entry ids of a task.
pub(super) fn id_range(number: i64) -> (i64, i64) {
    (number << ENTRY_NUMBER_BITS, (number << ENTRY_NUMBER_BITS) | ((1 << ENTRY_NUMBER_BITS) - 1))
}

pub(super) fn task_number(id: i64) -> i64 {
    id >> ENTRY_NUMBER_BITS
}

/// Records that the row has another number in the table now.
pub(super) fn move_to(connection: &Connection, id: i64, row: i64) -> StoreResult<()> {
    connection.prepare_cached("UPDATE _doc SET row = ?2 WHERE id = ?1")?.execute([id, row])?;
    Ok(())
}

/// Adds an entry, with the texts of the record's cells and their slots.
pub(super) fn add<'t>(
    connection: &Connection,
    id: i64,
    record: &IndexedRecord,
    cells: impl Iterator<Item = (usize, &'t str)>,
) -> StoreResult<()> {
    let mut texts: [String; SLOTS] = Default::default();
    for (slot, text) in cells {
        let slot = &mut texts[slot];
        if !slot.is_empty() {
            slot.push_str(BORDER);
        }
        fold_words_into(text, slot);
    }
    let mut insert = connection.prepare_cached(INSERT)?;
    insert.raw_bind_parameter(1, id)?;
    for (slot, text) in texts.iter().enumerate() {
        insert.raw_bind_parameter(slot + 2, Some(text.as_str()).filter(|text| !text.is_empty()))?;
    }
    insert.raw_execute()?;
    connection.prepare_cached("INSERT INTO _doc (id, digest, key, row) VALUES (?1, ?2, ?3, ?4)")?.execute(params![
        id,
        record.digest,
        record.key,
        record.row
    ])?;
    Ok(())
}

pub(super) fn remove(connection: &Connection, id: i64) -> StoreResult<()> {
    connection.prepare_cached("DELETE FROM _words WHERE rowid = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM _doc WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// Creates the index again, empty, if it is what is damaged; otherwise returns the damage.
pub(super) fn rebuild_if_damaged(connection: &Connection, damage: StoreError) -> StoreResult<()> {
    let is_of_index = match &damage {
        // A step writes to nothing else: the tables of FTS5 contradict each other.
        StoreError::Sql(error) => {
            let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
            code == Some(ErrorCode::ConstraintViolation)
        }
        StoreError::Damaged(_) => {
            let check = connection.execute("INSERT INTO _words (_words) VALUES ('integrity-check')", []);
            matches!(check.map_err(StoreError::from), Err(StoreError::Damaged(_)))
        }
        _ => false,
    };
    if !is_of_index {
        return Err(damage);
    }
    Ok(connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; DROP TABLE _words; DROP TABLE _doc; DROP TABLE _indexed; {INDEX} COMMIT"
    ))?)
}
