//! Errors of the store, each with a sentence that says what to do.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::model::{PostgresAddress, RunId, StoreAddress, Table};

/// Texts and the values beside them: three columns for an amount of money. SQLite allows 2,000 columns, PostgreSQL
/// 1,600.
pub(super) const MAX_COLUMNS: usize = 3 * Table::MAX_COLUMNS;

/// The error of a database driver, boxed so that callers do not depend on the driver.
pub type DriverError = Box<dyn std::error::Error + Send + Sync>;

/// The result of an operation of the store.
pub type StoreResult<T> = Result<T, StoreError>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no database at {0} yet; the daemon creates it at its first start")]
    Missing(StoreAddress),
    #[error("{} is empty, so it is not a database: restore a backup, or delete the file to start over", .0.display())]
    Empty(PathBuf),
    #[error(
        "{} is missing, but its write-ahead log is still there: restore both, or delete the log to start over",
        .0.display()
    )]
    OrphanedLog(PathBuf),
    #[error(
        "{} was removed or replaced while in use, and nothing more is written: put the same file back, or stop \
         the daemon (`systemctl stop pieme-daemon`) before you put another file in its place", .0.display()
    )]
    FileReplaced(PathBuf),
    #[error("{0} is not a database of pieme; nothing was written to it")]
    Foreign(StoreAddress),
    #[error("{at} was written by a newer pieme (format {found}, this one knows {known}): install that version")]
    NewerFormat { at: StoreAddress, found: i64, known: i64 },
    #[error(
        "the database is damaged ({0}); nothing was changed. Restore a backup, or recover the data with \
         sqlite3's .recover"
    )]
    Damaged(String),
    #[error("the disk is full; the published rows are unchanged")]
    DiskFull(#[source] DriverError),
    #[error("another process is writing to the database")]
    Busy(#[source] DriverError),
    #[error("the database cannot be written to: its file, its folder or this connection is read-only")]
    ReadOnly(#[source] DriverError),
    #[error(
        "{0} is in use already, and nothing was written to it: name a new file, or a schema without tasks \
         (?schema=NAME)"
    )]
    Occupied(StoreAddress),
    #[error(
        "{0} is being copied to, or a copy was interrupted: wait for `pieme migrate-store`, or run it again; the \
         source is complete. To use this address for a new store, delete its tables"
    )]
    IncompleteCopy(StoreAddress),
    #[error(
        "{} using this database: stop {} first (`systemctl stop pieme-daemon`)",
        they_are(.0),
        if .0.len() == 1 { "it" } else { "them" }
    )]
    DaemonsActive(Vec<String>),
    #[error("the database at {at} cannot be reached ({why}); its published rows are unchanged")]
    Unreachable { at: PostgresAddress, why: String },
    #[error("{at} rejected the login: {why}")]
    LoginRejected { at: PostgresAddress, why: String },
    #[error("{at} is not trusted, and no password was sent: {why}")]
    UntrustedServer { at: PostgresAddress, why: String },
    #[error(
        "another daemon named `{name}` is alive ({home}); give this one its own name in config.toml: [fleet] \
         name = \"…\""
    )]
    NameTaken { name: String, home: String },
    #[error("run {0} no longer belongs to this daemon: the lease expired, and another daemon recorded it as `crash`")]
    LeaseExpired(RunId),
    #[error("there is no run {0}")]
    NoSuchRun(RunId),
    #[error("run {0} has ended already")]
    RunEnded(RunId),
    #[error(
        "{0} columns, counting the values of typed ones, are too many for a published table ({max}; SQLite \
         allows 2,000, PostgreSQL 1,600); leave some out: `pieme label TASK --names a,b,-`",
        max = MAX_COLUMNS
    )]
    TooManyColumns(usize),
    #[error("the store panicked ({0}); this is a bug in pieme, and nothing was written")]
    Panicked(String),
    #[error("the database contains an invalid value: {0}")]
    InvalidValue(String),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the database reported an error: {0}")]
    Sql(#[source] DriverError),
}

fn they_are(daemons: &[String]) -> String {
    match daemons {
        [one] => format!("the daemon {one} is"),
        several => format!("the daemons {} are", several.join(", ")),
    }
}

impl StoreError {
    /// Whether the error may go away by itself, without a change here.
    pub fn is_transient(&self) -> bool {
        use StoreError::{Busy, DaemonsActive, IncompleteCopy, Unreachable};
        matches!(self, Unreachable { .. } | Busy(_) | DaemonsActive(_) | IncompleteCopy(_))
    }

    /// Whether a starting daemon waits for the error to go away, because nothing about pieme needs to change.
    pub fn is_awaited_at_start(&self) -> bool {
        let is_full =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        match self {
            StoreError::Unreachable { .. } | StoreError::DiskFull(_) => true,
            StoreError::Io { source, .. } => is_full(source),
            _ => false,
        }
    }

    /// Adds the path to errors that do not name the file.
    pub(super) fn with_path(self, path: &Path) -> StoreError {
        match self {
            StoreError::Damaged(why) => StoreError::Damaged(format!("{}: {why}", path.display())),
            named_already => named_already,
        }
    }

    /// For a stored value that cannot be decoded.
    pub(super) fn invalid_value(error: impl std::fmt::Display) -> StoreError {
        StoreError::InvalidValue(error.to_string())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::DiskFull(error.into()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(error.into()),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly(error.into()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(error.to_string()),
            _ => StoreError::Sql(error.into()),
        }
    }
}
