//! Keeps the write-ahead log short. SQLite restarts it only when no reader uses it, and with readers coming and going
//! that moment may never come by itself: 500,000 rows published beside four reading threads left 272 MB.

use std::fs;
use std::time::Duration;

use rusqlite::Connection;

use super::StoreResult;
use super::open::{BUSY_TIMEOUT, DatabaseFile, with_suffix};

/// A longer log is restarted, and its file is cut to this size.
pub(super) const MAX_WAL_BYTES: u64 = 16 << 20;

/// Readers that take longer than this are left alone until the next time.
const MAX_READER_WAIT: Duration = Duration::from_millis(200);

/// If the log is long, waits for its present readers. New ones read the database meanwhile.
pub(super) fn truncate(connection: &Connection, home: Option<&DatabaseFile>) -> StoreResult<()> {
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
