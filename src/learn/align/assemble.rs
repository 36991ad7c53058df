//! Assembles the template's tree from aligned rows: the elements that contain the slots, optional parts and choices.

use super::alignment::Alignment;
use crate::learn::rows::RowSet;
use crate::learn::template::{Exclusions, RowPart, Slot, TemplateElement, TrainingFit, Variant, slots_used};
use crate::learn::view::{Leaf, LeafKind, PageView, PathId, PathInterner, count_keys, grouped, sample};
use crate::page::NodeId;
use crate::page::tokens::Span;

/// A part in fewer rows than this share of its surroundings is optional.
const MANDATORY_SHARE: f64 = 0.98;
/// Minimum share of the rows for a class to be part of the row's element.
const ROOT_CLASS: f64 = 0.6;
/// Rows sampled to see which slots share an element.
const MAX_SAMPLED_ROWS: usize = 40;

/// The variant learned from these rows. `columns` adds its sources.
pub fn variant(
    view: &PageView<'_>,
    set: &RowSet,
    rows: &[Vec<Leaf>],
    alignment: &Alignment,
    repeats: &[PathId],
    paths: &PathInterner,
) -> Variant {
    let slots: Vec<Slot> = alignment.slots(rows, paths);
    let mut builder = PartsBuilder {
        steps: alignment.columns.iter().map(|column| steps(&paths.path_text(column.main_class_path()))).collect(),
        shared_depths: shared_depths(view, set, rows, alignment),
        repeats: repeats.iter().map(|&path| paths.steps(path).into_iter().map(str::to_owned).collect()).collect(),
        present: presence_bits(alignment),
        slots: &slots,
        rows: set.rows.len() as f64,
    };
    if let Some(classes) = root_classes(view, &set.rows) {
        for first in builder.steps.iter_mut().filter_map(|steps| steps.first_mut()) {
            first.1.clone_from(&classes);
        }
    }
    let parts = builder.parts(0, slots.len(), 0, 1.0);
    Variant {
        finder: set.finder,
        rows: set.rows.len() as u32,
        floor: 0.5,
        own: TrainingFit::default(),
        header: Vec::new(),
        table: Vec::new(),
        repeats: repeats.iter().map(|&path| paths.path_text(path)).collect(),
        parts,
        slots,
        sources: Vec::new(),
        rule: None,
        exclusions: Exclusions::default(),
        superseded: false,
    }
}

struct PartsBuilder<'a> {
    /// For each slot: tag and classes of the elements on its path.
    steps: Vec<Vec<(String, Vec<String>)>>,
    /// For each slot: how many elements it shares with the previous slot.
    shared_depths: Vec<usize>,
    /// Tag paths of the elements that repeat inside the row.
    repeats: Vec<Vec<String>>,
    /// For each slot: the sampled rows that have it.
    present: Vec<RowBits>,
    slots: &'a [Slot],
    rows: f64,
}

