//! Imports a copy of another store into a new file. The file has a temporary name until it is complete, so that an
//! incomplete copy cannot be opened; the next copy removes what an interrupted one has left.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use rusqlite::{Connection, OpenFlags};

use super::keys::{self, DigestedKeyEntry, KeyedRow};
use super::open::{PAGE_BYTES, connect, exists, folder_of, io_error, with_suffix};
use super::publish::{make_key_index, view_sql};
use super::verify::{check, verify_published};
use super::{StoreError, StoreResult, digest, generation, key_cache, schema, timestamp};
use crate::model::StoreAddress;
use crate::store::changes::MAX_INLINE_ROWS;
use crate::store::copy::{CopiedGeneration, CopiedRow, CopiedTable, CopyPart, CopyTarget, FOLDER_TABLES};
use crate::store::sql::SqlValue;

/// A lost copy is made again, so nothing waits for the disk before the end. Tasks and their rows refer to each other:
/// foreign keys are checked once both are there.
const SETTINGS: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF";

/// A file under construction.
pub struct Importer {
    path: PathBuf,
    partial: PartialFile,
    connection: Connection,
    /// Keys of the current generation, where it gets key blocks.
    keys: Vec<DigestedKeyEntry>,
}

/// The file under its temporary name. It is removed on drop, complete or not.
struct PartialFile {
    path: PathBuf,
    /// While it is held, the file is in use.
    _lock: Flock<File>,
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // A file that stays is removed by the next copy.
        let _ = fs::remove_file(&self.path);
    }
}

impl Importer {
    pub fn begin(path: &Path) -> StoreResult<Importer> {
        if exists(path)? {
            return Err(StoreError::Occupied(StoreAddress::Sqlite(path.to_owned())));
        }
        let folder = folder_of(path);
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
        remove_leftovers(path, folder)?;
        let name = with_suffix(path, &format!("{PARTIAL_SUFFIX}{}", std::process::id()));
        let file = File::create_new(&name).map_err(|source| io_error(&name, source))?;
        let held = lock(file).ok_or_else(|| StoreError::Busy("another copy into this file is running".into()))?;
        let making = PartialFile { path: name, _lock: held };
        let mut connection = connect(&making.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.execute_batch(SETTINGS)?;
        schema::migrate(&mut connection)?;
        Ok(Importer { path: path.to_owned(), partial: making, connection, keys: Vec::new() })
    }

    fn insert_entries(&self, table: &CopiedTable, entries: &[Vec<SqlValue<'_>>]) -> StoreResult<()> {
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, names.join(", "));
        let mut insert = self.connection.prepare(&sql)?;
        for entry in entries {
            insert.execute(rusqlite::params_from_iter(entry))?;
        }
        Ok(())
    }

    fn insert_rows(&mut self, set: &CopiedGeneration, records: &[CopiedRow]) -> StoreResult<()> {
        let columns = &set.generation.columns;
        let mut insert = self.connection.prepare(&generation::insert_sql(set.generation.id, columns))?;
        for record in records {
            insert.raw_bind_parameter(1, &record.key[..])?;
            insert.raw_bind_parameter(2, timestamp::text_of_millis(record.first_seen))?;
            insert.raw_bind_parameter(3, record.page)?;
            for (index, cell) in record.cells.iter().enumerate() {
                insert.raw_bind_parameter(index + 4, cell.as_deref())?;
            }
            insert.raw_execute()?;
            if has_blocks(set) {
                let key = record.key.as_slice().try_into().map_err(StoreError::invalid_value)?;
                let found = KeyedRow { first_seen: record.first_seen, row: self.connection.last_insert_rowid() };
                self.keys.push(keys::digested_entry(key, found, digest::first_half(record.digest(columns)))?);
            }
        }
        Ok(())
    }

    /// Writes the entry of a generation, once all of its rows are there.
    fn finish_generation(&mut self, set: &CopiedGeneration) -> StoreResult<()> {
        let CopiedGeneration { generation, task, .. } = set;
        set.insert(&self.connection, None)?;
        if has_blocks(set) {
            keys::write(&self.connection, generation.id, &mut self.keys)?;
            self.keys = Vec::new();
        } else if set.needs_key_lookup() {
            make_key_index(&self.connection, generation.id)?;
        }
        if set.needs_key_lookup() {
            self.connection.execute_batch(&view_sql(task, generation.id, &generation.columns))?;
        }
        Ok(())
    }
}

impl CopyTarget for Importer {
    fn import_part(&mut self, part: CopyPart<'_>) -> StoreResult<()> {
        self.connection.execute_batch("BEGIN")?;
        match part {
            // A file has one daemon, whose task folders are on its disk.
            CopyPart::Entries(table, _) if FOLDER_TABLES.iter().any(|it| it.name == table.name) => {}
            CopyPart::Entries(table, entries) => self.insert_entries(table, entries)?,
            CopyPart::GenerationBegin(set) => {
                self.keys.clear();
                self.connection.execute_batch(&generation::table_sql(set.generation.id, &set.generation.columns))?;
            }
            CopyPart::Rows(set, records) => self.insert_rows(set, records)?,
            CopyPart::GenerationEnd(set) => self.finish_generation(set)?,
        }
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    fn finish(self: Box<Self>) -> StoreResult<()> {
        let Importer { path, partial: making, connection, .. } = *self;
        let loose = connection.prepare("PRAGMA foreign_key_check")?.exists([])?;
        if loose {
            return Err(StoreError::Damaged("it refers to a missing row".to_owned()));
        }
        check(&connection, "PRAGMA quick_check(1)")?;
        verify_published(&connection)?;
        connection.close().map_err(|(_, error)| error)?;
        let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all()).map_err(|it| io_error(path, it));
        sync(&making.path)?;
        // Unlike a rename, a hard link never replaces an existing file.
        fs::hard_link(&making.path, &path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Occupied(StoreAddress::Sqlite(path.clone())),
            _ => io_error(&path, error),
        })?;
        drop(making);
        sync(folder_of(&path))
    }
}

/// Between a file's name and the id of the process that writes it.
const PARTIAL_SUFFIX: &str = ".copying-";

/// Removes what interrupted copies have left.
fn remove_leftovers(path: &Path, folder: &Path) -> StoreResult<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_ours = |found: &Path| {
        let found = found.file_name().unwrap_or_default().to_string_lossy();
        found.strip_prefix(&*name).is_some_and(|rest| rest.starts_with(PARTIAL_SUFFIX))
    };
    let entries = fs::read_dir(folder).map_err(|source| io_error(folder, source))?;
    for left_over in entries.flatten().map(|entry| entry.path()).filter(|it| is_ours(it)) {
        // A file that is locked is being written.
        if File::open(&left_over).ok().and_then(lock).is_some() {
            fs::remove_file(&left_over).map_err(|source| io_error(&left_over, source))?;
        }
    }
    Ok(())
}

fn lock(file: File) -> Option<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// Whether a publication of so many rows would have written key blocks.
fn has_blocks(set: &CopiedGeneration) -> bool {
    let rows = set.generation.rows;
    set.state != "quarantined" && rows > MAX_INLINE_ROWS && rows <= key_cache::MAX_KEYS
}
