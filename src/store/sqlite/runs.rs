//! Runs in SQLite: begun once per slot, ended once, and kept for the status table and for judging later runs.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::decode::{self, run_id};
use super::{RetentionLimits, Sqlite, StoreError, run_end, timestamp};
use crate::model::{PastRun, RunId, RunStatistics, TaskName, Verdict};
use crate::store::{BeginOutcome, RunEnding, RunRow, RunStart, Runs};

/// Runs that are removed at the end of a run, where one is enough; the rest is left to `gc`.
const RUNS_PRUNED_PER_END: u32 = 50;

impl Runs for Sqlite {
    fn begin_run(&mut self, start: &RunStart) -> Result<BeginOutcome, StoreError> {
        self.ensure_file_in_place()?;
        self.write_pending_ends()?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction
            .prepare_cached("INSERT INTO _task (name, added_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
            .execute(params![start.task.as_str(), timestamp::text(start.started_at)])?;
        let slot = start.slot.map(timestamp::text);
        let begun = transaction
            .prepare_cached(
                "INSERT INTO _runs (id, task, slot, trigger, started, pid, boot) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT (task, slot) WHERE slot IS NOT NULL DO NOTHING",
            )?
            .execute(params![
                start.run.to_string(),
                start.task.as_str(),
                slot,
                start.trigger.word(),
                timestamp::text(start.started_at),
                start.pid,
                self.boot
            ])?;
        if begun == 0 {
            return Ok(BeginOutcome::SlotTaken);
        }
        transaction
            .prepare_cached(
                "UPDATE _task SET last_slot = ?2 WHERE name = ?1 AND ?2 IS NOT NULL
                     AND (last_slot IS NULL OR last_slot < ?2)",
            )?
            .execute(params![start.task.as_str(), slot])?;
        transaction.commit()?;
        Ok(BeginOutcome::Started)
    }

    fn set_pid(&mut self, run: RunId, pid: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE _runs SET pid = ?2 WHERE id = ?1")?
            .execute(params![run.to_string(), pid])?;
        Ok(())
    }

    fn good_runs(&self, task: &TaskName, n: u32) -> Result<Vec<PastRun>, StoreError> {
        Ok(self.newest(task, n, "outcome = 'published'")?.into_iter().filter_map(RunRow::into_past).collect())
    }

    fn past_runs(&self, task: &TaskName, n: u32) -> Result<Vec<RunRow>, StoreError> {
        self.newest(task, n, "ended IS NOT NULL")
    }

    fn run(&self, run: RunId) -> Result<Option<RunRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS}, r.figures FROM _runs r WHERE id = ?1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([run.to_string()])?;
        rows.next()?.map(read_with_statistics).transpose()
    }
}

impl Sqlite {
    fn newest(&self, task: &TaskName, n: u32, which: &'static str) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, r.figures FROM _runs r WHERE task = ?1 AND {which}
             ORDER BY started DESC, id DESC LIMIT ?2"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![task.as_str(), n])?;
        let mut past = Vec::new();
        while let Some(row) = rows.next()? {
            past.push(read_with_statistics(row)?);
        }
        Ok(past)
    }
}

const COLUMN_COUNT: usize = 15;

/// The columns that `read` takes, of `_runs` under the name `r`.
pub(super) const COLUMNS: &str = "r.id, r.task, r.slot, r.trigger, r.started, r.pid, r.boot, r.ended, r.outcome, \
                                  r.cause, r.sentence, r.similarity, r.rows, r.pages, r.provisional";

/// As `read`, with the statistics, which are the last column. The status of ten thousand tasks does without them.
fn read_with_statistics(row: &Row<'_>) -> Result<RunRow, StoreError> {
    let mut run = read(row, 0)?;
    if let Some((_, verdict)) = &mut run.end {
        verdict.statistics = decode::statistics(row.get::<_, Option<String>>(COLUMN_COUNT)?.as_deref());
    }
    Ok(run)
}

