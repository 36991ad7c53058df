//! Opening the database: made whole or not at all, looked through before it is believed, never made anew over a damaged
//! one.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{AccessFlags, access};
use rusqlite::{Connection, OpenFlags};
use url::Url;

use super::{PendingEnds, RetentionLimits, Sqlite, StoreError, decode, index_entry, schema};

/// A checkpoint or a publication takes far less; beyond this somebody holds the database.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Up to here the whole file is looked through at start (some 1 GB/s from the page cache). Beyond, only the tables that
/// say what is published are, so that years of raw pages do not delay the start.
const FULL_CHECK_BYTES: u64 = 256 << 20;

/// The index of the write-ahead log.
const MIN_FREE_BYTES: u64 = 64 << 10;

const BOOKKEEPING_TABLES: &[&str] = &["sqlite_schema", "_task", "_runs", "_generation"];

/// Of a new database; one that is there keeps what it has. Every page is written to the log, read from it and written to the
/// file, with two or four system calls: 500,000 rows cost a tenth less than with 4,096. Twice as much would save little
/// more, and a small task has three pages to itself.
pub(super) const PAGE_BYTES: i64 = 8_192;

/// In kB, below zero as SQLite wants it.
pub(super) const CACHE: i64 = -16_000;

/// Every connection is set up the same way. `synchronous=NORMAL` lost acknowledged commits in 1,253 of 1,500 simulated
/// power cuts, `FULL` in none.
const SETTINGS: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA journal_size_limit = 16777216;
";

impl Sqlite {
    /// Opens the database for writing; makes it, or brings its format up to date, if need be.
    pub fn open(path: &Path) -> Result<Sqlite, StoreError> {
        Sqlite::open_writer(path).map_err(|error| opening_error(error, path))
    }

    /// Opens the database for reading; works with the daemon up or down.
    pub fn open_reader(path: &Path) -> Result<Sqlite, StoreError> {
        Sqlite::open_read_only(path).map_err(|error| opening_error(error, path))
    }

    fn open_writer(path: &Path) -> Result<Sqlite, StoreError> {
        if !exists(path)? {
            create(path)?;
        }
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Nothing is written, not even the journal mode, before the file is known to be ours and whole.
        schema::refuse_foreign(&connection, path)?;
        let mut store = Sqlite::with_connection(connection, Some(DatabaseFile::of(path)?));
        store.boot = decode::boot_id();
        store.check_integrity(path)?;
        let mode: String = store.connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            return Err(StoreError::InvalidValue(format!("journal_mode {mode}; the file system cannot share memory")));
        }
        schema::migrate(&mut store.connection)?;
        Ok(store)
    }

    fn open_read_only(path: &Path) -> Result<Sqlite, StoreError> {
        if !exists(path)? {
            return Err(StoreError::Missing(path.into()));
        }
        let connection = match immutable_uri(path) {
            Some(unchanging) => connect(&unchanging, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?,
            None => connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        };
        connection.pragma_update(None, "query_only", true)?;
        schema::refuse_foreign(&connection, path)?;
        Ok(Sqlite::with_connection(connection, None))
    }

    pub(super) fn with_connection(connection: Connection, home: Option<DatabaseFile>) -> Sqlite {
        let (keep, staged, owed) = (RetentionLimits::default(), HashMap::new(), PendingEnds::default());
        Sqlite { connection, retention: keep, staged, pending_ends: owed, indexing: None, file: home, boot: None }
    }

    /// Refuses to write into a file that nobody can find any more: it would be said to be kept, and be gone with us.
    pub(super) fn ensure_file_in_place(&self) -> Result<(), StoreError> {
        match &self.file {
            Some(home) if DatabaseFile::of(&home.path).ok().as_ref() != Some(home) => {
                Err(StoreError::FileReplaced(home.path.clone()))
            }
            _ => Ok(()),
        }
    }

    fn check_integrity(&self, path: &Path) -> Result<(), StoreError> {
        let size = fs::metadata(path).map_err(|source| io_error(path, source))?.len();
        if size <= FULL_CHECK_BYTES {
            if let Err(damage) = self.check("PRAGMA quick_check(1)") {
                // The index can be made again; anything else that is damaged is found then.
                index_entry::rebuild_if_damaged(&self.connection, damage)?;
                self.check("PRAGMA quick_check(1)")?;
            }
            return self.verify_published();
        }
        BOOKKEEPING_TABLES.iter().try_for_each(|table| self.check(&format!("PRAGMA quick_check({table})")))
    }

    pub(super) fn check(&self, pragma: &str) -> Result<(), StoreError> {
        let answer: String = self.connection.query_row(pragma, [], |row| row.get(0))?;
        if answer == "ok" { Ok(()) } else { Err(StoreError::Damaged(answer)) }
    }
}

/// Which file it is, whatever its name comes to stand for later.
#[derive(PartialEq, Eq)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    device: u64,
    inode: u64,
}

impl DatabaseFile {
    fn of(path: &Path) -> Result<DatabaseFile, StoreError> {
        let meta = fs::metadata(path).map_err(|source| io_error(path, source))?;
        Ok(DatabaseFile { path: path.to_owned(), device: meta.dev(), inode: meta.ino() })
    }
}

/// Whether there is a file to open; what only looks like a new start is an error.
pub(super) fn exists(path: &Path) -> Result<bool, StoreError> {
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

/// How a database is opened whose log is gone with its daemon, by somebody who cannot make one: SQLite reads a database with a
/// log only where the log's index is there or can be made. None where that is so.
fn immutable_uri(path: &Path) -> Option<PathBuf> {
    let can_make = access(folder_of(path), AccessFlags::W_OK).is_ok();
    if can_make || with_suffix(path, "-wal").exists() {
        return None;
    }
    let mut address = Url::from_file_path(std::path::absolute(path).ok()?).ok()?;
    address.set_query(Some("immutable=1"));
    Some(PathBuf::from(String::from(address)))
}

/// Makes the database under another name first: under its own there is never an empty or half-made one.
fn create(path: &Path) -> Result<(), StoreError> {
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

pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(SETTINGS)?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    Ok(connection)
}

/// Names the file, or the full disk: where there is no room for the log or its index, SQLite has other words for it.
fn opening_error(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Sql(cause) if has_no_room(path) => StoreError::DiskFull(cause),
        error => error.with_path(path),
    }
}

/// Less is free than the smallest thing that is written when a database is opened.
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
