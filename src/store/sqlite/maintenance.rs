//! Retention settings, the daemon's heartbeat, recovery after a panic, and the integrity check.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::open::with_suffix;
use super::{Sqlite, StoreError, timestamp};
use crate::store::{FleetMembership, Maintenance, RetentionLimits, SharedFolders};

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

    fn record_alive(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.ensure_file_in_place()?;
        let upsert = "INSERT INTO _daemon (name, value) VALUES ('alive', ?1) \
                      ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.connection.execute(upsert, [timestamp::text(now)])?;
        Ok(())
    }

    fn quick_check(&self) -> Result<(), StoreError> {
        self.check("PRAGMA quick_check(1)")
    }

    fn file_bytes(&self) -> Option<(u64, u64)> {
        let path = Path::new(self.connection.path()?);
        let size = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
        Some((size(path), size(&with_suffix(path, "-wal"))))
    }
}
