//! Aligned rows into the template's tree: the elements that hold the slots, and which of them are optional.

use std::collections::HashMap;

use super::align::Alignment;
use super::find::{RowSet, View};
use super::leaf::{Leaf, LeafKind, Paths};
use super::template::{Element, Part, Slot, Variant};
use crate::page::NodeId;
use crate::page::tokens::Span;

/// A part in fewer rows than this share of its surroundings is optional.
const ALWAYS: f64 = 0.98;
/// A class belongs to the row's element when this share of the rows has it.
const ROOT_CLASS: f64 = 0.6;
/// Rows looked at to see which slots stand in the same element.
const MAX_LOOKED_AT: usize = 40;

/// The variant that these rows make; its sources are filled in by `columns`.
pub fn variant(view: &View<'_>, set: &RowSet, rows: &[Vec<Leaf>], alignment: &Alignment, paths: &Paths) -> Variant {
    let slots: Vec<Slot> = alignment
        .columns
        .iter()
        .enumerate()
        .map(|(j, column)| {
            let values =
                rows.iter().zip(&alignment.cells).filter_map(|(row, cells)| Some(row[cells[j]?].value.as_str()));
            column.to_slot(paths, values)
        })
        .collect();
    let mut builder = Builder {
        steps: alignment.columns.iter().map(|column| steps(&paths.print(column.main_class_path()))).collect(),
        together: together(view, set, rows, alignment),
        slots: &slots,
        rows: set.rows.len() as f64,
    };
    if let Some(classes) = root_classes(view, &set.rows) {
        for first in builder.steps.iter_mut().filter_map(|steps| steps.first_mut()) {
            first.1.clone_from(&classes);
        }
    }
    let parts = builder.parts(0, slots.len(), 0, 1.0);
    let sources = Vec::new();
    Variant { finder: set.finder, rows: set.rows.len() as u32, floor: 0.5, parts, slots, sources }
}

struct Builder<'a> {
    /// Of each slot: tag and classes of the elements down to it.
    steps: Vec<Vec<(String, Vec<String>)>>,
    /// Of each slot: how many elements it shares with the slot before it.
    together: Vec<usize>,
    slots: &'a [Slot],
    rows: f64,
}

impl Builder<'_> {
    /// The parts of slots `from..to` that stand `depth` elements down.
    fn parts(&self, from: usize, to: usize, depth: usize, presence: f64) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut at = from;
        while at < to {
            if self.steps[at].len() <= depth {
                // An attribute of the element above is that element's business.
                if self.slots[at].kind == LeafKind::Text {
                    parts.push(self.optional(Part::Slot(at), self.presence(at, at + 1), presence));
                }
                at += 1;
                continue;
            }
            let mut stop = at + 1;
            while stop < to && self.together[stop] > depth && self.same_start(stop - 1, stop, depth) {
                stop += 1;
            }
            let own = self.presence(at, stop);
            let (tag, classes) = self.steps[at][depth].clone();
            let is_attribute =
                |&slot: &usize| self.slots[slot].kind != LeafKind::Text && self.steps[slot].len() == depth + 1;
            let attributes: Vec<usize> = (at..stop).filter(is_attribute).collect();
            let inside = self.parts(at, stop, depth + 1, own);
            parts.push(self.optional(
                Part::Element(Element { tag, classes, attributes, parts: inside }),
                own,
                presence,
            ));
            at = stop;
        }
        parts
    }

    fn presence(&self, from: usize, to: usize) -> f64 {
        let most = self.slots[from..to].iter().map(|slot| slot.count).max().unwrap_or(0);
        f64::from(most) / self.rows.max(1.0)
    }

    fn optional(&self, part: Part, own: f64, around: f64) -> Part {
        if own < ALWAYS * around { Part::Optional(vec![part]) } else { part }
    }

    fn same_start(&self, a: usize, b: usize, depth: usize) -> bool {
        let tags = |slot: usize| self.steps[slot].get(..=depth).map(|steps| steps.iter().map(|(tag, _)| tag));
        match (tags(a), tags(b)) {
            (Some(a), Some(b)) => a.eq(b),
            _ => false,
        }
    }
}

/// `li/a.big.red` as tags and classes.
fn steps(class_path: &str) -> Vec<(String, Vec<String>)> {
    class_path
        .split('/')
        .filter(|step| !step.is_empty())
        .map(|step| {
            let mut names = step.split('.').map(str::to_owned);
            (names.next().unwrap_or_default(), names.filter(|name| !name.is_empty()).collect())
        })
        .collect()
}

/// Of each slot: how many elements of the row it shares with the slot before it, in most rows that have both.
fn together(view: &View<'_>, set: &RowSet, rows: &[Vec<Leaf>], alignment: &Alignment) -> Vec<usize> {
    let mut together = vec![0; alignment.columns.len()];
    for j in 1..together.len() {
        let mut votes: HashMap<usize, usize> = HashMap::new();
        let both = set
            .rows
            .iter()
            .zip(rows)
            .zip(&alignment.cells)
            .filter_map(|((&span, row), cells)| Some((span, row[cells[j - 1]?].holder, row[cells[j]?].holder)));
        for (span, a, b) in both.take(MAX_LOOKED_AT) {
            *votes.entry(shared(view, span, a, b)).or_default() += 1;
        }
        let best = votes.into_iter().max_by_key(|&(depth, count)| (count, depth));
        // Never seen together: as far as their paths agree, which `same_start` looks at.
        together[j] = best.map_or(usize::MAX, |(depth, _)| depth);
    }
    together
}

/// How many elements inside the row hold both nodes.
fn shared(view: &View<'_>, row: Span, a: NodeId, b: NodeId) -> usize {
    let tree = view.tree();
    let in_row = |node: &NodeId| {
        let span = view.span(*node);
        // A page of one row is as long as the row.
        tree.element(*node).is_some() && row.start <= span.start && span.stop <= row.stop
    };
    let above = |node: NodeId| std::iter::once(node).chain(tree.ancestors(node)).take_while(in_row);
    above(a).filter(|&node| tree.contains(node, b)).count()
}

/// The classes most rows' elements share, where each row is one element.
fn root_classes(view: &View<'_>, rows: &[Span]) -> Option<Vec<String>> {
    let tree = view.tree();
    let mut order: Vec<&str> = Vec::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for &row in rows {
        let root = view.tokens.list[row.start as usize].node;
        if view.span(root) != row {
            return None;
        }
        for class in tree.classes(root) {
            let count = counts.entry(class).or_default();
            if *count == 0 {
                order.push(class);
            }
            *count += 1;
        }
    }
    order.retain(|class| counts[class] as f64 >= ROOT_CLASS * rows.len() as f64);
    Some(order.into_iter().map(str::to_owned).collect())
}
