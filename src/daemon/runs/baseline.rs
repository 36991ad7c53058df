//! What a run is compared with: the good runs since the list was last labelled. Before the first of them, the rows that
//! the person approved stand for a good run, so that a label does not disarm the checks of the next run.

use chrono::{DateTime, Utc};

use crate::judge::Tally;
use crate::model::{Column, ColumnType, Outcome, PastRun, Publication, RunId, RunStatistics, Table, TaskName, Verdict};
use crate::normalise::{self, Hints};
use crate::store::{Store, StoreError};
use crate::tasks;
use crate::tasks::{Label, Labels, TaskFolder};

/// Earlier good runs that a run is compared with.
const PAST_RUNS: u32 = 8;

/// The good runs that a run is compared with, newest first.
pub fn good_runs(store: &Store, task: &TaskName) -> Result<Vec<PastRun>, StoreError> {
    store.good_runs(task, PAST_RUNS)
}

/// Those of the good runs that found the list as it was last labelled, or the rows that the label approved.
pub fn since_label(mut good: Vec<PastRun>, labels: &Labels, folder: &TaskFolder) -> Vec<PastRun> {
    let Some(label) = labels.labels.last() else { return good };
    good.retain(|run| run.started_at >= label.labelled_at());
    if good.is_empty() {
        good.extend(approved_run(label, folder));
    }
    good
}

/// The rows of the labelled page as a good run: their count is the least that is expected of all pages together. None
/// for a label without a sample of its own, which a person or an older version wrote.
fn approved_run(label: &Label, folder: &TaskFolder) -> Option<PastRun> {
    let rows = tasks::read_last_expected_rows(&folder.dir).ok()??;
    let is_its_own = label.rows > 0 && rows.rows.len() as u64 == label.rows;
    let at = label.labelled_at();
    let columns = is_its_own.then(|| statistics(&rows, folder, at))?;
    let verdict = Verdict {
        outcome: Outcome::Published(Publication::Changed),
        sentence: "approved by a person".to_owned(),
        similarity: None,
        rows: label.rows,
        pages: 1,
        provisional: false,
        statistics: columns,
    };
    Some(PastRun { run: RunId::new(), started_at: at, ended_at: at, verdict })
}

fn statistics(table: &Table, folder: &TaskFolder, at: DateTime<Utc>) -> RunStatistics {
    let task = &folder.task;
    let mut tally = Tally::default();
    tally.set_columns(table.columns.iter().map(|name| (name.clone(), true)));
    table.rows.iter().for_each(|row| tally.add(&row.cells));
    let hints = Hints::new(task.schedule.timezone, at, task.url.as_ref(), None);
    // Addresses are read relative to the page, which always works.
    let is_typed = |it: &&Column| !matches!(it.kind, ColumnType::Text | ColumnType::Url);
    for column in task.columns.iter().filter(is_typed) {
        let Some(place) = table.columns.iter().position(|name| *name == column.name) else { continue };
        let texts = table.rows.iter().filter_map(|row| row.cells.get(place)?.as_deref());
        let texts = texts.filter(|text| !text.trim().is_empty());
        let unread = texts.filter(|text| normalise::read(column.kind, text, &hints).is_err()).count();
        (0..unread).for_each(|_| tally.count_unread(place));
    }
    RunStatistics { columns: tally.statistics(), ..RunStatistics::default() }
}
