//! The rows that a person's rule finds on a page.

use std::collections::HashSet;

use super::adjust::apply_adjustments;
use super::dom::row_sets;
use super::lines::listing_lines;
use super::row_set::RowSet;
use crate::learn::template::{Finder, RowRule, compile_pattern};
use crate::learn::view::{PageView, text};
use crate::page::Selector;
use crate::page::tokens::Span;

/// The rows by selector or expression; `None` if the rule only adjusts a list.
pub fn rows_by_rule(rule: &RowRule, view: &PageView<'_>) -> Option<RowSet> {
    match rule {
        RowRule::Css(css) => Some(by_css(view, css)),
        RowRule::Pattern(text) => Some(by_line(view, text)),
        RowRule::Adjusted(_) => None,
    }
}

/// The automatically found row sets after the adjustments of a rule, where these are possible.
pub fn adjusted_row_sets(rule: &RowRule, view: &PageView<'_>) -> Option<Vec<Vec<Span>>> {
    let RowRule::Adjusted(steps) = rule else { return None };
    let mut seen = HashSet::new();
    let sets = row_sets(view).into_iter().filter_map(|set| Some(apply_adjustments(view, &set, steps).ok()?.0.rows));
    Some(sets.filter(|rows| seen.insert(rows.clone())).collect())
}

/// Of nested matches the outermost: a row contains no other row.
fn by_css(view: &PageView<'_>, css: &str) -> RowSet {
    let tree = view.tree();
    let nodes = Selector::parse(css).map(|selector| selector.all(tree, tree.root())).unwrap_or_default();
    let mut rows: Vec<Span> = Vec::new();
    for row in nodes.into_iter().map(|node| view.span(node)) {
        let inside = rows.last().is_some_and(|before| row.start < before.stop);
        if row.start < row.stop && !inside {
            rows.push(row);
        }
    }
    RowSet { finder: Finder::Grid, rows, rotation: 0.0 }
}

fn by_line(view: &PageView<'_>, expression: &str) -> RowSet {
    let lines = listing_lines(view).into_iter().filter(|&line| view.tokens.weight(line) > 0);
    let rows = match compile_pattern(expression) {
        Ok(pattern) => lines.filter(|&line| pattern.is_match(&text(&view.tokens, line))).collect(),
        Err(_) => Vec::new(),
    };
    RowSet { finder: Finder::Lines, rows, rotation: 0.0 }
}
