//! A new file that another store is copied into. It is made under a name of its own and gets its name when it is whole: until then
//! there is nothing that could be opened, and what was cut short is removed by the next copy.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use rusqlite::{Connection, OpenFlags, ToSql, params};

use super::keys::{self, Found, Marked};
use super::open::{PAGE_BYTES, beside, connect, exists, folder_of, io_error};
use super::publish::{SMALL, make_key_index, view_sql};
use super::{Sqlite, StoreError, digest, generation, known, schema, stamp};
use crate::model::StoreAddress;
use crate::store::copy::{Datum, FOLDERS, Kept, Part, Record, Set, Taking};

/// What is lost is made again, so nothing waits for the disk before the end. Tasks and their rows refer to each other: that is
/// looked at when both are there.
const SETTINGS: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF";

/// A file in the making.
pub struct Taker {
    path: PathBuf,
    making: Making,
    connection: Connection,
    /// Of the set that is being taken, where they are wanted in blocks.
    keys: Vec<Marked>,
}

/// The file under the name that it has while it is made. It goes with its maker, whole or not.
struct Making {
    path: PathBuf,
    /// While it is held the file is somebody's.
    _held: Flock<File>,
}

impl Drop for Making {
    fn drop(&mut self) {
        // What stays is removed by the next copy.
        let _ = fs::remove_file(&self.path);
    }
}

impl Taker {
    pub fn begin(path: &Path) -> Result<Taker, StoreError> {
        if exists(path)? {
            return Err(StoreError::Occupied(StoreAddress::Sqlite(path.to_owned())));
        }
        let folder = folder_of(path);
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
        remove_left_over(path, folder)?;
        let name = beside(path, &format!("{MAKING}{}", std::process::id()));
        let file = File::create_new(&name).map_err(|source| io_error(&name, source))?;
        let held = lock(file).ok_or_else(|| StoreError::Busy("somebody else copies into it".into()))?;
        let making = Making { path: name, _held: held };
        let mut connection = connect(&making.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.execute_batch(SETTINGS)?;
        schema::migrate(&mut connection)?;
        Ok(Taker { path: path.to_owned(), making, connection, keys: Vec::new() })
    }

    fn put(&self, table: &Kept, entries: &[Vec<Datum>]) -> Result<(), StoreError> {
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, names.join(", "));
        let mut insert = self.connection.prepare(&sql)?;
        for entry in entries {
            let cells = entry.iter().map(cell).collect::<Vec<Box<dyn ToSql>>>();
            insert.execute(rusqlite::params_from_iter(cells.iter()))?;
        }
        Ok(())
    }

    fn put_records(&mut self, set: &Set, records: &[Record]) -> Result<(), StoreError> {
        let columns = &set.generation.columns;
        let mut insert = self.connection.prepare(&generation::insert_sql(set.generation.id, columns))?;
        for record in records {
            insert.raw_bind_parameter(1, &record.key[..])?;
            insert.raw_bind_parameter(2, stamp::text_of_millis(record.first_seen))?;
            insert.raw_bind_parameter(3, record.page)?;
            for (index, cell) in record.cells.iter().enumerate() {
                insert.raw_bind_parameter(index + 4, cell.as_deref())?;
            }
            insert.raw_execute()?;
            if has_blocks(set) {
                let key = record.key.as_slice().try_into().map_err(StoreError::value)?;
                let found = Found { first_seen: record.first_seen, row: self.connection.last_insert_rowid() };
                self.keys.push(keys::marked(key, found, digest::first_half(record.digest(columns)))?);
            }
        }
        Ok(())
    }

