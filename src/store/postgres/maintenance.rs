//! Retention settings, the daemon's heartbeat, and the integrity check.

use chrono::{DateTime, Utc};

use super::{Postgres, StoreResult, verify};
use crate::store::{Interrupter, Maintenance, RetentionLimits, maintenance};

impl Maintenance for Postgres {
    fn set_retention(&mut self, keep: RetentionLimits) {
        self.retention = keep;
    }

    fn record_alive(&mut self, now: DateTime<Utc>) -> StoreResult<()> {
        maintenance::record_alive(&self.session, now)
    }

    fn quick_check(&self) -> StoreResult<()> {
        verify::verify_published(&self.session)
    }

    fn interrupter(&self) -> Interrupter {
        self.session.interrupter()
    }
}
