//! Retention settings, the daemon's heartbeat, and the integrity check.

use chrono::{DateTime, Utc};

use super::{Postgres, StoreError, timestamp};
use crate::store::{Maintenance, RetentionLimits};

impl Maintenance for Postgres {
    fn set_retention(&mut self, keep: RetentionLimits) {
        self.retention = keep;
    }

    fn record_alive(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let upsert = "INSERT INTO _daemon (name, value) VALUES ('alive', $1) \
                      ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.session.execute(upsert, &[&timestamp::text(now)])?;
        Ok(())
    }

    fn quick_check(&self) -> Result<(), StoreError> {
        self.verify_published()
    }

    fn file_bytes(&self) -> Option<(u64, u64)> {
        None
    }
}
