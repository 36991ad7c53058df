//! Runs in SQLite: started once per slot.

use rusqlite::Connection;

use super::{Sqlite, StoreError, StoreResult};
use crate::model::{RunId, TaskName};
use crate::store::runs::{add_task, record_slot};
use crate::store::sql::SqlSession;
use crate::store::{BeginOutcome, RunEnding, RunStart, RunStarting};

pub(super) use crate::store::runs::{prune, record_end};

impl RunStarting for Sqlite {
    fn begin_run(&mut self, start: &RunStart) -> StoreResult<BeginOutcome> {
        self.ensure_file_in_place()?;
        self.write_pending_ends()?;
        let RunStart { run, task, slot, trigger, started_at, pid } = start;
        let connection = &self.connection;
        connection.in_transaction(|| {
            add_task(connection, start)?;
            let begun = connection.modify(
                "INSERT INTO _runs (id, task, slot, trigger, started, pid, boot) VALUES ($1, $2, $3, $4, $5, $6, $7)
                 ON CONFLICT (task, slot) WHERE slot IS NOT NULL DO NOTHING",
                &[run, task, slot, &trigger.word(), started_at, pid, &self.boot],
            )?;
            if begun == 0 {
                return Ok(BeginOutcome::SlotTaken);
            }
            record_slot(connection, start)?;
            Ok(BeginOutcome::Started)
        })
    }
}

/// The task of a run that has not ended.
pub(super) fn require_open(connection: &Connection, run: RunId) -> StoreResult<TaskName> {
    let sql = "SELECT task, ended IS NULL FROM _runs WHERE id = $1";
    match connection.query_first(sql, &[&run], |row| Ok((row.get(0)?, row.get(1)?)))? {
        None => Err(StoreError::NoSuchRun(run)),
        Some((_, false)) => Err(StoreError::RunEnded(run)),
        Some((task, true)) => Ok(task),
    }
}

/// All runs that have not ended.
pub(super) fn open_runs(connection: &Connection) -> StoreResult<Vec<(RunId, TaskName)>> {
    let sql = "SELECT id, task FROM _runs WHERE ended IS NULL ORDER BY started, id";
    connection.query(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))
}
