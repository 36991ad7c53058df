//! The sign of life: the store takes a write.

use chrono::{DateTime, Utc};

use super::{Store, StoreError, stamp};

impl Store {
    /// Writes down that the daemon is alive.
    pub fn alive(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.must_be_there()?;
        let upsert = "INSERT INTO _daemon (name, value) VALUES ('alive', ?1) \
                      ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.connection.execute(upsert, [stamp::text(now)])?;
        Ok(())
    }
}
