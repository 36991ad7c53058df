//! Garbage collection in SQLite (`store/gc.rs`).

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::{Sqlite, StoreResult, generation};
use crate::model::TaskName;
use crate::store::gc::{self, CollectMode, GarbageCollection, GcCounts};
use crate::store::sql::SqlSession;

impl GarbageCollection for Sqlite {
    fn collect_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> StoreResult<GcCounts> {
        self.ensure_file_in_place()?;
        let connection = &self.connection;
        connection.in_transaction(|| {
            gc::collect(connection, task, self.retention, CollectMode::Step, now, || drop_one(connection, task))
        })
    }

    fn count_garbage(&mut self, task: &TaskName, now: DateTime<Utc>) -> StoreResult<GcCounts> {
        gc::count(&self.connection, task, self.retention, now)
    }
}

/// One table at a time: a large one takes a while to drop.
fn drop_one(connection: &Connection, task: &TaskName) -> StoreResult<u64> {
    let sql = "SELECT id FROM _generation WHERE task = $1 AND state = 'old' LIMIT 1";
    let old = connection.query_first(sql, &[task], |row| row.get(0))?;
    old.map_or(Ok(0), |old| generation::remove(connection, old).map(|()| 1))
}
