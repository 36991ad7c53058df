//! Runs in PostgreSQL: begun once per slot, ended once, and kept for the status table and for judging later runs.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::decode::{self, run_id};
use super::session::get;
use super::{Member, PgSession, Postgres, RetentionLimits, StoreError, fleet, run_end, timestamp};
use crate::model::{PastRun, RunId, RunStatistics, TaskName, Verdict};
use crate::store::batch::storable;
use crate::store::{BeginOutcome, RunEnding, RunRow, RunStart, Runs};

/// Runs that are removed at the end of a run, where one is enough; the rest is left to `gc`.
const RUNS_PRUNED_PER_END: i64 = 50;

impl Runs for Postgres {
    fn begin_run(&mut self, start: &RunStart) -> Result<BeginOutcome, StoreError> {
        self.write_pending_ends()?;
        let session = &self.session;
        let (id, task, started) = (start.run.to_string(), start.task.as_str(), timestamp::to_millis(start.started_at));
        let slot = start.slot.map(timestamp::to_millis);
        let (owner, fence) = (self.member.as_ref().map(|it| &it.name), self.member.as_ref().map(|it| it.fence));
        let begun = session.in_transaction(|| {
            let add = "INSERT INTO _task (name, added_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            session.execute(add, &[&task, &started])?;
            // Locked, so that no daemon takes the task over before its run is visible.
            session.row("SELECT name FROM _task WHERE name = $1 FOR UPDATE", &[&task])?;
            if let Some(member) = &self.member
                && !fleet::owns(session, member, &start.task)?
            {
                return Ok(BeginOutcome::OwnedElsewhere);
            }
            session.execute(
                "INSERT INTO _runs (id, task, slot, trigger, started, pid, boot, owner, fence)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
                &[
                    &id,
                    &task,
                    &slot,
                    &start.trigger.word(),
                    &started,
                    &start.pid.map(i64::from),
                    &self.boot,
                    &owner,
                    &fence,
                ],
            )?;
            // A run with this id is this one, recorded now or by an attempt whose commit was not confirmed.
            if session.number("SELECT count(*) FROM _runs WHERE id = $1", &[&id])? == 0 {
                return Ok(BeginOutcome::SlotTaken);
            }
            session.execute(
                "UPDATE _task SET last_slot = $2 WHERE name = $1 AND $2::timestamptz IS NOT NULL
                     AND (last_slot IS NULL OR last_slot < $2)",
                &[&task, &slot],
            )?;
            Ok(BeginOutcome::Started)
        });
        if begun.is_err() {
            // The run may have been recorded all the same, and nobody would end it.
            self.pending_ends.push(start.run, &Verdict::interrupted(), start.started_at);
        }
        begun
    }

    fn set_pid(&mut self, run: RunId, pid: u32) -> Result<(), StoreError> {
        let sql = "UPDATE _runs SET pid = $2 WHERE id = $1";
        self.session.execute(sql, &[&run.to_string(), &i64::from(pid)])?;
        Ok(())
    }

    fn good_runs(&self, task: &TaskName, n: u32) -> Result<Vec<PastRun>, StoreError> {
        Ok(self.newest(task, n, "outcome = 'published'")?.into_iter().filter_map(RunRow::into_past).collect())
    }

    fn past_runs(&self, task: &TaskName, n: u32) -> Result<Vec<RunRow>, StoreError> {
        self.newest(task, n, "ended IS NOT NULL")
    }

    fn run(&self, run: RunId) -> Result<Option<RunRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS}, r.figures FROM _runs r WHERE id = $1");
        self.session.row(&sql, &[&run.to_string()])?.as_ref().map(read_with_statistics).transpose()
    }
}

impl Postgres {
    fn newest(&self, task: &TaskName, n: u32, which: &'static str) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, r.figures FROM _runs r WHERE task = $1 AND {which}
             ORDER BY started DESC, id DESC LIMIT $2"
        );
        self.session.rows(&sql, &[&task.as_str(), &i64::from(n)])?.iter().map(read_with_statistics).collect()
    }
}

const COLUMN_COUNT: usize = 15;

/// The columns that `read` takes, of `_runs` under the name `r`.
pub(super) const COLUMNS: &str = "r.id, r.task, r.slot, r.trigger, r.started, r.pid, r.boot, r.ended, r.outcome, \
                                  r.cause, r.sentence, r.similarity, r.rows, r.pages, r.provisional";

/// As `read`, with the statistics, which are the last column. The status of ten thousand tasks does without them.
fn read_with_statistics(row: &Row) -> Result<RunRow, StoreError> {
    let mut run = read(row, 0)?;
    if let Some((_, verdict)) = &mut run.end {
        verdict.statistics = decode::statistics(get(row, COLUMN_COUNT)?);
    }
    Ok(run)
}

