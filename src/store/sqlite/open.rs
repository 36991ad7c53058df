//! Opens the database. A new one is created completely or not at all; an existing one is checked before use; a damaged
//! one is never replaced.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{AccessFlags, access};
use rusqlite::{Connection, OpenFlags};
use url::Url;

use super::verify::{check, verify_published};
use super::{PendingEnds, RetentionLimits, Sqlite, StoreError, StoreResult, decode, index_entry, runs, schema};
use crate::model::{RunId, TaskName};
use crate::store::sql::SqlStore;

/// A checkpoint or a publication takes far less; after this time another process is holding the database.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Files up to this size are checked completely at the start (some 1 GB/s from the page cache). In larger ones only the
/// tables that say what is published are checked, so that years of raw pages do not delay the start.
const FULL_CHECK_BYTES: u64 = 256 << 20;

/// Size of the index of the write-ahead log.
const MIN_FREE_BYTES: u64 = 64 << 10;

const BOOKKEEPING_TABLES: &[&str] = &["sqlite_schema", "_task", "_runs", "_generation"];

/// Page size of a new database; an existing one keeps its own. Every page is written to the log, read from it and
/// written to the file, with two or four system calls: 500,000 rows cost a tenth less than with 4,096. Twice as much
/// would save little more, and a small task has three pages to itself.
pub(super) const PAGE_BYTES: i64 = 8_192;

/// In kB, negative as SQLite requires.
pub(super) const CACHE: i64 = -16_000;
/// The dashboard and the search page have several readers.
const READER_CACHE: i64 = -4_000;

/// Settings of every connection. `synchronous=NORMAL` lost acknowledged commits in 1,253 of 1,500 simulated power cuts,
/// `FULL` in none.
const SETTINGS: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA journal_size_limit = 16777216;
";

impl Sqlite {
    /// Opens the database for writing; creates it, or migrates its format, if necessary.
    pub fn open(path: &Path) -> StoreResult<Sqlite> {
        Sqlite::open_writer(path).map_err(|error| opening_error(error, path))
    }

    /// Opens the database for reading; works with the daemon up or down.
    pub fn open_reader(path: &Path) -> StoreResult<Sqlite> {
        Sqlite::open_read_only(path).map_err(|error| opening_error(error, path))
    }

    fn open_writer(path: &Path) -> StoreResult<Sqlite> {
        if !exists(path)? {
            create(path)?;
        }
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Nothing is written, not even the journal mode, before the file is known to be pieme's and undamaged.
        schema::refuse_foreign(&connection, path)?;
        let mut store = Sqlite::with_connection(connection, Some(DatabaseFile::of(path)?));
        store.boot = decode::boot_id();
        store.check_integrity(path)?;
        let mode: String = store.connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            let why = format!("journal_mode is {mode}, not wal: the file system cannot share memory");
            return Err(StoreError::InvalidValue(why));
        }
        schema::migrate(&mut store.connection)?;
        Ok(store)
    }

    fn open_read_only(path: &Path) -> StoreResult<Sqlite> {
        if !exists(path)? {
            return Err(StoreError::Missing(path.into()));
        }
        let connection = match immutable_uri(path) {
            Some(unchanging) => connect(&unchanging, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?,
            None => connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        };
        connection.pragma_update(None, "cache_size", READER_CACHE)?;
        connection.pragma_update(None, "query_only", true)?;
        schema::refuse_foreign(&connection, path)?;
        Ok(Sqlite::with_connection(connection, None))
    }

    pub(super) fn with_connection(connection: Connection, home: Option<DatabaseFile>) -> Sqlite {
        let (keep, staged, owed) = (RetentionLimits::default(), HashMap::new(), PendingEnds::default());
        Sqlite { connection, retention: keep, staged, pending_ends: owed, indexing: None, file: home, boot: None }
    }

    /// Refuses to write to a file that was removed or replaced: what is reported as stored would be lost.
    pub(super) fn ensure_file_in_place(&self) -> StoreResult<()> {
        match &self.file {
            Some(home) if DatabaseFile::of(&home.path).ok().as_ref() != Some(home) => {
                Err(StoreError::FileReplaced(home.path.clone()))
            }
            _ => Ok(()),
        }
    }

    fn check_integrity(&self, path: &Path) -> StoreResult<()> {
        let connection = &self.connection;
        let size = fs::metadata(path).map_err(|source| io_error(path, source))?.len();
        if size <= FULL_CHECK_BYTES {
            if let Err(damage) = check(connection, "PRAGMA quick_check(1)") {
                // The index can be created again; the second check finds any other damage.
                index_entry::rebuild_if_damaged(connection, damage)?;
                check(connection, "PRAGMA quick_check(1)")?;
            }
            return verify_published(connection);
        }
        BOOKKEEPING_TABLES.iter().try_for_each(|table| check(connection, &format!("PRAGMA quick_check({table})")))
    }
}

