//! Review of unpublished rows: a person accepts quarantined rows, drops them, or rolls back to the previous ones.
//!
//! Accepting and rolling back are runs of their own, begun and ended at once: published rows always belong to a run,
//! and every check of a publication applies.

use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use super::rows::{self, BrowseQuery, PublicationTimes, Review, ReviewAction, RowReading, Rows};
use super::runs::{BeginOutcome, RowStaging, RunEnding, RunStart, RunStarting, Runs, Trigger};
use super::sql::{SqlSession, SqlStore};
use super::{StoreError, StoreResult, generation};
use crate::model::{Outcome, Publication, Row, RunId, RunStatistics, TaskName, Verdict};

/// Rows that are copied at a time.
const ROWS_PER_COPY: u64 = 5_000;

/// A store whose unpublished rows can be reviewed.
pub(super) trait ReviewedStore: SqlStore<Session: RowReading> + RunStarting + RowStaging + RunEnding {
    /// Removes all quarantined generations.
    fn drop_quarantined_rows(&mut self, task: &TaskName) -> StoreResult<()>;
}

impl<S: ReviewedStore> Review for S {
    fn apply_review(
        &mut self,
        task: &TaskName,
        what: ReviewAction,
        key: &[String],
        now: DateTime<Utc>,
    ) -> StoreResult<Option<Verdict>> {
        match what {
            ReviewAction::Accept => republish(self, task, Republication::Accept, key, now),
            ReviewAction::RollBack => republish(self, task, Republication::RollBack, key, now),
            ReviewAction::Drop => self.drop_quarantined_rows(task).map(|()| None),
        }
    }

    fn quarantined_run(&self, task: &TaskName) -> StoreResult<Option<RunId>> {
        generation::newest_run(self.session(), task, "quarantined")
    }

    fn publication_times(&self, task: &TaskName) -> StoreResult<PublicationTimes> {
        let session = self.session();
        let published = "SELECT max(started) FROM _runs
                         WHERE task = $1 AND outcome = 'published' AND cause = 'changed'";
        let previous = "SELECT r.started FROM _generation g JOIN _runs r ON r.id = g.run
                        WHERE g.task = $1 AND g.state = 'previous'";
        session.in_snapshot(|| {
            Ok(PublicationTimes {
                published: session.query_first(published, &[task], |row| row.get(0))?.flatten(),
                previous_seen: session.query_first(previous, &[task], |row| row.get(0))?,
                is_rolled_back: generation::newest_run(session, task, "refused")?.is_some(),
            })
        })
    }
}

/// Rows that are published again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Republication {
    Accept,
    RollBack,
}

impl Republication {
    /// The state of the rows, and how the run's sentence goes on after their count.
    fn from(self) -> (&'static str, &'static str) {
        match self {
            Republication::Accept => ("quarantined", "accepted from quarantine by a person"),
            Republication::RollBack => ("previous", "of the previous publication, restored by a person"),
        }
    }
}

fn republish(
    store: &mut impl ReviewedStore,
    task: &TaskName,
    what: Republication,
    key: &[String],
    now: DateTime<Utc>,
) -> StoreResult<Option<Verdict>> {
    let (state, words) = what.from();
    let Some(from) = generation::newest_run(store.session(), task, state)? else { return Ok(None) };
    let run = RunId::new();
    let trigger = Trigger::Person;
    let start = RunStart { run, task: task.clone(), slot: None, trigger, started_at: now, pid: None };
    if store.begin_run(&start)? != BeginOutcome::Started {
        return Err(StoreError::Busy("another daemon owns the task; use that one".into()));
    }
    let mut copied = 0;
    loop {
        let part = BrowseQuery::part(ROWS_PER_COPY, copied);
        let rows = rows::rows_in_state(store.session(), from, state, &part)?;
        let Some(rows) = rows.filter(|rows| !rows.table.rows.is_empty()) else { break };
        copied += rows.table.rows.len() as u64;
        let columns = (&rows.table.columns[..], &rows.values[..]);
        store.stage_values(run, task, columns, key, &append_values(&rows), now)?;
    }
    let before = store.run(from)?.and_then(|run| run.end).map(|(_, verdict)| verdict);
    let figures = before.as_ref().map(|it| it.statistics.clone()).unwrap_or_default();
    let verdict = Verdict {
        outcome: Outcome::Published(Publication::Changed),
        sentence: format!("{copied} {} {words}", if copied == 1 { "row" } else { "rows" }),
        similarity: before.as_ref().and_then(|it| it.similarity),
        rows: copied,
        pages: before.map_or(0, |it| it.pages),
        provisional: false,
        statistics: RunStatistics {
            accepted: true,
            repaired: false,
            rolled_back: what == Republication::RollBack,
            ..figures
        },
    };
    store.end_run(run, &verdict, now).map(Some)
}

/// The rows as they are staged: the values follow the texts.
fn append_values(rows: &Rows) -> Vec<Row> {
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
