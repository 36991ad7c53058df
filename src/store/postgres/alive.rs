//! The sign of life: the store takes a write.

use chrono::{DateTime, Utc};

use super::{Postgres, StoreError, stamp};
use crate::store::{Care, Keep};

impl Care for Postgres {
    fn set_keep(&mut self, keep: Keep) {
        self.keep = keep;
    }

    fn alive(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let upsert = "INSERT INTO _daemon (name, value) VALUES ('alive', $1) \
                      ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.session.execute(upsert, &[&stamp::text(now)])?;
        Ok(())
    }

    fn quick_check(&self) -> Result<(), StoreError> {
        self.verify_published()
    }

    fn file_bytes(&self) -> Option<(u64, u64)> {
        None
    }
}