impl SqlStore for Sqlite {
    type Session = Connection;

    fn session(&self) -> &Connection {
        &self.connection
    }

    fn retention(&self) -> RetentionLimits {
        self.retention
    }

    fn ensure_writable(&self) -> StoreResult<()> {
        self.ensure_file_in_place()
    }

    fn require_open(&self, run: RunId) -> StoreResult<TaskName> {
        runs::require_open(&self.connection, run)
    }
}

/// Identity of a file, whatever its name refers to later.
#[derive(PartialEq, Eq)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    device: u64,
    inode: u64,
}

impl DatabaseFile {
    fn of(path: &Path) -> StoreResult<DatabaseFile> {
        let meta = fs::metadata(path).map_err(|source| io_error(path, source))?;
        Ok(DatabaseFile { path: path.to_owned(), device: meta.dev(), inode: meta.ino() })
    }
}

/// Whether there is a file to open. An empty file, or a log without its database, is an error and not a new start.
pub(super) fn exists(path: &Path) -> StoreResult<bool> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.len() == 0 => Err(StoreError::Empty(path.to_owned())),
        Ok(meta) if !meta.is_file() => Err(StoreError::Foreign(path.into())),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if with_suffix(path, "-wal").exists() {
                Err(StoreError::OrphanedLog(path.to_owned()))
            } else {
                Ok(false)
            }
        }
        Err(source) => Err(io_error(path, source)),
    }
}

/// URI that opens a database without a write-ahead log as immutable. SQLite reads a database in WAL mode only where the
/// index of the log exists or can be created, and here the reader may not create it. None where that is not needed.
fn immutable_uri(path: &Path) -> Option<PathBuf> {
    let can_make = access(folder_of(path), AccessFlags::W_OK).is_ok();
    if can_make || with_suffix(path, "-wal").exists() {
        return None;
    }
    let mut address = Url::from_file_path(std::path::absolute(path).ok()?).ok()?;
    address.set_query(Some("immutable=1"));
    Some(PathBuf::from(String::from(address)))
}

/// Creates the database under a temporary name first: under its own name there is never an empty or incomplete one.
fn create(path: &Path) -> StoreResult<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
    let new = with_suffix(path, ".new");
    for left_over in [new.clone(), with_suffix(&new, "-journal")] {
        match fs::remove_file(&left_over) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&left_over, error)),
            _ => {}
        }
    }
    let mut connection = connect(&new, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    schema::migrate(&mut connection)?;
    connection.close().map_err(|(_, error)| error)?;
    fs::rename(&new, path).map_err(|source| io_error(path, source))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|source| io_error(folder, source))
}

pub(super) fn connect(path: &Path, flags: OpenFlags) -> StoreResult<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(SETTINGS)?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    Ok(connection)
}

/// Adds the path, or reports a full disk: SQLite returns other errors where there is no room for the log or its index.
fn opening_error(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Sql(cause) if has_no_room(path) => StoreError::DiskFull(cause),
        error => error.with_path(path),
    }
}

/// Whether less is free than the smallest write that opening a database needs.
fn has_no_room(path: &Path) -> bool {
    nix::sys::statvfs::statvfs(folder_of(path))
        .is_ok_and(|it| it.blocks_available().saturating_mul(it.fragment_size()) < MIN_FREE_BYTES)
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(super) fn io_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), source }
}
