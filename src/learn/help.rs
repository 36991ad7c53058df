//! A person's help on a page (enclosed blocks, labels, clicked records, row rules, edits), and learning with it.

use serde::{Deserialize, Serialize};

use super::edits::CandidateEdits;
use super::enclose;
use super::find::PageView;
use super::label::{PageText, ValueLabel};
use super::row_rule::RowRule;
use super::{Candidate, LearnOptions, learn};
use crate::page::select::SelectorError;
use crate::page::tokens::Span;
use crate::page::{NodeId, Selector, Tree};
use labels::LocatedHelp;

/// Everything that a person said about a page. No help is `Help::default()`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Help {
    /// Rough blocks, one record each (OLERA). Blocks of different formats give several variants.
    pub enclosed: Vec<Block>,
    /// Named values of one or two records (PIEME). A repeated name starts the next record.
    pub labels: Vec<ValueLabel>,
    /// Texts that identify one record each: records that were clicked.
    pub records: Vec<String>,
    /// Minimum similarity of a row to a block: OLERA's θ, by default [`enclose::THRESHOLD`].
    pub threshold: Option<f64>,
    /// An explicit rule for the rows (CSS selector or regular expression), as a last resort.
    pub rows: Option<RowRule>,
    /// Edits of one of the candidates.
    pub finish: CandidateEdits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Block {
    /// By a text in it. A text that spans several elements is the block; a shorter one is somewhere inside it.
    Text(String),
    /// By a CSS selector: the first element that matches.
    Css(String),
    /// From the first node to the last, with everything between.
    Nodes(NodeId, NodeId),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelpError {
    #[error("“{0}” is not on the page; copy a text exactly as the page shows it, or the address of a link")]
    NotOnPage(String),
    #[error("nothing on the page matches `{0}`")]
    NoMatch(String),
    #[error(transparent)]
    Selector(#[from] SelectorError),
    #[error("no page was given")]
    NoPage,
    #[error("`{0}` is not a usable regular expression: it is invalid or too large")]
    Pattern(String),
    #[error("nothing in the rows matches `{0}`")]
    NoMatchInRows(String),
    #[error("there is no candidate {given}; the page has {most}")]
    NoCandidate { given: usize, most: usize },
    #[error("candidate {0} cannot be {1} any further")]
    NotPossible(usize, &'static str),
    #[error("there is no column `{0}`; the columns are {1}")]
    NoColumn(String, String),
    #[error("the delimiter does not split column `{0}`; give another one")]
    OnePiece(String),
}

impl HelpError {
    /// The same error with the candidate number that the caller used.
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

    /// Whether there are edits of a candidate and no other help.
    pub fn has_only_edits(&self) -> bool {
        Help { finish: CandidateEdits::default(), ..self.clone() }.is_empty()
    }

    /// Whether the help says where the list is, so that the candidates are ranked again.
    fn locates_list(&self) -> bool {
        !self.enclosed.is_empty() || !self.labels.is_empty() || !self.records.is_empty()
    }
}

/// Like [`learn`], with a person's help: candidates that agree with it come first. The error names the text that is not
/// on the page. A block that is enclosed on a further page is another format of the same list: a variant of the
/// template.
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

/// The positions of the block, or of the text in it; at least one.
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
