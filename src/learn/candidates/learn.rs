//! Learns the lists of a page.

use super::candidate::{Candidate, candidate};
use super::from_rows::{LearnedRows, learn_rows};
use super::options::{LearnOptions, Method};
use super::row_sets::{PLAUSIBLE_SCORE, rank_tree_row_sets, shown_row_sets};
use crate::learn::rank::RankedRowSet;
use crate::learn::template::{Finder, Template};
use crate::learn::view::{Limit, PageView, PathInterner, text};
use crate::page::Tree;

/// The lists of the first page, best first. Pages after the first are further pages of the same kind.
pub fn learn(pages: &[Tree], options: &LearnOptions) -> Vec<Candidate> {
    let Some((first, further)) = pages.split_first() else { return Vec::new() };
    let view = PageView::new(first);
    let further: Vec<PageView<'_>> = further.iter().map(PageView::new).collect();
    let paths = &mut PathInterner::default();
    shown_row_sets(&view, options).into_iter().map(|it| candidate(&view, it, &further, paths)).collect()
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
    UnattendedList { template: Some(template), clearly_ahead, limit: view.take_limit() }
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
