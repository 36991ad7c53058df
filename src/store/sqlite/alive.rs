//! The sign of life: the store takes a write.

use chrono::{DateTime, Utc};

use super::{Sqlite, StoreError, stamp};
use crate::store::{Care, Keep};

impl Care for Sqlite {
    fn set_keep(&mut self, keep: Keep) {
        self.keep = keep;
    }

    fn alive(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.must_be_there()?;
        let upsert = "INSERT INTO _daemon (name, value) VALUES ('alive', ?1) \
                      ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.connection.execute(upsert, [stamp::text(now)])?;
        Ok(())
    }
    fn quick_check(&self) -> Result<(), StoreError> {
        self.check("PRAGMA quick_check(1)")
    }
}
