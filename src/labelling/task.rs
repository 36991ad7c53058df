//! Labels a task: loads the page of its last run from the store and writes the chosen list into the task's folder. The
//! steps between are in [`page`](crate::labelling::page), in a sandboxed process.

pub mod add;
mod label_help;
mod newest_page;
mod undo;

use chrono::{DateTime, Utc};

pub use crate::labelling::page::CandidateChoice;
use crate::labelling::page::{AcceptedList, LabellingContext, PageLabellingError};
pub use crate::learn::teach::Help;
use crate::model::{Outcome, Quarantine, TaskName, Verdict};
use crate::store::{Store, StoreError};
use crate::tasks;
use crate::tasks::{FileError, Label, LabelKind, Problem, Relabelling, TaskFolder, TemplateText};

use label_help::{kind, to_help, to_label_help};
pub use newest_page::{PageAge, last_page_of, page_age};
pub use undo::{UndoPlan, UndoReport, UndoScope, undo_label};

/// Published rows that are compared to carry column names over.
const COMPARED_ROWS: u64 = 1_000;
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

/// The context and the compressed page that the task is labelled on.
pub fn load_page(store: &Store, folder: &TaskFolder) -> Result<(LabellingContext, Vec<u8>), LabellingError> {
    let found = newest_page::load(store, &folder.name)?;
    let stale = found.note();
    let (run, (page, packed)) = (found.run, found.page);
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
        stale,
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
