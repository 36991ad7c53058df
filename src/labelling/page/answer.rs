//! Request and answer of a labelling job: what parent and child exchange when a page is labelled in a sandboxed child
//! process.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use super::{AcceptedList, CandidateChoice, LabellingContext, ListProposal, PageLabeller, PageLabellingError};
use crate::learn::Candidate;
use crate::learn::teach::Help;
use crate::model::{Row, RunId, Table};
use crate::page::tokens::Span;
use crate::page::{Tokens, sanitise};

/// Maximum rows shown; nobody scrolls through more to confirm a list.
pub const MAX_SHOWN_ROWS: usize = 100;
/// Maximum characters shown of a cell.
pub const MAX_SHOWN_CHARS: usize = 300;
/// Maximum rows outlined on the page.
pub const MAX_OUTLINED_ROWS: usize = 2_000;

#[derive(Debug, Serialize, Deserialize)]
pub struct LabellingRequest {
    pub known: LabellingContext,
    pub ask: LabellingQuestion,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabellingQuestion {
    /// Propose lists, with this help.
    Lists(Help),
    /// As `Lists`, followed by all rows of each list.
    Rows(Help),
    /// Accept one of the lists.
    Take(Help, CandidateChoice),
    /// Render the page.
    Page,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabellingAnswer {
    Lists(Box<ProposalView>),
    /// All rows of the next list.
    Rows(Table),
    /// The page's bytes follow.
    Taken(Box<AcceptedList>),
    /// More of the page's bytes; without the last of them the page is not whole.
    More {
        is_last: bool,
    },
    /// Sanitised HTML of the page follows.
    Page,
    /// The help does not fit the page; says why.
    Refused(LabellingRefusal),
}

/// Why a labelling question has no answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabellingRefusal {
    pub fault: LabellingFault,
    pub sentence: String,
}

/// What has to change for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabellingFault {
    /// The page has no list, or is too large.
    Page,
    /// The person's help or choice.
    Input,
    /// The task's columns.
    Task,
}

impl LabellingRefusal {
    pub fn of_page(sentence: &str) -> LabellingAnswer {
        LabellingAnswer::Refused(LabellingRefusal { fault: LabellingFault::Page, sentence: sentence.to_owned() })
    }
}

/// A proposal as a person sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProposalView {
    pub run: RunId,
    pub url: Url,
    pub lists: Vec<CandidateView>,
    pub said: Help,
    pub repairs: bool,
    pub doubt: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CandidateView {
    pub method: String,
    pub score: f64,
    pub rows: usize,
    /// The template in readable notation.
    pub template: String,
    /// The template's column names.
    pub columns: Vec<String>,
    /// The proposed names; `None` for a column that is hidden at first.
    pub names: Vec<Option<String>>,
    /// The first rows.
    pub records: Vec<Vec<Option<String>>>,
    /// First and last line of each row on the page.
    pub places: Vec<(LineRef, LineRef)>,
    /// The limit that cut the list off.
    pub limit: Option<String>,
    /// Columns with published values for which this list has none.
    pub lost: Vec<String>,
    /// The columns that identify a record (`data.key`).
    pub key: Vec<String>,
}

/// An element's node; in a listing, a text node and the offset at which the line begins.
pub type LineRef = (u32, u32);

/// The answers, each with the bytes that follow it.
pub fn answer(study: PageLabeller, ask: &LabellingQuestion) -> Vec<(LabellingAnswer, Vec<u8>)> {
    let answered = match ask {
        LabellingQuestion::Page => Ok(vec![(LabellingAnswer::Page, sanitise::html(study.tree()).into_bytes())]),
        LabellingQuestion::Lists(help) => study
            .propose(help)
            .map(|proposal| without_empty_rows(&study, proposal))
            .map(|proposal| vec![(LabellingAnswer::Lists(Box::new(proposal_view(&study, proposal))), Vec::new())]),
        LabellingQuestion::Rows(help) => study
            .propose(help)
            .map(|proposal| without_empty_rows(&study, proposal))
            .map(|proposal| lists_and_rows(&study, proposal)),
        LabellingQuestion::Take(help, choice) => study
            .propose(help)
            .and_then(|proposal| study.accept(&proposal, choice))
            .map(|accepted| vec![(LabellingAnswer::Taken(Box::new(accepted)), study.body)]),
    };
    answered.unwrap_or_else(|error| vec![(rejection(&error), Vec::new())])
}

/// The proposal without rows that have no value under the proposed names: they are not published.
fn without_empty_rows(study: &PageLabeller, mut proposal: ListProposal) -> ListProposal {
    let names: Vec<_> = (0..proposal.candidates.len()).map(|pick| study.names(&proposal, pick)).collect();
    for (candidate, names) in proposal.candidates.iter_mut().zip(names) {
        let has_value = |row: &Row| row.cells.iter().zip(&names).any(|(cell, name)| cell.is_some() && name.is_some());
        if names.iter().all(Option::is_none) || candidate.table.rows.iter().all(has_value) {
            continue;
        }
        let mut kept = candidate.table.rows.iter().map(has_value).collect::<Vec<_>>().into_iter();
        candidate.row_spans.retain(|_| kept.next().unwrap_or(true));
        candidate.table.rows.retain(has_value);
    }
    proposal
}

