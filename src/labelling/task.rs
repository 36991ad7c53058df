//! What a person teaches, however the person is asked: what is known of a task's last page is gathered here, and what was chosen is
//! written into its folder. What lies between, [`study`](crate::labelling::page), touches neither store nor folder.

mod label_help;
pub mod add;

use chrono::{DateTime, Utc};

use crate::config::Config;
use crate::labelling::page;
pub use crate::labelling::page::CandidateChoice;
use crate::labelling::page::{AcceptedList, LabellingContext, PageLabeller, PageLabellingError};
use crate::learn::adjust::RowAdjustment;
pub use crate::learn::help::Help;
use crate::model::{Outcome, PageMeta, PastRun, Quarantine, RunId, TaskName, Verdict};
use crate::page::Tree;
use crate::store::{Store, StoreError};
use crate::tasks;
use crate::tasks::{FileError, Label, LabelKind, Problem, Relabelling, TaskFolder, TemplateText};

use self::label_help::{kind, to_help, to_label_help};

/// Published rows that names are carried over from.
const COMPARED_ROWS: u64 = 1_000;
/// Runs that are looked through for a page to learn from.
const MAX_PAST_RUNS: u32 = 50;
/// Bytes that a stored page may unpack to: a page was within the task's limit when it was fetched.
const MAX_UNPACKED: usize = 64 << 20;

/// What there is to choose from, with the page that it stands on.
pub struct TaskProposal {
    pub study: PageLabeller,
    pub proposal: page::ListProposal,
}

#[derive(Debug, thiserror::Error)]
pub enum LabellingError {
    #[error(
        "`{0}` has no page with a list yet: `pieme run {0}` fetches one, `pieme log {0}` shows what the last run met"
    )]
    NoPage(TaskName),
    #[error(transparent)]
    Study(#[from] PageLabellingError),
    #[error("the stored page is damaged: {0}")]
    Page(std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Folder(#[from] Problem),
}

impl From<FileError> for LabellingError {
    fn from(error: FileError) -> LabellingError {
        LabellingError::Folder(error.into())
    }
}

/// Learns anew from the page that the task's last run saw, in this process.
pub fn propose(config: &Config, folder: &TaskFolder, help: &Help) -> Result<TaskProposal, LabellingError> {
    let (known, packed) = load_page(&Store::open_reader(&config.store)?, folder)?;
    let study = PageLabeller::new(known, decompress_page(&packed)?);
    let proposal = study.propose(help)?;
    Ok(TaskProposal { study, proposal })
}

/// What is known of the page that the task's last run saw, and the page as it is stored.
pub fn load_page(store: &Store, folder: &TaskFolder) -> Result<(LabellingContext, Vec<u8>), LabellingError> {
    let (run, page, packed) = last_page(store, &folder.name)?;
    let labels = tasks::read_labels(&folder.dir)?;
    let spoken = labels.labels.iter().rev().filter(|label| !label.said.is_empty());
    // A template that nobody has confirmed is not worth keeping.
    let is_redesigned = |verdict: &Verdict| {
        matches!(verdict.outcome, Outcome::Quarantined(Quarantine::Layout | Quarantine::Columns))
            && !verdict.provisional
    };
    // Nobody has confirmed or named anything: what a first run has published is no list of before.
    let is_new = !labels.is_confirmed() && folder.task.columns.is_empty();
    let known = LabellingContext {
        run,
        page,
        charset: folder.task.fetch.charset.clone(),
        timezone: folder.task.schedule.timezone,
        columns: folder.task.columns.clone(),
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
        body,
        expected: &accepted.expected,
        repairs: accepted.repairs,
    };
    tasks::relabel(folder, new)
}

/// What came back when a labelling was undone.
pub struct UndoReport {
    /// Template, columns and labels of before; there may have been none.
    pub relabelled: bool,
    /// It was nobody's choice: a person is asked from now on, otherwise the next run would do the same again.
    pub asks_from_now_on: bool,
}

/// Brings back what the last labelling replaced in the folder. The rows are the store's business.
pub fn undo(folder: &TaskFolder) -> Result<UndoReport, Problem> {
    let labels = tasks::read_labels(&folder.dir)?;
    let relabelled = tasks::restore_previous(&folder.dir)?;
    let asks_from_now_on = relabelled && labels.is_auto_repaired();
    if asks_from_now_on {
        tasks::ask_before_accepting(&folder.dir)?;
    }
    Ok(UndoReport { relabelled, asks_from_now_on })
}

/// The page that the task's last run saw, parsed.
pub fn last_tree(config: &Config, folder: &TaskFolder) -> Result<Tree, LabellingError> {
    let store = Store::open_reader(&config.store)?;
    let (_, page, packed) = last_page(&store, &folder.name)?;
    Ok(page::parse_page(&folder.task.fetch.charset, &page, &decompress_page(&packed)?))
}

fn last_page(store: &Store, name: &TaskName) -> Result<(RunId, PageMeta, Vec<u8>), LabellingError> {
    // The page of a failed run is an error page or a log-in form, unless it failed after its first list page.
    let reached = |run: &&PastRun| !matches!(run.verdict.outcome, Outcome::Failed(_));
    let past = store.past_verdicts(name, MAX_PAST_RUNS)?;
    let began_well = past.iter().filter(|run| !reached(run) && run.verdict.pages > 0);
    for run in past.iter().filter(reached).chain(began_well) {
        if let Some((page, packed)) = store.pages(run.run)?.into_iter().next() {
            return Ok((run.run, page, packed));
        }
    }
    Err(LabellingError::NoPage(name.clone()))
}

fn decompress_page(packed: &[u8]) -> Result<Vec<u8>, LabellingError> {
    zstd::bulk::decompress(packed, MAX_UNPACKED).map_err(LabellingError::Page)
}

impl TaskProposal {
    pub fn names(&self, pick: usize) -> Vec<Option<String>> {
        self.study.names(&self.proposal, pick)
    }

    /// Names that were given in order, put to the candidate's columns.
    pub fn assign_names(&self, pick: usize, given: Vec<Option<String>>) -> Result<Vec<Option<String>>, LabellingError> {
        Ok(self.study.assign_names(&self.proposal, pick, given)?)
    }

    /// Takes one more step in the cut of a candidate's rows, or none: then the steps so far are undone.
    pub fn adjust(&mut self, pick: usize, step: Option<RowAdjustment>) -> Result<(), LabellingError> {
        self.proposal = self.study.adjust(&self.proposal, pick, step)?;
        Ok(())
    }

    /// Writes the choice into the task's folder.
    pub fn accept(
        &self,
        folder: &TaskFolder,
        choice: &CandidateChoice,
        now: DateTime<Utc>,
    ) -> Result<(), LabellingError> {
        let accepted = self.study.accept(&self.proposal, choice)?;
        Ok(write(folder, &accepted, &self.study.body, now)?)
    }
}

/// Tasks that wait for a person, worst first: what was published and is not any more, then what never was, then what only wants
/// a yes.
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