impl PartsBuilder<'_> {
    /// The parts of slots `from..to` at this depth.
    fn parts(&self, from: usize, to: usize, depth: usize, presence: f64) -> Vec<RowPart> {
        let mut parts = Vec::new();
        let mut at = from;
        while at < to {
            if self.steps[at].len() <= depth {
                // Attributes belong to the element above.
                if self.slots[at].kind == LeafKind::Text {
                    parts.push(self.optional(RowPart::Slot(at), self.presence(at, at + 1), presence));
                }
                at += 1;
                continue;
            }
            let mut stop = at + 1;
            while stop < to && self.shared_depths[stop] > depth && self.same_start(stop - 1, stop, depth) {
                stop += 1;
            }
            let own = self.presence(at, stop);
            let (tag, classes) = self.steps[at][depth].clone();
            let is_attribute =
                |&slot: &usize| self.slots[slot].kind != LeafKind::Text && self.steps[slot].len() == depth + 1;
            let attributes: Vec<usize> = (at..stop).filter(is_attribute).collect();
            let inside = self.parts(at, stop, depth + 1, own);
            let mut part = RowPart::Element(TemplateElement { tag, classes, attributes, parts: inside });
            if self.is_repeat(at, depth) {
                part = RowPart::Repeat(vec![part]);
            }
            parts.push(self.optional(part, own, presence));
            at = stop;
        }
        self.choices(parts)
    }

    fn is_repeat(&self, slot: usize, depth: usize) -> bool {
        let tags = || self.steps[slot][..=depth].iter().map(|(tag, _)| tag);
        self.repeats.iter().any(|repeat| tags().eq(repeat))
    }

    /// Merges mutually exclusive neighbours into a choice: a price, or “sold”.
    fn choices(&self, parts: Vec<RowPart>) -> Vec<RowPart> {
        let all = parts.iter().fold(0, |rows, part| rows | self.rows_with(part));
        let mut out: Vec<RowPart> = Vec::new();
        let mut seen: RowBits = 0;
        for part in parts {
            let rows = self.rows_with(&part);
            let excludes = seen & rows == 0
                && seen.count_ones() >= MIN_ROWS_PER_CHOICE
                && rows.count_ones() >= MIN_ROWS_PER_CHOICE;
            match (out.last_mut(), part) {
                (Some(RowPart::Optional(before)), RowPart::Optional(mut part)) if excludes => {
                    match before.as_mut_slice() {
                        [RowPart::Choice(choices)] => choices.push(part),
                        _ => {
                            let first = std::mem::take(before);
                            *before = vec![RowPart::Choice(vec![first, std::mem::take(&mut part)])];
                        }
                    }
                    seen |= rows;
                }
                (_, part) => {
                    out.push(part);
                    seen = rows;
                }
            }
        }
        // Every row has one of the alternatives, so the choice is not optional.
        let settled = |part: RowPart| match part {
            RowPart::Optional(mut inner)
                if matches!(inner[..], [RowPart::Choice(_)]) && self.rows_with(&inner[0]) == all =>
            {
                inner.remove(0)
            }
            part => part,
        };
        out.into_iter().map(settled).collect()
    }

    fn rows_with(&self, part: &RowPart) -> RowBits {
        slots_used(std::slice::from_ref(part)).into_iter().fold(0, |rows, slot| rows | self.present[slot])
    }

    fn presence(&self, from: usize, to: usize) -> f64 {
        let most = self.slots[from..to].iter().map(|slot| slot.count).max().unwrap_or(0);
        f64::from(most) / self.rows.max(1.0)
    }

    fn optional(&self, part: RowPart, own: f64, around: f64) -> RowPart {
        if own < MANDATORY_SHARE * around { RowPart::Optional(vec![part]) } else { part }
    }

    fn same_start(&self, a: usize, b: usize, depth: usize) -> bool {
        let tags = |slot: usize| self.steps[slot].get(..=depth).map(|steps| steps.iter().map(|(tag, _)| tag));
        match (tags(a), tags(b)) {
            (Some(a), Some(b)) => a.eq(b),
            _ => false,
        }
    }
}

/// A set of rows, one bit each.
type RowBits = u64;

/// Minimum rows for each alternative of a choice.
const MIN_ROWS_PER_CHOICE: u32 = 2;

fn presence_bits(alignment: &Alignment) -> Vec<RowBits> {
    let rows = sample(&alignment.cells.iter().collect::<Vec<_>>());
    let has = |slot: usize| {
        let bits = rows.iter().enumerate().filter(|(_, cells)| cells[slot].is_some()).map(|(i, _)| i % 64);
        bits.fold(0, |rows: RowBits, bit| rows | 1 << bit)
    };
    (0..alignment.columns.len()).map(has).collect()
}

/// Parses `li/a.big.red` into tags and classes.
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

/// For each slot: how many elements it shares with the previous slot, in most rows that have both.
fn shared_depths(view: &PageView<'_>, set: &RowSet, rows: &[Vec<Leaf>], alignment: &Alignment) -> Vec<usize> {
    let mut together = vec![0; alignment.columns.len()];
    for j in 1..together.len() {
        let both = set
            .rows
            .iter()
            .zip(rows)
            .zip(&alignment.cells)
            .filter_map(|((&span, row), cells)| Some((span, row[cells[j - 1]?].holder, row[cells[j]?].holder)));
        let depths = both.take(MAX_SAMPLED_ROWS).map(|(span, a, b)| shared_depth(view, span, a, b));
        let best = count_keys(depths).into_iter().max_by_key(|&(depth, count)| (count, depth));
        // Never in one row together: the common prefix of the paths decides.
        together[j] = best.map_or(usize::MAX, |(depth, _)| depth);
    }
    together
}

/// How many elements of the row contain both nodes.
fn shared_depth(view: &PageView<'_>, row: Span, a: NodeId, b: NodeId) -> usize {
    let tree = view.tree();
    let in_row = |node: &NodeId| {
        let span = view.span(*node);
        // On a page of one row the document has the same span as the row; it is not an element.
        tree.element(*node).is_some() && row.start <= span.start && span.stop <= row.stop
    };
    let above = |node: NodeId| std::iter::once(node).chain(tree.ancestors(node)).take_while(in_row);
    above(a).filter(|&node| tree.contains(node, b)).count()
}

/// The classes that most rows share; `None` unless each row is one element.
fn root_classes(view: &PageView<'_>, rows: &[Span]) -> Option<Vec<String>> {
    let tree = view.tree();
    let roots: Vec<NodeId> = rows.iter().map(|&row| view.root(row)).collect::<Option<_>>()?;
    let groups = grouped(roots.iter().flat_map(|&root| tree.classes(root)).map(|class| (class, class)));
    let shared = groups.iter().filter(|group| group.len() as f64 >= ROOT_CLASS * rows.len() as f64);
    Some(shared.map(|group| group[0].to_owned()).collect())
}
