//! What a person says about a page, and the candidates in its light.

use serde::{Deserialize, Serialize};

use self::labels::LocatedHelp;
use super::edits::CandidateEdits;
use super::enclose;
use super::find::PageView;
use super::label::{PageText, ValueLabel};
use super::row_rule::RowRule;
use super::{Candidate, LearnOptions, learn};
use crate::page::select::SelectorError;
use crate::page::tokens::Span;
use crate::page::{NodeId, Selector, Tree};

/// Everything a person said. Nothing said is `Help::default()`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Help {
    /// Rough blocks, one record each (OLERA). Several give several formats.
    pub enclosed: Vec<Block>,
    /// Values of a record or two, named (PIEME); a name that comes again starts the next record.
    pub labels: Vec<ValueLabel>,
    /// Texts that stand in one record each: records that were clicked.
    pub records: Vec<String>,
    /// How like a block a stretch must be to be a row; OLERA's θ, by default [`enclose::THRESHOLD`].
    pub threshold: Option<f64>,
    /// The rows outright, as the last resort.
    pub rows: Option<RowRule>,
    /// What was done to one of the candidates.
    pub finish: CandidateEdits,
}

/// How a block was enclosed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Block {
    /// By a text in it: one that runs over several elements is the block, a shorter one stands somewhere in it.
    Text(String),
    /// By a CSS selector: the first element that matches.
    Css(String),
    /// From the first node to the last, with what of their neighbours lies between.
    Nodes(NodeId, NodeId),
}

/// Help that does not fit the page.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelpError {
    #[error("“{0}” is not on the page; give a text as the page shows it, or the value of a link")]
    NotOnPage(String),
    #[error("nothing on the page matches `{0}`")]
    NoMatch(String),
    #[error(transparent)]
    Selector(#[from] SelectorError),
    #[error("there is no page to look at")]
    NoPage,
    #[error("`{0}` is not a regular expression that can be used")]
    Pattern(String),
    #[error("nothing in the rows matches `{0}`")]
    NoMatchInRows(String),
    #[error("there is no candidate {given}; the page has {most}")]
    NoCandidate { given: usize, most: usize },
    #[error("candidate {0} cannot be {1} any further")]
    NotPossible(usize, &'static str),
    #[error("there is no column `{0}`; there are: {1}")]
    NoColumn(String, String),
    #[error("`{0}` falls into one piece only; give another delimiter")]
    OnePiece(String),
}

impl HelpError {
    /// The same, where the candidate has another number for whoever asked.
    pub(super) fn with_candidate(self, given: usize) -> HelpError {
        match self {
            HelpError::NotPossible(_, done) => HelpError::NotPossible(given, done),
            error => error,
        }
    }
}

impl Help {
    pub fn is_empty(&self) -> bool {
        *self == Help::default()
    }

    /// Nothing was said of the page, only something done to one of the candidates.
    pub fn has_only_edits(&self) -> bool {
        Help { finish: CandidateEdits::default(), ..self.clone() }.is_empty()
    }

    /// Something was said of where the list is, so that the candidates have another order.
    fn locates_list(&self) -> bool {
        !self.enclosed.is_empty() || !self.labels.is_empty() || !self.records.is_empty()
    }
}

/// As [`learn`], with a person's help: what fits it best comes first. `Err` names the text that is not on the page.
/// A block that is enclosed on a further page is another format of the same list: a variant of the template.
pub fn learn_with(pages: &[Tree], options: &LearnOptions, help: &Help) -> Result<Vec<Candidate>, HelpError> {
    if help.is_empty() {
        return Ok(learn(pages, options));
    }
    let (first, further) = pages.split_first().ok_or(HelpError::NoPage)?;
    let view = PageView::new(first);
    let text = PageText::new(&view);
    let is_here = |block: &&Block| further.is_empty() || find_block(&text, block).is_ok();
    let (here, elsewhere): (Vec<&Block>, Vec<&Block>) = help.enclosed.iter().partition(is_here);
    if !elsewhere.is_empty()
        && elsewhere.len() == help.enclosed.len()
        && help.labels.is_empty()
        && help.records.is_empty()
    {
        return learn_with(further, options, help);
    }
    let enclosed: Vec<Block> = elsewhere.into_iter().cloned().collect();
    let other_format = Help { enclosed, threshold: help.threshold, ..Help::default() };
    let further_views: Vec<PageView<'_>> = further.iter().map(PageView::new).collect();
    let mut candidates = LocatedHelp::new(&text, help, &here)?.candidates(&further_views, options)?;
    if other_format.enclosed.is_empty() {
        return Ok(candidates);
    }
    let others = learn_with(further, options, &other_format)?;
    if let (Some(mine), Some(other)) = (candidates.first_mut(), others.first()) {
        enclose::join(&mut mine.template, &other.template);
        let columns = mine.template.columns().iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        mine.table.rows.iter_mut().for_each(|row| row.cells.resize(columns.len(), None));
        mine.table.columns = columns;
    }
    Ok(candidates)
}

/// Where the block, or the text in it, stands: at least one place.
fn find_block(text: &PageText<'_, '_>, block: &Block) -> Result<Vec<Span>, HelpError> {
    let view = text.view;
    let tree = view.tree();
    match block {
        Block::Text(wanted) => match text.positions(wanted) {
            places if places.is_empty() => Err(HelpError::NotOnPage(wanted.clone())),
            places => Ok(places),
        },
        Block::Css(css) => {
            let node = Selector::parse(css)?.first(tree, tree.root());
            let span = node.map(|node| view.span(node)).filter(|&span| view.tokens.weight(span) > 0);
            Ok(vec![span.ok_or_else(|| HelpError::NoMatch(css.clone()))?])
        }
        Block::Nodes(first, last) if last.index() < tree.len() && first.index() < tree.len() => {
            let (from, to) = (view.span(*first), view.span(*last));
            let part = Span { start: from.start.min(to.start), stop: from.stop.max(to.stop) };
            let is_shown = view.tokens.weight(part) > 0;
            is_shown.then(|| vec![enclose::block_around(view, part)]).ok_or_else(|| no_nodes(*first, *last))
        }
        Block::Nodes(first, last) => Err(no_nodes(*first, *last)),
    }
}

fn no_nodes(first: NodeId, last: NodeId) -> HelpError {
    HelpError::NoMatch(format!("nodes {} to {}", first.0, last.0))
}
mod labels;
