//! One question about a page, and its answer: what goes over the wire when a page is studied in a process of its own.

use serde::{Deserialize, Serialize};
use url::Url;

use super::{AcceptedList, CandidateChoice, LabellingContext, ListProposal, PageLabeller, PageLabellingError};
use crate::learn::Candidate;
use crate::learn::help::Help;
use crate::model::{Row, RunId};
use crate::page::tokens::Span;
use crate::page::{Tokens, sanitise};

/// Rows of a list that a person is shown; nobody scrolls through more to say yes.
const MAX_SHOWN_ROWS: usize = 100;
/// Characters of a cell that are shown.
const MAX_SHOWN_CHARS: usize = 300;
/// Rows that are outlined on the page.
const MAX_OUTLINED_ROWS: usize = 2_000;

/// What is known, and what is asked of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct LabellingRequest {
    pub known: LabellingContext,
    pub ask: LabellingQuestion,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabellingQuestion {
    /// Which lists are there, in the light of what was said?
    Lists(Help),
    /// One of them is taken.
    Take(Help, CandidateChoice),
    /// What does the page look like?
    Page,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabellingAnswer {
    Lists(Box<ProposalView>),
    /// With the page as it was sent.
    Taken(Box<AcceptedList>),
    /// With the page as HTML that can do nothing.
    Page,
    /// What was said does not fit the page, and why.
    Refused(String),
}

/// What a person sees of a proposal.
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
    /// The template as a person can read it.
    pub template: String,
    /// The columns by the template's own names, and those that are proposed; none for a column that is hidden at first.
    pub columns: Vec<String>,
    pub names: Vec<Option<String>>,
    /// The first rows.
    pub records: Vec<Vec<Option<String>>>,
    /// Where rows stand on the page: first and last line.
    pub places: Vec<(LineRef, LineRef)>,
}

/// An element's node, or a text's in a listing and where in it the line begins.
pub type LineRef = (u32, u32);

/// Answers, with the bytes that go with it.
pub fn answer(study: PageLabeller, ask: &LabellingQuestion) -> (LabellingAnswer, Vec<u8>) {
    match ask {
        LabellingQuestion::Page => (LabellingAnswer::Page, sanitise::html(study.tree()).into_bytes()),
        LabellingQuestion::Lists(help) => match study.propose(help) {
            Ok(proposal) => (LabellingAnswer::Lists(Box::new(study.proposal_view(proposal))), Vec::new()),
            Err(error) => (rejection(&error), Vec::new()),
        },
        LabellingQuestion::Take(help, choice) => {
            let taken = study.propose(help).and_then(|proposal| study.accept(&proposal, choice));
            match taken {
                Ok(accepted) => (LabellingAnswer::Taken(Box::new(accepted)), study.body),
                Err(error) => (rejection(&error), Vec::new()),
            }
        }
    }
}

fn rejection(error: &PageLabellingError) -> LabellingAnswer {
    LabellingAnswer::Refused(error.to_string())
}

impl PageLabeller {
    pub fn proposal_view(&self, proposal: ListProposal) -> ProposalView {
        let tokens = Tokens::new(self.tree());
        let names = (0..proposal.candidates.len()).map(|pick| self.names(&proposal, pick)).collect::<Vec<_>>();
        let lists = proposal.candidates.iter().zip(names);
        ProposalView {
            run: self.known.run,
            url: self.known.page.url.clone(),
            lists: lists.map(|(candidate, names)| candidate_view(candidate, names, &tokens)).collect(),
            said: proposal.said,
            repairs: proposal.repairs,
            doubt: proposal.doubt,
        }
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

/// From the first line of a row to its last; a row that was cut from tokens may end with what began before it.
fn line_range(tokens: &Tokens<'_>, row: Span) -> Option<(LineRef, LineRef)> {
    // One that was kept may be of another page than this, for all that is known here.
    let row = tokens.list.get(row.start as usize..row.stop as usize)?;
    let first = row.first()?.line();
    let last = row.iter().rev().find(|token| token.is_visible() && token.line() >= first)?.line();
    Some((first, last))
}
