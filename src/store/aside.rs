//! Rows that are not published: a person accepts them, drops them, or goes back to those before.
//!
//! Both are runs of their own, begun and ended in one go: what is published is always some run's, and every guard of a
//! publication holds for them too.

use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use super::{Aside, Begun, Ending, Resort, Rows, RunStart, Runs, Staging, StoreError, Trigger};
use crate::model::{Figures, Outcome, Publication, Row, RunId, TaskName, Verdict};

/// Rows that are copied at a time.
pub(super) const CHUNK: u64 = 5_000;

/// The generations of a task that are not published, by their state.
pub trait Generations {
    /// Of which run is the newest in a state?
    fn newest_in(&self, task: &TaskName, state: &'static str) -> Result<Option<RunId>, StoreError>;

    fn rows_in(&self, run: RunId, state: &'static str, limit: u64, offset: u64) -> Result<Option<Rows>, StoreError>;

    /// Forgets all that were kept aside.
    fn drop_aside(&mut self, task: &TaskName) -> Result<(), StoreError>;
}

impl<S: Generations + Runs + Staging + Ending> Aside for S {
    fn resort(
        &mut self,
        task: &TaskName,
        what: Resort,
        key: &[String],
        now: DateTime<Utc>,
    ) -> Result<Option<Verdict>, StoreError> {
        match what {
            Resort::Accept => publish_again(self, task, "quarantined", "kept aside, accepted by a person", key, now),
            Resort::RollBack => publish_again(self, task, "previous", "of before, brought back by a person", key, now),
            Resort::Drop => self.drop_aside(task).map(|()| None),
        }
    }

    fn aside(&self, task: &TaskName) -> Result<Option<RunId>, StoreError> {
        self.newest_in(task, "quarantined")
    }
}

fn publish_again<S: Generations + Runs + Staging + Ending>(
    store: &mut S,
    task: &TaskName,
    state: &'static str,
    words: &str,
    key: &[String],
    now: DateTime<Utc>,
) -> Result<Option<Verdict>, StoreError> {
    let Some(from) = store.newest_in(task, state)? else { return Ok(None) };
    let run = RunId::new();
    let trigger = Trigger::Person;
    let start = RunStart { run, task: task.clone(), slot: None, trigger, started_at: now, pid: None };
    if store.begin_run(&start)? != Begun::Started {
        return Err(StoreError::Busy("the task is another daemon's; ask that one".into()));
    }
    let mut copied = 0;
    loop {
        let rows = store.rows_in(from, state, CHUNK, copied)?;
        let Some(rows) = rows.filter(|rows| !rows.table.rows.is_empty()) else { break };
        copied += rows.table.rows.len() as u64;
        let columns = (&rows.table.columns[..], &rows.values[..]);
        store.stage_values(run, task, columns, key, &with_values(&rows), now)?;
    }
    let before = store.run(from)?.and_then(|run| run.end).map(|(_, verdict)| verdict);
    let figures = before.as_ref().map(|it| it.figures.clone()).unwrap_or_default();
    let verdict = Verdict {
        outcome: Outcome::Published(Publication::Changed),
        sentence: format!("{copied} rows {words}"),
        similarity: before.as_ref().and_then(|it| it.similarity),
        rows: copied,
        pages: before.map_or(0, |it| it.pages),
        provisional: false,
        figures: Figures { accepted: true, mended: false, ..figures },
    };
    store.end_run(run, &verdict, now).map(Some)
}

/// The rows as they are staged: what the texts mean stands behind them.
pub(super) fn with_values(rows: &Rows) -> Vec<Row> {
    let text = |cell: &Json| match cell {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        // Without the `.0` that a whole number of JSON may have.
        Json::Number(number) => number.as_i64().map(|it| it.to_string()).or(number.as_f64().map(|it| it.to_string())),
        other => Some(other.to_string()),
    };
    let cells = rows.cells.iter().map(|cells| cells.iter().map(text).collect::<Vec<_>>());
    let values = cells.chain(std::iter::repeat_with(Vec::new));
    let row = |(row, values): (&Row, Vec<_>)| Row {
        cells: row.cells.iter().cloned().chain(values).collect(),
        page: row.page,
    };
    rows.table.rows.iter().zip(values).map(row).collect()
}
