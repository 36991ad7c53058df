//! Row sets: each finder proposes the rows of lists. None of them ranks (see `rank/`).

mod adjust;
pub mod cycles;
pub mod details;
mod grids;
mod groups;
mod lines;
mod pattern;
pub mod repeats;
mod row_set;
mod siblings;

pub use adjust::{adjusted_row_sets, apply_adjustments, rows_by_rule};
pub use row_set::{MIN_COVERAGE, RowSet, without_overlaps};

use crate::learn::view::PageView;
use crate::page::NodeId;
use crate::page::tokens::Span;
use row_set::RowSetCollector;

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

#[cfg(test)]
mod tests;
