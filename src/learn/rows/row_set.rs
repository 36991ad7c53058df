//! One proposal of the rows of a list, and the collector of all proposals.

use std::collections::BTreeMap;

use foldhash::{HashSet, HashSetExt};

use crate::learn::template::Finder;
use crate::learn::view::PageView;
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

/// Minimum share of the page's text. Below it a page has thousands of inner lists (docs/design/learning.md 2.2, 7).
pub const MIN_COVERAGE: f64 = 0.01;

/// Collects row sets. Drops duplicates, sets of fewer than two rows and sets with too little text.
pub struct RowSetCollector<'v, 't> {
    view: &'v PageView<'t>,
    pub min_weight: f64,
    pub sets: Vec<RowSet>,
    /// Fingerprints of the collected sets, to find duplicates.
    fingerprints: HashSet<u64>,
}

impl<'v, 't> RowSetCollector<'v, 't> {
    pub fn new(view: &'v PageView<'t>) -> RowSetCollector<'v, 't> {
        let page_weight = view.tokens.weight(view.tokens.all());
        let min_weight = (f64::from(page_weight) * MIN_COVERAGE).max(1.0);
        RowSetCollector { view, min_weight, sets: Vec::new(), fingerprints: HashSet::new() }
    }

    pub fn add(&mut self, finder: Finder, rows: impl IntoIterator<Item = Span>, rotation: f64) {
        let rows: Vec<Span> = rows.into_iter().filter(|&row| self.view.tokens.weight(row) > 0).collect();
        let weight: u32 = rows.iter().map(|&row| self.view.tokens.weight(row)).sum();
        let ends = rows.iter().map(|row| u64::from(row.start) << 32 | u64::from(row.stop));
        if rows.len() >= 2 && f64::from(weight) >= self.min_weight && self.fingerprints.insert(fingerprint(ends)) {
            self.sets.push(RowSet { finder, rows, rotation });
        }
    }
}

/// Equal for equal numbers in equal order. Sets of 60,000 rows are proposed many times, so only a hash of each is kept.
pub fn fingerprint(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, |print: u64, number| (print ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

/// Of rows in order of preference, those that overlap no earlier one. The result is in page order.
pub fn without_overlaps(rows: impl IntoIterator<Item = Span>) -> Vec<Span> {
    let mut kept: BTreeMap<u32, Span> = BTreeMap::new();
    for row in rows {
        // Kept rows do not overlap, so only the last one that starts before this row's end can overlap it.
        if kept.range(..row.stop).next_back().is_none_or(|(_, before)| before.stop <= row.start) {
            kept.insert(row.start, row);
        }
    }
    kept.into_values().collect()
}