    /// What says where the rows are, once they are all there.
    fn end_set(&mut self, set: &Set) -> Result<(), StoreError> {
        let Set { generation, task, run, state, last_seen } = set;
        let columns = serde_json::to_string(&generation.columns).map_err(StoreError::value)?;
        let key = generation.key.as_ref().map(serde_json::to_string).transpose().map_err(StoreError::value)?;
        self.connection.execute(
            "INSERT INTO _generation (id, task, run, state, columns, rows, digest, last_seen, key)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                generation.id,
                task.as_str(),
                run,
                state,
                columns,
                generation.rows,
                generation.digest.to_bytes(),
                stamp::text(*last_seen),
                key
            ],
        )?;
        if has_blocks(set) {
            keys::write(&self.connection, generation.id, &mut self.keys)?;
            self.keys = Vec::new();
        } else if set.is_shown() {
            make_key_index(&self.connection, generation.id)?;
        }
        if set.is_shown() {
            self.connection.execute_batch(&view_sql(task, generation.id, &generation.columns))?;
        }
        Ok(())
    }
}

impl Taking for Taker {
    fn take(&mut self, part: Part<'_>) -> Result<(), StoreError> {
        self.connection.execute_batch("BEGIN")?;
        match part {
            // A file has one daemon, whose folders are on its disk.
            Part::Entries(table, _) if FOLDERS.iter().any(|it| it.name == table.name) => {}
            Part::Entries(table, entries) => self.put(table, entries)?,
            Part::Set(set) => {
                self.keys.clear();
                self.connection.execute_batch(&generation::table_sql(set.generation.id, &set.generation.columns))?;
            }
            Part::Records(set, records) => self.put_records(set, records)?,
            Part::Whole(set) => self.end_set(set)?,
        }
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    fn finish(self: Box<Self>) -> Result<(), StoreError> {
        let Taker { path, making, connection, .. } = *self;
        let loose = connection.prepare("PRAGMA foreign_key_check")?.exists([])?;
        if loose {
            return Err(StoreError::Damaged("it names what is not there".to_owned()));
        }
        let store = Sqlite::with(connection, None);
        store.check("PRAGMA quick_check(1)")?;
        store.verify_published()?;
        store.connection.close().map_err(|(_, error)| error)?;
        let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all()).map_err(|it| io_error(path, it));
        sync(&making.path)?;
        // Unlike a renaming this takes nobody's place.
        fs::hard_link(&making.path, &path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Occupied(StoreAddress::Sqlite(path.clone())),
            _ => io_error(&path, error),
        })?;
        drop(making);
        sync(folder_of(&path))
    }
}

/// Between a file's name and the number of the process that makes it.
const MAKING: &str = ".copying-";

/// Removes what copies that were cut short have left.
fn remove_left_over(path: &Path, folder: &Path) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_ours = |found: &Path| {
        let found = found.file_name().unwrap_or_default().to_string_lossy();
        found.strip_prefix(&*name).is_some_and(|rest| rest.starts_with(MAKING))
    };
    let entries = fs::read_dir(folder).map_err(|source| io_error(folder, source))?;
    for left_over in entries.flatten().map(|entry| entry.path()).filter(|it| is_ours(it)) {
        // What somebody holds is being made.
        if File::open(&left_over).ok().and_then(lock).is_some() {
            fs::remove_file(&left_over).map_err(|source| io_error(&left_over, source))?;
        }
    }
    Ok(())
}

fn lock(file: File) -> Option<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// As a publication of so many rows would have left them.
fn has_blocks(set: &Set) -> bool {
    let rows = set.generation.rows;
    set.state != "quarantined" && rows > SMALL && rows <= known::MOST
}

fn cell(datum: &Datum) -> Box<dyn ToSql + '_> {
    match datum {
        Datum::Null => Box::new(rusqlite::types::Null),
        Datum::Text(text) => Box::new(text.as_str()),
        Datum::Int(number) => Box::new(*number),
        Datum::Real(number) => Box::new(*number),
        Datum::Bool(is_so) => Box::new(*is_so),
        Datum::Time(at) => Box::new(stamp::text(*at)),
        Datum::Bytes(bytes) => Box::new(bytes.as_slice()),
    }
}
