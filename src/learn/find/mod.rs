//! Finders: each proposes row sets of a page. None of them ranks (see `rank.rs`).

pub mod cycles;
pub mod details;
mod grids;
mod groups;
mod lines;
mod pattern;
pub mod repeats;
pub mod shape;
mod siblings;
mod suffixes;

pub use lines::lines as listing_lines;
pub use shape::PageView;

use foldhash::{HashSet, HashSetExt};

use crate::page::NodeId;
use crate::page::tokens::Span;

/// One proposal of the rows of a list, in page order. A row is a run of consecutive siblings or of lines; for
/// token-based finders it is any span of tokens.
#[derive(Clone, Debug)]
pub struct RowSet {
    pub finder: Finder,
    pub rows: Vec<Span>,
    /// How likely the rows are shifted against the records; 0 is not at all. Only groups and multi-line records have
    /// it.
    pub rotation: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finder {
    /// One sibling a record.
    Siblings,
    /// Several siblings a record.
    Groups,
    /// Records under several parents.
    Grid,
    /// Lines of a `<pre>`.
    Lines,
    /// From one occurrence of a token sequence to the next (Shi et al.).
    Cycles,
    /// Occurrences of a tag pattern (IEPAD).
    Repeats,
    /// Segmented with the help of detail pages (Lerman et al.).
    Details,
    /// A page that is one record: the part of it that differs from page to page.
    Page,
}

impl Finder {
    const ALL: [Finder; 8] = [
        Finder::Siblings,
        Finder::Groups,
        Finder::Grid,
        Finder::Lines,
        Finder::Cycles,
        Finder::Repeats,
        Finder::Details,
        Finder::Page,
    ];

    pub fn from_name(name: &str) -> Option<Finder> {
        Finder::ALL.into_iter().find(|finder| finder.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Finder::Siblings => "siblings",
            Finder::Groups => "groups",
            Finder::Grid => "grid",
            Finder::Lines => "lines",
            Finder::Cycles => "cycles",
            Finder::Repeats => "repeats",
            Finder::Details => "details",
            Finder::Page => "page",
        }
    }

    /// Whether rows are spans of tokens that need not be elements.
    pub fn is_token_based(self) -> bool {
        matches!(self, Finder::Cycles | Finder::Repeats | Finder::Details)
    }
}

/// Minimum share of the page's text. Below it a page has thousands of inner lists (docs/design/learning.md 2.2, 7).
pub const MIN_COVERAGE: f64 = 0.01;

/// All row sets of the DOM finders. Each has at least two rows, every row has text, and no set occurs twice.
pub fn row_sets(view: &PageView<'_>) -> Vec<RowSet> {
    let mut found = RowSetCollector::new(view);
    let tree = view.tree();
    for parent in tree.subtree(tree.root()) {
        let span = view.span(parent);
        if tree.element(parent).is_none() || f64::from(view.tokens.weight(span)) < found.min_weight {
            continue;
        }
        let items = siblings::Items::of(view, parent);
        if items.nodes.len() >= 2 {
            siblings::find(view, &items, &mut found);
            groups::find(view, &items, &mut found);
        }
    }
    grids::find(view, &mut found);
    lines::find(view, &mut found);
    found.sets
}

/// Row sets under one parent whose records consist of several siblings.
pub fn groups_under(view: &PageView<'_>, parent: NodeId) -> Vec<Vec<Span>> {
    let mut found = RowSetCollector::new(view);
    groups::find(view, &siblings::Items::of(view, parent), &mut found);
    found.sets.into_iter().map(|set| set.rows).collect()
}

/// Collects row sets. Drops duplicates, sets of fewer than two rows and sets with too little text.
struct RowSetCollector<'v, 't> {
    view: &'v PageView<'t>,
    min_weight: f64,
    sets: Vec<RowSet>,
    /// Fingerprints of the collected sets, to find duplicates.
    fingerprints: HashSet<u64>,
}

impl<'v, 't> RowSetCollector<'v, 't> {
    fn new(view: &'v PageView<'t>) -> RowSetCollector<'v, 't> {
        let page_weight = view.tokens.weight(view.tokens.all());
        let min_weight = (f64::from(page_weight) * MIN_COVERAGE).max(1.0);
        RowSetCollector { view, min_weight, sets: Vec::new(), fingerprints: HashSet::new() }
    }

    fn add(&mut self, finder: Finder, rows: impl IntoIterator<Item = Span>, rotation: f64) {
        let rows: Vec<Span> = rows.into_iter().filter(|&row| self.view.tokens.weight(row) > 0).collect();
        let weight: u32 = rows.iter().map(|&row| self.view.tokens.weight(row)).sum();
        let ends = rows.iter().map(|row| u64::from(row.start) << 32 | u64::from(row.stop));
        if rows.len() >= 2 && f64::from(weight) >= self.min_weight && self.fingerprints.insert(fingerprint(ends)) {
            self.sets.push(RowSet { finder, rows, rotation });
        }
    }
}

/// Equal for equal numbers in equal order. Sets of 60,000 rows are proposed many times, so only a hash of each is kept.
fn fingerprint(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, |print: u64, number| (print ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

#[cfg(test)]
mod tests;
