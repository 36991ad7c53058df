//! Garbage collection in PostgreSQL (`store/gc.rs`).

use chrono::{DateTime, Utc};

use super::{Postgres, SqlSession, StoreResult, generation, shape};
use crate::model::TaskName;
use crate::store::gc::{self, CollectMode, GarbageCollection, GcCounts};

impl GarbageCollection for Postgres {
    fn collect_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> StoreResult<GcCounts> {
        let session = &self.session;
        let mut collected =
            session.in_transaction(|| gc::collect(session, task, self.retention, CollectMode::Step, now, || Ok(0)))?;
        // One at a time: removing a large one takes a while.
        if let Some(old) = generation::removable(session, task)?.first() {
            generation::remove(session, *old)?;
            collected.generations = 1;
        }
        shape::drop_unused(session, task)?;
        Ok(collected)
    }

    fn count_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> StoreResult<GcCounts> {
        gc::count(&self.session, task, self.retention, now)
    }
}
