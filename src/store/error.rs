//! What can go wrong with the database, each with a sentence for the person who has to do something about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::model::{PostgresAddress, RunId, StoreAddress};

/// What the database's driver says; which one it is matters to nobody.
pub type DriverError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no database at {0} yet; the daemon makes it when it first starts")]
    Missing(StoreAddress),
    #[error("{} is empty, which a database never is: put a backup in its place, or delete it to start anew", .0.display())]
    Empty(PathBuf),
    #[error(
        "{} is gone but its write-ahead log is still there: put both back, or delete the log to start anew", .0.display()
    )]
    OrphanedLog(PathBuf),
    #[error(
        "{} was removed or replaced while it was in use, and nothing more is written: put the same file back, or stop \
         whoever uses it (`systemctl stop pieme-daemon`) before you put another in its place", .0.display()
    )]
    FileReplaced(PathBuf),
    #[error("{0} is not a database of pieme; nothing was written to it")]
    Foreign(StoreAddress),
    #[error("{at} was written by a newer pieme (format {found}, this one knows {known}): install that version")]
    NewerFormat { at: StoreAddress, found: i64, known: i64 },
    #[error(
        "the database is damaged ({0}); nothing was changed. Put a backup in its place, or save it with sqlite3's .recover"
    )]
    Damaged(String),
    #[error("the disk is full; the rows published before are as they were")]
    DiskFull(#[source] DriverError),
    #[error("another process is writing to the database")]
    Busy(#[source] DriverError),
    #[error("the database cannot be written to: its file, its folder or this connection is read-only")]
    ReadOnly(#[source] DriverError),
    #[error(
        "{0} is in use already, and nothing was written to it: name a file that is not there yet, or a schema without tasks \
         (?schema=NAME)"
    )]
    Occupied(StoreAddress),
    #[error(
        "{0} is being copied into, or a copy was cut short: let `pieme migrate-store` go on, or run it again; what it \
         copies is whole. Without its tables it is a new one"
    )]
    IncompleteCopy(StoreAddress),
    #[error("{} at work on it: stop {} first (systemctl stop pieme-daemon)", they_are(.0), if .0.len() == 1 { "it" } else { "them" })]
    DaemonsActive(Vec<String>),
    #[error("the database at {at} cannot be reached ({why}); what it had published is as it was")]
    Unreachable { at: PostgresAddress, why: String },
    #[error("the database at {at} lets us not in: {why}")]
    LoginRejected { at: PostgresAddress, why: String },
    #[error("the database at {at} was not spoken to: {why}")]
    UntrustedServer { at: PostgresAddress, why: String },
    #[error(
        "another daemon calls itself `{name}` and is alive ({home}); give this one a name of its own: [fleet] name = \"…\""
    )]
    NameTaken { name: String, home: String },
    #[error("run {0} is not this daemon's any more: its lease ran out, and the others have recorded it as crash")]
    LeaseExpired(RunId),
    #[error("there is no run {0}")]
    NoSuchRun(RunId),
    #[error("run {0} has ended already")]
    RunEnded(RunId),
    #[error(
        "{0} columns, with the values of typed ones, are more than a published table takes ({max}; SQLite takes 2,000, \
         PostgreSQL 1,600); leave some out: `pieme label TASK --names a,b,-`",
        max = super::names::MAX_COLUMNS
    )]
    TooManyColumns(usize),
    #[error("the store failed ({0}); this is a mistake in pieme, and nothing was written")]
    Panicked(String),
    #[error("a stored value makes no sense: {0}")]
    InvalidValue(String),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the database answered: {0}")]
    Sql(#[source] DriverError),
}

fn they_are(daemons: &[String]) -> String {
    match daemons {
        [one] => format!("the daemon {one} is"),
        several => format!("the daemons {} are", several.join(", ")),
    }
}

impl StoreError {
    /// Whether it may be over soon without anybody having changed anything here.
    pub fn is_transient(&self) -> bool {
        use StoreError::{Busy, DaemonsActive, IncompleteCopy, Unreachable};
        matches!(self, Unreachable { .. } | Busy(_) | DaemonsActive(_) | IncompleteCopy(_))
    }

    /// Whether a daemon that starts waits for it to be over: nobody need change anything about pieme.
    pub fn is_awaited_at_start(&self) -> bool {
        let is_full =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        match self {
            StoreError::Unreachable { .. } | StoreError::DiskFull(_) => true,
            StoreError::Io { source, .. } => is_full(source),
            _ => false,
        }
    }

    /// Names the file where the error alone does not.
    pub(super) fn with_path(self, path: &Path) -> StoreError {
        match self {
            StoreError::Damaged(why) => StoreError::Damaged(format!("{}: {why}", path.display())),
            named_already => named_already,
        }
    }

    /// A value that stands in the database and cannot be read.
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
