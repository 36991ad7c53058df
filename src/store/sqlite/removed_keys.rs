//! Removed records that may return: the history says when they were first seen.

use rusqlite::{Connection, OptionalExtension, params};

use super::digest::KeyHash;
use super::{StoreError, timestamp};

/// The records of a task that were removed within its history.
pub(super) struct RemovedKeys<'c> {
    connection: &'c Connection,
    /// None where no record was ever removed: then 500,000 new rows need no lookup.
    task: Option<String>,
}

impl<'c> RemovedKeys<'c> {
    /// Of the task that has this published generation.
    pub fn of(connection: &'c Connection, published: i64) -> Result<RemovedKeys<'c>, StoreError> {
        let sql = "SELECT task FROM _generation g WHERE id = ?1 AND EXISTS
                       (SELECT 1 FROM _change WHERE task = g.task AND removed > 0 AND unlisted IS NULL)";
        let task = connection.prepare_cached(sql)?.query_row([published], |row| row.get(0)).optional()?;
        Ok(RemovedKeys { connection, task })
    }

    /// In milliseconds, as of the last removal.
    pub fn first_seen(&self, key: KeyHash) -> Result<Option<i64>, StoreError> {
        let Some(task) = &self.task else { return Ok(None) };
        let sql = "SELECT r.first_seen FROM _changed_record r JOIN _change c ON c.id = r.change
                   WHERE r.key = ?1 AND r.what = 'removed' AND c.task = ?2 ORDER BY r.id DESC LIMIT 1";
        let found: Option<String> =
            self.connection.prepare_cached(sql)?.query_row(params![key, task], |row| row.get(0)).optional()?;
        Ok(found.and_then(|text| timestamp::parse(&text).ok()).map(|at| at.timestamp_millis()))
    }
}
