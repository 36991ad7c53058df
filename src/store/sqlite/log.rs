//! The write-ahead log is kept short. SQLite begins it anew only when no reader looks at it, and under readers who come and
//! go all the time that moment may never come by itself: 500,000 rows published beside four reading threads left 272 MB.

use std::fs;
use std::time::Duration;

use rusqlite::Connection;

use super::open::{BUSY_TIMEOUT, Home, beside};
use super::{Sqlite, StoreError};

/// Beyond this the log is begun anew; a file that was longer is cut to it.
pub(super) const LOG_BYTES: u64 = 16 << 20;

/// Readers who look for longer than this are let alone until the next time.
const PATIENCE: Duration = Duration::from_millis(200);

impl Sqlite {
    /// Waits for the readers of now to be done with the log, if it is long. New ones read beside it meanwhile.
    pub(super) fn shorten_log(&self) -> Result<(), StoreError> {
        shorten(&self.connection, self.home.as_ref())
    }
}

/// The same while a part of the store is in use.
pub(super) fn shorten(connection: &Connection, home: Option<&Home>) -> Result<(), StoreError> {
    let Some(home) = home else { return Ok(()) };
    let log = fs::metadata(beside(&home.path, "-wal")).map_or(0, |meta| meta.len());
    if log <= LOG_BYTES {
        return Ok(());
    }
    connection.busy_timeout(PATIENCE)?;
    let begun_anew = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(begun_anew?)
}