pub(super) fn read(row: &Row, from: usize) -> Result<RunRow, StoreError> {
    let text = |index: usize| get::<&str>(row, from + index);
    let small = |index: usize| {
        let number: Option<i64> = get(row, from + index)?;
        Ok::<_, StoreError>(number.and_then(|it| u32::try_from(it).ok()))
    };
    let start = RunStart {
        run: run_id(text(0)?)?,
        task: decode::task_name(text(1)?)?,
        slot: get(row, from + 2)?,
        trigger: decode::trigger(text(3)?)?,
        started_at: get(row, from + 4)?,
        pid: small(5)?,
    };
    let boot = get(row, from + 6)?;
    let Some(ended) = get(row, from + 7)? else { return Ok(RunRow { start, boot, end: None }) };
    let verdict = Verdict {
        outcome: decode::outcome(text(8)?, text(9)?)?,
        sentence: text(10)?.to_owned(),
        similarity: get(row, from + 11)?,
        rows: decode::count(get(row, from + 12)?).unwrap_or(0),
        pages: small(13)?.unwrap_or(0),
        provisional: get(row, from + 14)?,
        statistics: RunStatistics::default(),
    };
    Ok(RunRow { start, boot, end: Some((ended, verdict)) })
}

/// The task of a run that has not ended, and still belongs to this member.
pub(super) fn require_open(session: &PgSession, member: Option<&Member>, run: RunId) -> Result<TaskName, StoreError> {
    task_of_open(session, member, run, "")
}

/// As `require_open`, and locks the run until the end of the transaction.
pub(super) fn lock_open(session: &PgSession, member: Option<&Member>, run: RunId) -> Result<TaskName, StoreError> {
    task_of_open(session, member, run, "FOR UPDATE OF r")
}

fn task_of_open(session: &PgSession, member: Option<&Member>, run: RunId, lock: &str) -> Result<TaskName, StoreError> {
    let sql = format!(
        "SELECT r.task, r.ended IS NULL, r.owner IS NOT DISTINCT FROM $2 AND r.fence IS NOT DISTINCT FROM $3,
             (SELECT fence FROM _member WHERE name = $2)
         FROM _runs r WHERE r.id = $1 {lock}"
    );
    let (name, fence) = (member.map(|it| &it.name), member.map(|it| it.fence));
    let row = session.row(&sql, &[&run.to_string(), &name, &fence])?.ok_or(StoreError::NoSuchRun(run))?;
    let is_late = !get::<bool>(&row, 2)? || get::<Option<i64>>(&row, 3)? != fence;
    match (is_late, get(&row, 1)?) {
        (true, _) => Err(StoreError::LeaseExpired(run)),
        (false, false) => Err(StoreError::RunEnded(run)),
        (false, true) => decode::task_name(get(&row, 0)?),
    }
}

/// Runs that have not ended, begun by this member or by the one of the same name before it.
pub(super) fn open_runs(session: &PgSession, member: Option<&Member>) -> Result<Vec<(RunId, TaskName)>, StoreError> {
    let sql = "SELECT id, task FROM _runs WHERE ended IS NULL AND owner IS NOT DISTINCT FROM $1 ORDER BY started, id";
    let found = session.rows(sql, &[&member.map(|it| &it.name)])?;
    found.iter().map(|row| Ok((run_id(get(row, 0)?)?, decode::task_name(get(row, 1)?)?))).collect()
}

/// Writes a run's end, and the status of its task.
pub(super) fn record_end(
    session: &PgSession,
    run: RunId,
    task: &TaskName,
    verdict: &Verdict,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let (id, ended) = (run.to_string(), timestamp::to_millis(now));
    session.execute(
        "UPDATE _runs SET ended = $2, outcome = $3, cause = $4, sentence = $5, similarity = $6, rows = $7, pages = $8,
             provisional = $9, figures = $10 WHERE id = $1",
        &[
            &id,
            &ended,
            &verdict.outcome.word(),
            &verdict.outcome.cause(),
            &storable(&verdict.sentence),
            &decode::similarity(verdict),
            &i64::try_from(verdict.rows).unwrap_or(i64::MAX),
            &i64::from(verdict.pages),
            &verdict.provisional,
            &decode::statistics_json(verdict),
        ],
    )?;
    let last_ok = verdict.outcome.is_published().then_some(ended);
    session.execute(
        "UPDATE _task SET last_run = $2, last_ok = coalesce($3, last_ok),
             fails = CASE $4::text WHEN 'reset' THEN 0 WHEN 'count' THEN fails + 1 ELSE fails END WHERE name = $1",
        &[&task.as_str(), &id, &last_ok, &run_end::failure_count_action(verdict.outcome)],
    )?;
    Ok(())
}

/// Removes the oldest runs of a task, and the traces of all but the newest.
pub(super) fn prune(session: &PgSession, task: &TaskName, keep: RetentionLimits) -> Result<(), StoreError> {
    let beyond = "SELECT id FROM _runs WHERE task = $1 ORDER BY started DESC, id DESC LIMIT $3 OFFSET $2";
    session.execute(
        &format!("DELETE FROM _trace WHERE run IN ({beyond})"),
        &[&task.as_str(), &i64::from(keep.traces), &RUNS_PRUNED_PER_END],
    )?;
    session.execute(
        &format!(
            "DELETE FROM _runs WHERE id IN ({beyond}) AND ended IS NOT NULL
                 AND id NOT IN (SELECT run FROM _generation WHERE task = $1)"
        ),
        &[&task.as_str(), &i64::from(keep.runs), &RUNS_PRUNED_PER_END],
    )?;
    Ok(())
}
