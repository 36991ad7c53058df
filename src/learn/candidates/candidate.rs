//! One proposed list.

use super::from_rows::{count_further_page, learn_row_set_with_paths};
use crate::learn::rank::RankedRowSet;
use crate::learn::rows::RowSet;
use crate::learn::template::{RowRule, Template};
use crate::learn::view::{Limit, PageView, PathInterner};
use crate::model::Table;
use crate::page::encode::MAX_SYMBOLS;
use crate::page::tokens::Span;

/// One proposed list: its template and the rows of the first page, hidden columns included.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub method: &'static str,
    pub score: f64,
    pub template: Template,
    pub table: Table,
    /// The token span of each row on the page.
    pub row_spans: Vec<Span>,
    /// The limit that was reached: rows or values may be missing or wrong.
    pub limit: Option<Limit>,
}

/// The candidates of a page share one path interner.
pub fn candidate(
    view: &PageView<'_>,
    ranked: RankedRowSet,
    further: &[PageView<'_>],
    paths: &mut PathInterner,
) -> Candidate {
    candidate_with_rule(None, view, ranked, further, paths)
}

/// As [`candidate`], with a person's rule that finds the rows on further pages.
pub fn candidate_with_rule(
    rule: Option<RowRule>,
    view: &PageView<'_>,
    ranked: RankedRowSet,
    further: &[PageView<'_>],
    paths: &mut PathInterner,
) -> Candidate {
    // Discards a limit reached by the previous candidate.
    view.take_limit();
    let (mut template, table) = learn_row_set_with_paths(view, &ranked.set, paths);
    let limit = view.take_limit().or(symbol_limit(view, &ranked.set));
    template.variants[0].rule = rule;
    let template = further.iter().fold(template, |template, view| count_further_page(template, view));
    let RowSet { finder, rows: places, .. } = ranked.set;
    Candidate { method: finder.name(), score: ranked.score, template, table, row_spans: places, limit }
}

/// Token-based rows may continue beyond the symbols that the finders read.
fn symbol_limit(view: &PageView<'_>, set: &RowSet) -> Option<Limit> {
    (set.finder.is_token_based() && view.tokens.list.len() > MAX_SYMBOLS).then_some(Limit::Symbols)
}
