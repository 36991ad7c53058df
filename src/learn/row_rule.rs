//! A person's rule for finding the rows: CSS selector, regular expression or adjustments. Stored in the template, so
//! that it holds for further pages.

use std::collections::HashSet;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::adjust::{RowAdjustment, apply_adjustments};
use super::find::{Finder, PageView, RowSet, listing_lines, row_sets};
use super::leaf::text;
use crate::page::Selector;
use crate::page::tokens::Span;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowRule {
    /// The elements that match this selector.
    Css(String),
    /// The lines of a listing that match this regular expression.
    Pattern(String),
    /// A list found automatically, after these adjustments.
    Adjusted(Vec<RowAdjustment>),
}

/// Maximum compiled size of an expression: nested counted repetitions are refused.
const MAX_PATTERN: usize = 1 << 20;

/// A person's regular expression, compiled within bounds. Matching is linear in the text.
pub fn compile_pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(MAX_PATTERN).build()
}

impl RowRule {
    /// Is the selector or expression valid?
    pub fn is_readable(&self) -> bool {
        match self {
            RowRule::Css(css) => Selector::parse(css).is_ok(),
            RowRule::Pattern(text) => compile_pattern(text).is_ok(),
            RowRule::Adjusted(_) => true,
        }
    }

    /// The rows by selector or expression; `None` if the rule only adjusts a list.
    pub fn rows(&self, view: &PageView<'_>) -> Option<RowSet> {
        match self {
            RowRule::Css(css) => Some(by_css(view, css)),
            RowRule::Pattern(text) => Some(by_line(view, text)),
            RowRule::Adjusted(_) => None,
        }
    }

    /// The automatically found row sets after the adjustments, where these are possible.
    pub fn adjusted_row_sets(&self, view: &PageView<'_>) -> Option<Vec<Vec<Span>>> {
        let RowRule::Adjusted(steps) = self else { return None };
        let mut seen = HashSet::new();
        let sets = row_sets(view).into_iter().filter_map(|set| Some(apply_adjustments(view, &set, steps).ok()?.0.rows));
        Some(sets.filter(|rows| seen.insert(rows.clone())).collect())
    }
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
