//! Retention settings, the daemon's heartbeat, recovery after a panic, and the integrity check.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::open::with_suffix;
use super::verify::check;
use super::{Sqlite, StoreResult};
use crate::store::{FleetMembership, Interrupter, Maintenance, RetentionLimits, SharedFolders, maintenance};

/// A file has one writer and no fleet.
impl FleetMembership for Sqlite {}
impl SharedFolders for Sqlite {}

impl Maintenance for Sqlite {
    fn set_retention(&mut self, keep: RetentionLimits) {
        self.retention = keep;
    }

    fn recover(&mut self) {
        // Otherwise every later transaction would be nested in this one, and fail.
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "rollback after a panic failed");
        }
    }

    fn record_alive(&mut self, now: DateTime<Utc>) -> StoreResult<()> {
        self.ensure_file_in_place()?;
        maintenance::record_alive(&self.connection, now)
    }

    fn quick_check(&self) -> StoreResult<()> {
        check(&self.connection, "PRAGMA quick_check(1)")
    }

    fn interrupter(&self) -> Interrupter {
        let handle = self.connection.get_interrupt_handle();
        Interrupter::new(move || handle.interrupt())
    }

    fn file_bytes(&self) -> Option<(u64, u64)> {
        let path = Path::new(self.connection.path()?);
        let size = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
        Some((size(path), size(&with_suffix(path, "-wal"))))
    }
}
