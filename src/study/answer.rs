//! One question about a page, and its answer: what goes over the wire when a page is studied in a process of its own.

use serde::{Deserialize, Serialize};
use url::Url;

use super::{Accepted, Choice, Known, Proposal, Study, StudyError};
use crate::induce::Candidate;
use crate::induce::help::Help;
use crate::model::{Row, RunId};
use crate::page::tokens::Span;
use crate::page::{Tokens, inert};

/// Rows of a list that a person is shown; nobody scrolls through more to say yes.
const SHOWN_ROWS: usize = 100;
/// Characters of a cell that are shown.
const SHOWN_CELL: usize = 300;
/// Rows that are outlined on the page.
const OUTLINED: usize = 2_000;

/// What is known, and what is asked of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Question {
    pub known: Known,
    pub ask: Ask,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    /// Which lists are there, in the light of what was said?
    Lists(Help),
    /// One of them is taken.
    Take(Help, Choice),
    /// What does the page look like?
    Page,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    Lists(Box<Shown>),
    /// With the page as it was sent.
    Taken(Box<Accepted>),
    /// With the page as HTML that can do nothing.
    Page,
    /// What was said does not fit the page, and why.
    Refused(String),
}

/// What a person sees of a proposal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shown {
    pub run: RunId,
    pub url: Url,
    pub lists: Vec<ShownList>,
    pub said: Help,
    pub repairs: bool,
    pub doubt: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShownList {
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
    pub places: Vec<(Line, Line)>,
}

/// An element's node, or a text's in a listing and where in it the line begins.
pub type Line = (u32, u32);

/// Answers, with the bytes that go with it.
pub fn answer(study: Study, ask: &Ask) -> (Answer, Vec<u8>) {
    match ask {
        Ask::Page => (Answer::Page, inert::html(study.tree()).into_bytes()),
        Ask::Lists(help) => match study.propose(help) {
            Ok(proposal) => (Answer::Lists(Box::new(study.shown(proposal))), Vec::new()),
            Err(error) => (refused(&error), Vec::new()),
        },
        Ask::Take(help, choice) => {
            let taken = study.propose(help).and_then(|proposal| study.accept(&proposal, choice));
            match taken {
                Ok(accepted) => (Answer::Taken(Box::new(accepted)), study.body),
                Err(error) => (refused(&error), Vec::new()),
            }
        }
    }
}

fn refused(error: &StudyError) -> Answer {
    Answer::Refused(error.to_string())
}

impl Study {
    pub fn shown(&self, proposal: Proposal) -> Shown {
        let tokens = Tokens::new(self.tree());
        let names = (0..proposal.candidates.len()).map(|pick| self.names(&proposal, pick)).collect::<Vec<_>>();
        let lists = proposal.candidates.iter().zip(names);
        Shown {
            run: self.known.run,
            url: self.known.page.url.clone(),
            lists: lists.map(|(candidate, names)| shown(candidate, names, &tokens)).collect(),
            said: proposal.said,
            repairs: proposal.repairs,
            doubt: proposal.doubt,
        }
    }
}

fn shown(candidate: &Candidate, names: Vec<Option<String>>, tokens: &Tokens<'_>) -> ShownList {
    let cut = |text: &String| text.chars().take(SHOWN_CELL).collect();
    let cells = |row: &Row| row.cells.iter().map(|cell| cell.as_ref().map(cut)).collect();
    ShownList {
        method: candidate.method.to_owned(),
        rows: candidate.table.rows.len(),
        template: candidate.template.to_string(),
        columns: candidate.table.columns.clone(),
        names,
        records: candidate.table.rows.iter().take(SHOWN_ROWS).map(cells).collect(),
        places: candidate.places.iter().take(OUTLINED).filter_map(|&row| place(tokens, row)).collect(),
    }
}

/// From the first line of a row to its last; a row that was cut from tokens may end with what began before it.
fn place(tokens: &Tokens<'_>, row: Span) -> Option<(Line, Line)> {
    // One that was kept may be of another page than this, for all that is known here.
    let row = tokens.list.get(row.start as usize..row.stop as usize)?;
    let first = row.first()?.line();
    let last = row.iter().rev().find(|token| token.is_shown() && token.line() >= first)?.line();
    Some((first, last))
}
