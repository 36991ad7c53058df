//! A labelling session in the terminal. A sandboxed process parses the page and proposes the lists; this process asks
//! the person and writes the folder.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::runtime::Runtime;

use crate::cli::sandboxed::kernel_refusal;
use crate::cli::{CliError, exit};
use crate::config::Config;
use crate::daemon::child::page_jobs::PageInspector;
use crate::daemon::child::spawn::{Spawner, THIS_PROGRAM};
use crate::labelling::page::{
    self, AcceptedList, CandidateView, LabellingAnswer, LabellingContext, LabellingFault, LabellingQuestion,
    ProposalView,
};
use crate::labelling::task::{self, CandidateChoice, Help, LabellingError};
use crate::learn::template::RowAdjustment;
use crate::model::{Row, Table};
use crate::store::Store;
use crate::tasks::TaskFolder;

pub(super) struct LabelSession {
    page: StoredPage,
    /// What `proposal` answers.
    asked: Help,
    pub(super) proposal: ProposalView,
}

/// The page of a task's last run, and the process that can parse it.
pub(super) struct StoredPage {
    folder: Arc<TaskFolder>,
    pub(super) known: LabellingContext,
    packed: Vec<u8>,
    inspector: PageInspector,
    runtime: Runtime,
}

impl StoredPage {
    pub(super) fn load(config: &Config, folder: &TaskFolder) -> Result<StoredPage, LabellingError> {
        let (known, packed) = task::load_page(&Store::open_reader(&config.store)?, folder)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let spawner = Spawner::start(PathBuf::from(THIS_PROGRAM));
        let (runtime, spawner) = (runtime.map_err(LabellingError::Process)?, spawner.map_err(LabellingError::Process)?);
        let inspector = PageInspector::in_parts(spawner, config.grants.clone());
        Ok(StoredPage { folder: Arc::new(folder.clone()), known, packed, inspector, runtime })
    }

    pub(super) fn propose(self, help: Help) -> Result<LabelSession, CliError> {
        let proposal = self.lists(&help)?;
        Ok(LabelSession { page: self, asked: help, proposal })
    }

    /// The lists, and all rows of each.
    pub(super) fn all_rows(&self, help: Help) -> Result<(ProposalView, Vec<Table>), CliError> {
        let mut answers = self.ask(LabellingQuestion::Rows(help))?.into_iter().map(|(answer, _)| answer);
        let Some(LabellingAnswer::Lists(view)) = answers.next() else { return Err(not_answered()) };
        let rows =
            answers.filter_map(|answer| if let LabellingAnswer::Rows(table) = answer { Some(table) } else { None });
        let tables: Vec<Table> = rows.collect();
        if tables.len() == view.lists.len() { Ok((*view, tables)) } else { Err(not_answered()) }
    }

    fn lists(&self, help: &Help) -> Result<ProposalView, CliError> {
        match self.ask(LabellingQuestion::Lists(help.clone()))?.into_iter().next() {
            Some((LabellingAnswer::Lists(view), _)) if !view.lists.is_empty() && view.lists.iter().all(is_table) => {
                Ok(*view)
            }
            _ => Err(not_answered()),
        }
    }

    fn take(&self, help: &Help, choice: &CandidateChoice) -> Result<(AcceptedList, Vec<u8>), CliError> {
        let mut answers = self.ask(LabellingQuestion::Take(help.clone(), choice.clone()))?.into_iter();
        let Some((LabellingAnswer::Taken(accepted), _)) = answers.next() else { return Err(not_answered()) };
        Ok((*accepted, whole_page(answers).ok_or_else(not_answered)?))
    }

    fn ask(&self, ask: LabellingQuestion) -> Result<Vec<(LabellingAnswer, Vec<u8>)>, CliError> {
        let (folder, known) = (Arc::clone(&self.folder), self.known.clone());
        let asking = self.inspector.inspect_all(folder, known, self.packed.clone(), ask);
        let answers = self.runtime.block_on(asking).ok_or_else(not_answered)?;
        match answers.first() {
            Some((LabellingAnswer::Refused(refusal), _)) => {
                let code = match refusal.fault {
                    LabellingFault::Page => exit::FAILED,
                    LabellingFault::Input => exit::USAGE,
                    LabellingFault::Task => exit::CONFIG,
                };
                Err(CliError::new(code, refusal.sentence.clone()))
            }
            _ => Ok(answers),
        }
    }
}

impl LabelSession {
    pub(super) fn known(&self) -> &LabellingContext {
        &self.page.known
    }

    pub(super) fn names(&self, pick: usize) -> Vec<Option<String>> {
        self.proposal.lists[pick].names.clone()
    }

    /// The lists for other help; the session stays as it was where there are none.
    pub(super) fn ask_again(&mut self, help: Help) -> Result<(), CliError> {
        self.proposal = self.page.lists(&help)?;
        self.asked = help;
        Ok(())
    }

    /// Adjusts the rows of a list by one more step; without a step, all earlier steps are undone.
    pub(super) fn adjust(&mut self, pick: usize, step: Option<RowAdjustment>) -> Result<(), CliError> {
        self.ask_again(page::adjusted(&self.proposal.said, pick, step))
    }

    /// Writes the chosen list into the task's folder. Returns its key.
    pub(super) fn accept(&self, choice: &CandidateChoice, now: DateTime<Utc>) -> Result<Vec<String>, CliError> {
        let (accepted, body) = self.page.take(&self.asked, choice)?;
        task::write(&self.page.folder, &accepted, &body, now)?;
        Ok(accepted.key)
    }
}

/// The page that was sent in parts; `None` where the process ended before the last of them.
fn whole_page(parts: impl Iterator<Item = (LabellingAnswer, Vec<u8>)>) -> Option<Vec<u8>> {
    let (mut body, mut is_whole) = (Vec::new(), false);
    for (answer, part) in parts {
        is_whole = matches!(answer, LabellingAnswer::More { is_last: true });
        body.extend(part);
    }
    is_whole.then_some(body)
}

/// Whether every column has a cell in each row. The process that sent the list may have been taken over by the page.
fn is_table(list: &CandidateView) -> bool {
    let columns = list.columns.len();
    list.names.len() == columns && list.records.iter().all(|cells| cells.len() == columns)
}

/// The first rows of a list as a table.
pub(super) fn first_rows(list: &CandidateView) -> Table {
    let rows = list.records.iter().map(|cells| Row { cells: cells.clone(), page: 0 });
    Table { columns: list.columns.clone(), rows: rows.collect() }
}

fn not_answered() -> CliError {
    kernel_refusal().unwrap_or_else(|| {
        CliError::failed("the page could not be analysed: that took too much memory, or over a minute")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_its_last_part_is_not_taken() {
        let part = |is_last: bool, text: &str| (LabellingAnswer::More { is_last }, text.as_bytes().to_vec());
        let whole = [part(false, "<ul><li>a"), part(true, "<li>b</ul>")];
        assert_eq!(whole_page(whole.into_iter()).as_deref(), Some(&b"<ul><li>a<li>b</ul>"[..]));
        assert_eq!(whole_page([part(false, "<ul><li>a")].into_iter()), None);
        assert_eq!(whole_page(std::iter::empty()), None);
    }
}