fn lists_and_rows(study: &PageLabeller, mut proposal: ListProposal) -> Vec<(LabellingAnswer, Vec<u8>)> {
    let tables: Vec<Table> = proposal.candidates.iter().map(|it| it.table.clone()).collect();
    // Nothing is outlined in a terminal.
    proposal.candidates.iter_mut().for_each(|it| it.row_spans.clear());
    let lists = LabellingAnswer::Lists(Box::new(proposal_view(study, proposal)));
    let rows = tables.into_iter().map(LabellingAnswer::Rows);
    std::iter::once(lists).chain(rows).map(|answer| (answer, Vec::new())).collect()
}

fn rejection(error: &PageLabellingError) -> LabellingAnswer {
    let fault = match error {
        PageLabellingError::NoList(_) | PageLabellingError::NotWhole(_) | PageLabellingError::NotAsShown { .. } => {
            LabellingFault::Page
        }
        PageLabellingError::NoSuchCandidate { .. }
        | PageLabellingError::NameCount { .. }
        | PageLabellingError::NameTwice(_)
        | PageLabellingError::NoColumns
        | PageLabellingError::NoKeyColumn { .. }
        | PageLabellingError::Help(_) => LabellingFault::Input,
        PageLabellingError::Columns(_) => LabellingFault::Task,
    };
    LabellingAnswer::Refused(LabellingRefusal { fault, sentence: error.to_string() })
}

fn proposal_view(study: &PageLabeller, proposal: ListProposal) -> ProposalView {
    let tokens = Tokens::new(study.tree());
    let lists = proposal.candidates.iter().enumerate().map(|(pick, candidate)| {
        let names = study.names(&proposal, pick);
        let (columns, table) = study.named(candidate, &names);
        // Columns that the person split or joined are not lost.
        let lost = if proposal.steps_of(pick).is_empty() { study.lost_columns(&table) } else { Vec::new() };
        let key = study.key(&columns, &table, &BTreeMap::new());
        CandidateView { lost, key, ..candidate_view(candidate, names, &tokens) }
    });
    ProposalView {
        run: study.known.run,
        url: study.known.page.url.clone(),
        lists: lists.collect(),
        said: proposal.said,
        repairs: proposal.repairs,
        doubt: proposal.doubt,
    }
}

fn candidate_view(candidate: &Candidate, names: Vec<Option<String>>, tokens: &Tokens<'_>) -> CandidateView {
    let cut = |text: &String| text.chars().take(MAX_SHOWN_CHARS).collect();
    let cells = |row: &Row| row.cells.iter().map(|cell| cell.as_ref().map(cut)).collect();
    CandidateView {
        method: candidate.method.to_owned(),
        score: candidate.score,
        rows: candidate.table.rows.len(),
        template: candidate.template.to_string(),
        columns: candidate.table.columns.clone(),
        names,
        records: candidate.table.rows.iter().take(MAX_SHOWN_ROWS).map(cells).collect(),
        limit: candidate.limit.map(|limit| limit.to_string()),
        lost: Vec::new(),
        key: Vec::new(),
        places: candidate.row_spans.iter().take(MAX_OUTLINED_ROWS).filter_map(|&row| line_range(tokens, row)).collect(),
    }
}

/// First and last line of a row. A token-based row may end with the end tag of an element that began before it.
fn line_range(tokens: &Tokens<'_>, row: Span) -> Option<(LineRef, LineRef)> {
    // A stored candidate may belong to another page; then the span is out of range.
    let row = tokens.list.get(row.start as usize..row.stop as usize)?;
    let first = row.first()?.line();
    let last = row.iter().rev().find(|token| token.is_visible() && token.line() >= first)?.line();
    Some((first, last))
}

/// Assigns names given in order to a list's columns: to the shown columns, or to all of them.
pub fn assign_names(
    lists: &[CandidateView],
    pick: usize,
    given: Vec<Option<String>>,
) -> Result<Vec<Option<String>>, PageLabellingError> {
    let none = || PageLabellingError::NoSuchCandidate { given: pick + 1, most: lists.len() };
    let mut names = lists.get(pick).ok_or_else(none)?.names.clone();
    let shown: Vec<String> = names.iter().flatten().cloned().collect();
    if given.len() == names.len() {
        return Ok(given);
    }
    if given.len() != shown.len() {
        return Err(PageLabellingError::NameCount { pick: pick + 1, shown, given: given.len() });
    }
    names.iter_mut().filter(|name| name.is_some()).zip(given).for_each(|(name, new)| *name = new);
    Ok(names)
}
