//! Learns the lists of a page: what the caller asks for, the row sets that become candidates, and the candidates.

use super::candidate::{Candidate, LearnedRows, candidate, learn_rows};
use super::exclusions::with_exclusions;
use crate::learn::rank::{RankedRowSet, measure_all, rank, select_candidates};
use crate::learn::rows::{cycles, repeats, row_sets};
use crate::learn::template::{Finder, Template};
use crate::learn::view::{Limit, PageView, PathInterner, text};
use crate::page::Tree;

/// The lists of the first page, best first. Pages after the first are further pages of the same kind.
pub fn learn(pages: &[Tree], options: &LearnOptions) -> Vec<Candidate> {
    let Some((first, further)) = pages.split_first() else { return Vec::new() };
    let view = PageView::new(first);
    let further: Vec<PageView<'_>> = further.iter().map(PageView::new).collect();
    let paths = &mut PathInterner::default();
    shown_row_sets(&view, options).into_iter().map(|it| candidate(None, &view, it, &further, paths)).collect()
}

/// The list that a run learns without a person.
pub struct UnattendedList {
    /// The template of the best candidate, if it is plausible.
    pub template: Option<Template>,
    /// The score is far enough ahead of the second to publish provisionally, before a person has confirmed it.
    pub clearly_ahead: bool,
    /// The limit that was reached: rows or values may be missing or wrong.
    pub limit: Option<Limit>,
}

/// As [`learn`], for the first candidate only and without its rows: a page of 100,000 rows is not held in memory five
/// times.
pub fn learn_unattended(page: &Tree) -> UnattendedList {
    let view = PageView::new(page);
    let mut shown = shown_row_sets(&view, &LearnOptions::default());
    let clearly_ahead = match shown.as_slice() {
        [] => false,
        [_] => true,
        [first, second, ..] => first.score - second.score >= CLEAR_LEAD,
    };
    shown.truncate(1);
    let Some(first) = shown.pop().filter(|it| is_plausible_at(it.score, it.set.finder)) else {
        return UnattendedList { template: None, clearly_ahead, limit: None };
    };
    let LearnedRows { template, .. } = learn_rows(&view, &first.set, &mut PathInterner::default());
    let limit = view.take_limit();
    let template = with_exclusions(&template, page, &first.set.rows);
    UnattendedList { template: Some(template), clearly_ahead, limit }
}

/// Minimum score lead of a list that is published provisionally. On 357 pages with a known list (corpus and its further
/// pages, drift series, other sites) the first candidate is right on 317; with a lead of 0.7 on 111 of 117, with 1.0 on
/// 89 of 90. The second is mostly another cut of the same list.
const CLEAR_LEAD: f64 = 1.0;

/// Does the page have any plausible list?
pub fn has_list(page: &Tree) -> bool {
    rank_tree_row_sets(&PageView::new(page), Method::Auto).first().is_some_and(|it| it.score >= PLAUSIBLE_SCORE)
}

/// Is the candidate good enough to be used without a person? A person is shown weaker ones too.
pub fn is_plausible(candidate: &Candidate) -> bool {
    candidate.template.variants.iter().all(|it| is_plausible_at(candidate.score, it.finder))
}

fn is_plausible_at(score: f64, finder: Finder) -> bool {
    // The token-based methods find repeats in random bytes too.
    score >= PLAUSIBLE_SCORE && !matches!(finder, Finder::Cycles | Finder::Repeats)
}

/// The row sets that would be shown, for `pieme explain`.
pub fn explain_rows(page: &Tree, options: &LearnOptions) -> Vec<(String, Vec<String>)> {
    let view = PageView::new(page);
    let describe = |it: RankedRowSet| {
        let features = format!("{:.3?}", it.features);
        let features = features.trim_start_matches("Features { ").trim_end_matches(" }");
        let head = format!("{} {} rows, score {:.2}: {features}", it.set.finder.name(), it.set.rows.len(), it.score);
        let rows = it.set.rows.iter().map(|&row| text(&view.tokens, row)).collect();
        (head, rows)
    };
    shown_row_sets(&view, options).into_iter().map(describe).collect()
}

#[derive(Clone, Debug)]
pub struct LearnOptions {
    /// Maximum number of candidates.
    pub top: usize,
    pub method: Method,
    /// The number of records, as a person said it: candidates with another count are ranked after those with it.
    pub rows: Option<usize>,
}

impl Default for LearnOptions {
    fn default() -> LearnOptions {
        LearnOptions { top: 5, method: Method::Auto, rows: None }
    }
}

/// The methods that may propose rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    #[default]
    Auto,
    /// Sibling elements only, one per record.
    Siblings,
    /// Shi et al.: token sequences that occur N times, in the paper's order.
    Cycles,
    /// IEPAD: tag patterns that occur at regular distances, best first.
    Repeats,
}

/// Minimum score of a plausible list. On the pages of `CLEAR_LEAD` the right first candidates score -2.5 and better.
/// Accidental two-row lists on detail pages score -5 and below. Pages that have lost their list score from -9 to -1.2,
/// so no threshold separates them from lists.
const PLAUSIBLE_SCORE: f64 = -3.2;

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
