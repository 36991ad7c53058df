//! Request and answer of a labelling job: what parent and child exchange when a page is labelled in a sandboxed child
//! process.

use serde::{Deserialize, Serialize};
use url::Url;

use super::{AcceptedList, CandidateChoice, LabellingContext, ListProposal, PageLabeller};
use crate::learn::Candidate;
use crate::learn::teach::Help;
use crate::model::{Row, RunId};
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
    /// Accept one of the lists.
    Take(Help, CandidateChoice),
    /// Render the page.
    Page,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabellingAnswer {
    Lists(Box<ProposalView>),
    /// The page's bytes follow.
    Taken(Box<AcceptedList>),
    /// Sanitised HTML of the page follows.
    Page,
    /// The help does not fit the page; says why.
    Refused(String),
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
}

/// An element's node; in a listing, a text node and the offset at which the line begins.
pub type LineRef = (u32, u32);

/// The answer and the bytes that follow it.
pub fn answer(study: PageLabeller, ask: &LabellingQuestion) -> (LabellingAnswer, Vec<u8>) {
    let answered = match ask {
        LabellingQuestion::Page => Ok((LabellingAnswer::Page, sanitise::html(study.tree()).into_bytes())),
        LabellingQuestion::Lists(help) => study
            .propose(help)
            .map(|proposal| (LabellingAnswer::Lists(Box::new(proposal_view(&study, proposal))), Vec::new())),
        LabellingQuestion::Take(help, choice) => study
            .propose(help)
            .and_then(|proposal| study.accept(&proposal, choice))
            .map(|accepted| (LabellingAnswer::Taken(Box::new(accepted)), study.body)),
    };
    answered.unwrap_or_else(|error| (LabellingAnswer::Refused(error.to_string()), Vec::new()))
}

fn proposal_view(study: &PageLabeller, proposal: ListProposal) -> ProposalView {
    let tokens = Tokens::new(study.tree());
    let names = (0..proposal.candidates.len()).map(|pick| study.names(&proposal, pick)).collect::<Vec<_>>();
    let lists = proposal.candidates.iter().zip(names);
    ProposalView {
        run: study.known.run,
        url: study.known.page.url.clone(),
        lists: lists.map(|(candidate, names)| candidate_view(candidate, names, &tokens)).collect(),
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
        rows: candidate.table.rows.len(),
        template: candidate.template.to_string(),
        columns: candidate.table.columns.clone(),
        names,
        records: candidate.table.rows.iter().take(MAX_SHOWN_ROWS).map(cells).collect(),
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
