//! Labels a task: loads the page of its last run from the store and writes the chosen list into the task's folder. The
//! steps between are in [`page`](crate::labelling::page), in a sandboxed process.

pub mod add;
mod label_help;

use chrono::{DateTime, Utc};

use crate::config::Config;
pub use crate::labelling::page::CandidateChoice;
use crate::labelling::page::{AcceptedList, LabellingContext, PageLabellingError};
pub use crate::learn::teach::Help;
use crate::model::{Outcome, PageMeta, PastRun, Quarantine, RunId, TaskName, Verdict};
use crate::store::{Store, StoreError};
use crate::tasks;
use crate::tasks::{FileError, Label, LabelKind, Problem, Relabelling, TaskFolder, TemplateText};

use label_help::{kind, to_help, to_label_help};

/// Published rows that are compared to carry column names over.
const COMPARED_ROWS: u64 = 1_000;
/// Past runs that are searched for a page to learn from.
const MAX_PAST_RUNS: u32 = 50;
/// How often runs may end while a page is looked for.
const MAX_PAGE_READS: usize = 5;
/// Maximum size of a decompressed page. The task's own limit was applied when it was fetched.
const MAX_UNPACKED: usize = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum LabellingError {
    #[error(
        "`{0}` has no page with a list yet: fetch one with `pieme run {0}`; `pieme log {0}` shows how the last run \
         ended"
    )]
    NoPage(TaskName),
    #[error(transparent)]
    Study(#[from] PageLabellingError),
    #[error("the stored page cannot be decompressed: {0}; fetch it again with `pieme run`")]
    Page(std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Folder(#[from] Problem),
    #[error("the process that parses the page cannot be started: {0}")]
    Process(std::io::Error),
}

impl From<FileError> for LabellingError {
    fn from(error: FileError) -> LabellingError {
        LabellingError::Folder(error.into())
    }
}

/// The context and the compressed page of the task's last run.
pub fn load_page(store: &Store, folder: &TaskFolder) -> Result<(LabellingContext, Vec<u8>), LabellingError> {
    let (run, page, packed) = last_page(store, &folder.name)?;
    let labels = tasks::read_labels(&folder.dir)?;
    let spoken = labels.labels.iter().rev().filter(|label| !label.said.is_empty());
    // A template that nobody has confirmed is not repaired but learned anew.
    let is_redesigned = |verdict: &Verdict| {
        matches!(verdict.outcome, Outcome::Quarantined(Quarantine::Layout | Quarantine::Columns))
            && !verdict.provisional
    };
    // Nobody has confirmed or named anything: the rows of a first run do not constrain the new list.
    let is_new = !labels.is_confirmed() && folder.task.columns.is_empty();
    let known = LabellingContext {
        run,
        page,
        charset: folder.task.fetch.charset.clone(),
        timezone: folder.task.schedule.timezone,
        columns: folder.task.columns.clone(),
        key: folder.task.data.key.clone(),
        template: folder.template.as_ref().map(TemplateText::text),
        good: if is_new { None } else { store.published(&folder.name, COMPARED_ROWS, 0)?.map(|it| it.table) },
        said: spoken.map(to_help).collect(),
        redesigned: store.run(run)?.and_then(|run| run.end).is_some_and(|(_, verdict)| is_redesigned(&verdict)),
        kept: tasks::read_proposals(&folder.dir)?.filter(|kept| kept.run == run).map(|kept| kept.repair),
    };
    Ok((known, packed))
}

/// Writes a choice into the task's folder: template, columns, labels and the page as a sample.
pub fn write(folder: &TaskFolder, accepted: &AcceptedList, body: &[u8], now: DateTime<Utc>) -> Result<(), Problem> {
    let label = Label {
        when: now,
        kind: if accepted.repairs { LabelKind::Repair } else { kind(&accepted.said) },
        candidate: accepted.candidate,
        method: accepted.method.clone(),
        rows: accepted.rows,
        first_row: accepted.first_row.clone(),
        columns: accepted.names.clone(),
        seconds: accepted.seconds,
        said: to_label_help(&accepted.said),
    };
    let new = Relabelling {
        template: &accepted.template,
        label,
        columns: &accepted.columns,
        key: &accepted.key,
        body,
        expected: &accepted.expected,
        repairs: accepted.repairs,
    };
    tasks::relabel(folder, new)
}

/// What undoing a label restored.
pub struct UndoReport {
    /// Template, columns and labels were restored; false if there were no earlier ones.
    pub relabelled: bool,
    /// The undone label was an automatic repair. A person is asked from now on; otherwise the next run would repeat it.
    pub asks_from_now_on: bool,
}

/// Restores what the last label replaced in the folder. Does not touch the rows in the store.
pub fn undo(folder: &TaskFolder) -> Result<UndoReport, Problem> {
    let labels = tasks::read_labels(&folder.dir)?;
    let relabelled = tasks::restore_previous(&folder.dir)?;
    let asks_from_now_on = relabelled && labels.is_auto_repaired();
    if asks_from_now_on {
        tasks::ask_before_accepting(&folder.dir)?;
    }
    Ok(UndoReport { relabelled, asks_from_now_on })
}

/// The page of the task's last run, compressed.
pub fn last_page_of(config: &Config, folder: &TaskFolder) -> Result<(PageMeta, Vec<u8>), LabellingError> {
    let (_, page, packed) = last_page(&Store::open_reader(&config.store)?, &folder.name)?;
    Ok((page, packed))
}

fn last_page(store: &Store, name: &TaskName) -> Result<(RunId, PageMeta, Vec<u8>), LabellingError> {
    let past_runs = || store.past_verdicts(name, MAX_PAST_RUNS);
    let first_page = |run| Ok(store.pages(run)?.into_iter().next());
    let (run, (page, packed)) =
        newest_page(past_runs, first_page)?.ok_or_else(|| LabellingError::NoPage(name.clone()))?;
    Ok((run, page, packed))
}

/// The first page of the newest run that reached the list. A run that ends between the two reads replaces the pages of
/// the run before it; the runs are then listed again.
fn newest_page<P>(
    past_runs: impl Fn() -> Result<Vec<PastRun>, StoreError>,
    first_page: impl Fn(RunId) -> Result<Option<P>, StoreError>,
) -> Result<Option<(RunId, P)>, StoreError> {
    // The page of a failed run is an error page or a login form, unless the run failed after its first list page.
    let reached = |run: &&PastRun| !matches!(run.verdict.outcome, Outcome::Failed(_));
    let mut last_seen = None;
    for _ in 0..MAX_PAGE_READS {
        let past = past_runs()?;
        let began_well = past.iter().filter(|run| !reached(run) && run.verdict.pages > 0);
        for run in past.iter().filter(reached).chain(began_well) {
            if let Some(page) = first_page(run.run)? {
                return Ok(Some((run.run, page)));
            }
        }
        let newest = past.first().map(|run| run.run);
        if newest == last_seen {
            break;
        }
        last_seen = newest;
    }
    Ok(None)
}

/// The bytes of a stored page, which are untrusted: call it in a sandbox.
pub fn decompress_page(packed: &[u8]) -> Result<Vec<u8>, LabellingError> {
    zstd::bulk::decompress(packed, MAX_UNPACKED).map_err(LabellingError::Page)
}

/// Tasks that need a label, most urgent first: redesigned ones, then those never published, then provisional ones.
pub fn tasks_to_label(store: &Store) -> Result<Vec<TaskName>, StoreError> {
    let urgency = |verdict: &Verdict| match verdict.outcome {
        Outcome::Quarantined(Quarantine::Layout | Quarantine::Columns) => Some(0),
        Outcome::Quarantined(Quarantine::Provisional) => Some(1),
        Outcome::Published(_) if verdict.provisional => Some(2),
        Outcome::Quarantined(Quarantine::Rows) | Outcome::Published(_) | Outcome::Empty(_) | Outcome::Failed(_) => None,
    };
    let tasks = store.tasks()?.into_iter().filter(|row| !row.removed);
    let mut waiting: Vec<(u8, TaskName)> =
        tasks.filter_map(|row| Some((urgency(&row.last_run?.verdict)?, row.name))).collect();
    waiting.sort();
    Ok(waiting.into_iter().map(|(_, name)| name).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::model::Failure;

    fn past_run(run: RunId) -> PastRun {
        let now = DateTime::UNIX_EPOCH;
        let verdict = Verdict { pages: 1, ..Verdict::failed(Failure::Http, "page 2 failed") };
        PastRun { run, started_at: now, ended_at: now, verdict }
    }

    #[test]
    fn a_run_that_ends_while_its_page_is_looked_for_is_found() {
        let (old, new) = (RunId::new(), RunId::new());
        let listings = Cell::new(0);
        // The second run ends right after the first listing, and its page replaces the one of the first run.
        let past_runs = || {
            listings.set(listings.get() + 1);
            Ok(if listings.get() == 1 { vec![past_run(old)] } else { vec![past_run(new), past_run(old)] })
        };
        let found = newest_page(past_runs, |run| Ok((run == new).then_some("page"))).expect("no error");
        assert_eq!(found, Some((new, "page")));
    }

    #[test]
    fn a_task_without_a_page_is_listed_twice_and_no_more() {
        let run = RunId::new();
        let listings = Cell::new(0);
        let past_runs = || {
            listings.set(listings.get() + 1);
            Ok(vec![past_run(run)])
        };
        assert_eq!(newest_page(past_runs, |_| Ok(None::<()>)).expect("no error"), None);
        assert_eq!(listings.get(), 2);
    }
}