pub(super) fn read(row: &Row<'_>, from: usize) -> Result<RunRow, StoreError> {
    let text = |index: usize| row.get::<_, String>(from + index);
    let start = RunStart {
        run: run_id(&text(0)?)?,
        task: decode::task_name(&text(1)?)?,
        slot: timestamp::parse_if_any(row.get(from + 2)?)?,
        trigger: decode::trigger(&text(3)?)?,
        started_at: timestamp::parse(&text(4)?)?,
        pid: row.get(from + 5)?,
    };
    let boot = row.get(from + 6)?;
    let Some(ended) = timestamp::parse_if_any(row.get(from + 7)?)? else {
        return Ok(RunRow { start, boot, end: None });
    };
    let verdict = Verdict {
        outcome: decode::outcome(&text(8)?, &text(9)?)?,
        sentence: text(10)?,
        similarity: row.get(from + 11)?,
        rows: decode::count(row.get(from + 12)?).unwrap_or(0),
        pages: row.get(from + 13)?,
        provisional: row.get(from + 14)?,
        statistics: RunStatistics::default(),
    };
    Ok(RunRow { start, boot, end: Some((ended, verdict)) })
}

/// The task of a run that has not ended.
pub(super) fn require_open(connection: &Connection, run: RunId) -> Result<TaskName, StoreError> {
    let found: Option<(String, bool)> = connection
        .prepare_cached("SELECT task, ended IS NULL FROM _runs WHERE id = ?1")?
        .query_row([run.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        None => Err(StoreError::NoSuchRun(run)),
        Some((_, false)) => Err(StoreError::RunEnded(run)),
        Some((task, true)) => decode::task_name(&task),
    }
}

/// All runs that have not ended.
pub(super) fn open_runs(connection: &Connection) -> Result<Vec<(RunId, TaskName)>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT id FROM _runs WHERE ended IS NULL ORDER BY started, id")?;
    let ids: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    ids.iter().map(|id| run_id(id).and_then(|run| Ok((run, require_open(connection, run)?)))).collect()
}

/// Writes a run's end, and the status of its task.
pub(super) fn record_end(
    connection: &Connection,
    run: RunId,
    task: &TaskName,
    verdict: &Verdict,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let (id, ended) = (run.to_string(), timestamp::text(now));
    connection
        .prepare_cached(
            "UPDATE _runs SET ended = ?2, outcome = ?3, cause = ?4, sentence = ?5, similarity = ?6, rows = ?7,
                 pages = ?8, provisional = ?9, figures = ?10 WHERE id = ?1",
        )?
        .execute(params![
            id,
            ended,
            verdict.outcome.word(),
            verdict.outcome.cause(),
            verdict.sentence,
            decode::similarity(verdict),
            i64::try_from(verdict.rows).unwrap_or(i64::MAX),
            verdict.pages,
            verdict.provisional,
            decode::statistics_json(verdict)
        ])?;
    let last_ok = verdict.outcome.is_published().then_some(&ended);
    connection
        .prepare_cached(
            "UPDATE _task SET last_run = ?2, last_ok = coalesce(?3, last_ok),
                 fails = CASE ?4 WHEN 'reset' THEN 0 WHEN 'count' THEN fails + 1 ELSE fails END WHERE name = ?1",
        )?
        .execute(params![task.as_str(), id, last_ok, run_end::failure_count_action(verdict.outcome)])?;
    Ok(())
}

/// Removes the oldest runs of a task, and the traces of all but the newest.
pub(super) fn prune(connection: &Connection, task: &TaskName, keep: RetentionLimits) -> Result<(), StoreError> {
    let beyond = "SELECT id FROM _runs WHERE task = ?1 ORDER BY started DESC, id DESC LIMIT ?3 OFFSET ?2";
    connection.prepare_cached(&format!("DELETE FROM _trace WHERE run IN ({beyond})"))?.execute(params![
        task.as_str(),
        keep.traces,
        RUNS_PRUNED_PER_END
    ])?;
    connection
        .prepare_cached(&format!(
            "DELETE FROM _runs WHERE id IN ({beyond}) AND ended IS NOT NULL
                 AND id NOT IN (SELECT run FROM _generation WHERE task = ?1)"
        ))?
        .execute(params![task.as_str(), keep.runs, RUNS_PRUNED_PER_END])?;
    Ok(())
}
