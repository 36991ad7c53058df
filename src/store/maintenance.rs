//! Maintenance of the database: retention settings, the daemon's heartbeat, and the integrity check.

use chrono::{DateTime, Utc};

use super::StoreResult;
use super::retention::RetentionLimits;
use super::sql::SqlSession;
use super::timestamp;

/// Stops the query that a store executes at this moment. A query that begins later is not stopped.
pub struct Interrupter(Box<dyn Fn() + Send + Sync>);

impl Interrupter {
    pub(super) fn new(interrupt: impl Fn() + Send + Sync + 'static) -> Interrupter {
        Interrupter(Box::new(interrupt))
    }

    pub fn interrupt(&self) {
        (self.0)();
    }
}

/// Maintenance of the database.
pub trait Maintenance {
    fn set_retention(&mut self, keep: RetentionLimits);

    /// After a panic in the middle of a transaction: rolls it back.
    fn recover(&mut self) {}

    /// Records that the daemon is alive.
    fn record_alive(&mut self, now: DateTime<Utc>) -> StoreResult<()>;

    /// Checks the integrity of the whole database, whatever its size, as far as that is possible from here.
    fn quick_check(&self) -> StoreResult<()>;

    /// For stopping a query of this store from another thread. Only for stores that read.
    fn interrupter(&self) -> Interrupter;

    /// Sizes of the file and of its write-ahead log; none where a server keeps them.
    fn file_bytes(&self) -> Option<(u64, u64)> {
        None
    }
}

pub(super) fn record_alive(session: &impl SqlSession, now: DateTime<Utc>) -> StoreResult<()> {
    let upsert = "INSERT INTO _daemon (name, value) VALUES ('alive', $1) \
                  ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    session.apply(upsert, &[&timestamp::text(now)])
}
