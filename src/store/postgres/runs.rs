//! Runs in PostgreSQL: started once per slot, by the daemon that owns the task, and ended by the same.

use super::{Member, PgSession, Postgres, SqlSession, StoreError, StoreResult, fleet};
use crate::model::{RunId, TaskName, Verdict};
use crate::store::runs::{add_task, record_slot};
use crate::store::{BeginOutcome, RunEnding, RunStart, RunStarting};

pub(super) use crate::store::runs::{prune, record_end};

impl RunStarting for Postgres {
    fn begin_run(&mut self, start: &RunStart) -> StoreResult<BeginOutcome> {
        self.write_pending_ends()?;
        let session = &self.session;
        let RunStart { run, task, slot, trigger, started_at, pid } = start;
        let (owner, fence) = (self.member.as_ref().map(|it| &it.name), self.member.as_ref().map(|it| it.fence));
        let begun = session.in_transaction(|| {
            add_task(session, start)?;
            // Locked, so that no daemon takes the task over before its run is visible.
            session.query_first("SELECT name FROM _task WHERE name = $1 FOR UPDATE", &[task], |_| Ok(()))?;
            if let Some(member) = &self.member
                && !fleet::owns(session, member, task)?
            {
                return Ok(BeginOutcome::OwnedElsewhere);
            }
            session.modify(
                "INSERT INTO _runs (id, task, slot, trigger, started, pid, boot, owner, fence)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
                &[run, task, slot, &trigger.word(), started_at, pid, &self.boot, &owner, &fence],
            )?;
            // A run with this id is this one, recorded now or by an attempt whose commit was not confirmed.
            if session.query_number("SELECT count(*) FROM _runs WHERE id = $1", &[run])? == 0 {
                return Ok(BeginOutcome::SlotTaken);
            }
            record_slot(session, start)?;
            Ok(BeginOutcome::Started)
        });
        if begun.is_err() {
            // The run may have been recorded all the same, and nobody would end it.
            self.pending_ends.push(*run, &Verdict::interrupted(), *started_at);
        }
        begun
    }
}

/// The task of a run that has not ended, and still belongs to this member.
pub(super) fn require_open(session: &PgSession, member: Option<&Member>, run: RunId) -> StoreResult<TaskName> {
    task_of_open(session, member, run, "")
}

/// As `require_open`, and locks the run until the end of the transaction.
pub(super) fn lock_open(session: &PgSession, member: Option<&Member>, run: RunId) -> StoreResult<TaskName> {
    task_of_open(session, member, run, "FOR UPDATE OF r")
}

fn task_of_open(session: &PgSession, member: Option<&Member>, run: RunId, lock: &str) -> StoreResult<TaskName> {
    let sql = format!(
        "SELECT r.task, r.ended IS NULL, r.owner IS NOT DISTINCT FROM $2 AND r.fence IS NOT DISTINCT FROM $3,
             (SELECT fence FROM _member WHERE name = $2)
         FROM _runs r WHERE r.id = $1 {lock}"
    );
    let (name, fence) = (member.map(|it| &it.name), member.map(|it| it.fence));
    let found = session.query_first(&sql, &[&run, &name, &fence], |row| {
        let is_late = !row.get::<bool>(2)? || row.get::<Option<i64>>(3)? != fence;
        Ok((row.get(0)?, row.get(1)?, is_late))
    })?;
    match found.ok_or(StoreError::NoSuchRun(run))? {
        (_, _, true) => Err(StoreError::LeaseExpired(run)),
        (_, false, false) => Err(StoreError::RunEnded(run)),
        (task, true, false) => Ok(task),
    }
}

/// Runs that have not ended, begun by this member or by the one of the same name before it.
pub(super) fn open_runs(session: &PgSession, member: Option<&Member>) -> StoreResult<Vec<(RunId, TaskName)>> {
    let sql = "SELECT id, task FROM _runs WHERE ended IS NULL AND owner IS NOT DISTINCT FROM $1 ORDER BY started, id";
    session.query(sql, &[&member.map(|it| &it.name)], |row| Ok((row.get(0)?, row.get(1)?)))
}
