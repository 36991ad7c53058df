//! The row sets that become candidates, best first.

use super::options::{LearnOptions, Method};
use crate::learn::rank::{RankedRowSet, measure_all, rank, select_candidates};
use crate::learn::rows::{cycles, repeats, row_sets};
use crate::learn::template::Finder;
use crate::learn::view::PageView;

/// Minimum score of a plausible list. On the pages of `CLEAR_LEAD` the right first candidates score -2.5 and better.
/// Accidental two-row lists on detail pages score -5 and below. Pages that have lost their list score from -9 to -1.2,
/// so no threshold separates them from lists.
pub const PLAUSIBLE_SCORE: f64 = -3.2;

pub fn shown_row_sets(view: &PageView<'_>, options: &LearnOptions) -> Vec<RankedRowSet> {
    let mut ranked = match options.method {
        Method::Auto => with_token_row_sets(view, rank_tree_row_sets(view, Method::Auto)),
        Method::Siblings => rank_tree_row_sets(view, Method::Siblings),
        Method::Cycles => measure_all(view, cycles::find(view, options.rows)),
        Method::Repeats => measure_all(view, repeats::find(view)),
    };
    if let Some(wanted) = options.rows {
        // The sort is stable: both halves stay ordered by score.
        ranked.sort_by_key(|it| it.set.rows.len().abs_diff(wanted) > 0);
    }
    match options.method {
        Method::Auto | Method::Siblings => select_candidates(&view.tokens, ranked, options.top),
        // The paper's own order; our score is only reported.
        Method::Cycles | Method::Repeats => ranked.into_iter().take(options.top).collect(),
    }
}

pub fn rank_tree_row_sets(view: &PageView<'_>, method: Method) -> Vec<RankedRowSet> {
    let mut sets = row_sets(view);
    if method == Method::Siblings {
        sets.retain(|set| set.finder == Finder::Siblings);
    }
    rank(view, sets)
}

/// Penalty for token repeats: rotated rows score nearly as well as right ones (docs/design/learning.md 1, 2.3).
pub const TOKEN_REPEAT_PENALTY: f64 = 1.5;

/// Adds token-based row sets if the tree-based ones contain no plausible list.
pub fn with_token_row_sets(view: &PageView<'_>, mut ranked: Vec<RankedRowSet>) -> Vec<RankedRowSet> {
    if ranked.first().is_some_and(|it| it.score >= PLAUSIBLE_SCORE) {
        return ranked;
    }
    let mut sets = repeats::find(view);
    sets.extend(cycles::find(view, None));
    for mut it in measure_all(view, sets) {
        it.score -= TOKEN_REPEAT_PENALTY;
        ranked.push(it);
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}
