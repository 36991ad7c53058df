//! Retention settings, the daemon's heartbeat, and the integrity check.

use chrono::{DateTime, Utc};

use super::{Postgres, StoreError, verify};
use crate::store::{Maintenance, RetentionLimits, maintenance};

impl Maintenance for Postgres {
    fn set_retention(&mut self, keep: RetentionLimits) {
        self.retention = keep;
    }

    fn record_alive(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        maintenance::record_alive(&self.session, now)
    }

    fn quick_check(&self) -> Result<(), StoreError> {
        verify::verify_published(&self.session)
    }

    fn file_bytes(&self) -> Option<(u64, u64)> {
        None
    }
}
