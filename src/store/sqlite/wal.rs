//! The write-ahead log is kept short. SQLite begins it anew only when no reader looks at it, and under readers who come and
//! go all the time that moment may never come by itself: 500,000 rows published beside four reading threads left 272 MB.

use std::fs;
use std::time::Duration;

use rusqlite::Connection;

use super::open::{BUSY_TIMEOUT, DatabaseFile, with_suffix};
use super::{Sqlite, StoreError};

/// Beyond this the log is begun anew; a file that was longer is cut to it.
pub(super) const MAX_WAL_BYTES: u64 = 16 << 20;

/// Readers who look for longer than this are let alone until the next time.
const MAX_READER_WAIT: Duration = Duration::from_millis(200);

impl Sqlite {
    /// Waits for the readers of now to be done with the log, if it is long. New ones read beside it meanwhile.
    pub(super) fn truncate_wal(&self) -> Result<(), StoreError> {
        truncate(&self.connection, self.file.as_ref())
    }
}

/// The same while a part of the store is in use.
pub(super) fn truncate(connection: &Connection, home: Option<&DatabaseFile>) -> Result<(), StoreError> {
    let Some(home) = home else { return Ok(()) };
    let log = fs::metadata(with_suffix(&home.path, "-wal")).map_or(0, |meta| meta.len());
    if log <= MAX_WAL_BYTES {
        return Ok(());
    }
    connection.busy_timeout(MAX_READER_WAIT)?;
    let begun_anew = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(begun_anew?)
}
