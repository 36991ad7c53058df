//! Rows by a person's rule: selected, or adjusted: wider, narrower, or shifted by one item (IEPAD's rotation).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::lines::listing_lines;
use super::row_set::RowSet;
use super::row_sets;
use crate::learn::template::{Finder, RowAdjustment, RowRule, compile_pattern};
use crate::learn::view::{PageView, text};
use crate::page::tokens::Span;
use crate::page::{NodeId, Selector};

/// The adjusted rows and the concrete steps taken; the error is the step that is not possible.
pub fn apply_adjustments(
    view: &PageView<'_>,
    set: &RowSet,
    steps: &[RowAdjustment],
) -> Result<(RowSet, Vec<RowAdjustment>), RowAdjustment> {
    let mut set = set.clone();
    let mut taken = Vec::new();
    for step in steps {
        let ways = step.concrete_steps().iter();
        let (way, next) =
            ways.filter_map(|&way| Some((way, apply_adjustment(view, &set, way)?))).next().ok_or(*step)?;
        taken.push(way);
        set = next;
    }
    Ok((set, taken))
}

/// Minimum share of the rows that a step must change: the first or the last row often has no sibling to add.
const MIN_CHANGED_SHARE: f64 = 0.5;

/// Applies one concrete step; `None` if it is not possible or changes nothing.
fn apply_adjustment(view: &PageView<'_>, set: &RowSet, step: RowAdjustment) -> Option<RowSet> {
    match step {
        RowAdjustment::WidenUp => widen_to_parents(view, set),
        RowAdjustment::NarrowDown => narrow_to_children(view, set),
        RowAdjustment::WidenNext => shift_boundaries(view, set, step, (0, 1)),
        RowAdjustment::WidenPrevious => shift_boundaries(view, set, step, (-1, 0)),
        RowAdjustment::NarrowFirst => shift_boundaries(view, set, step, (1, 0)),
        RowAdjustment::NarrowLast => shift_boundaries(view, set, step, (0, -1)),
        RowAdjustment::Rotate => shift_boundaries(view, set, step, (1, 1)),
        RowAdjustment::RotateBack => shift_boundaries(view, set, step, (-1, -1)),
        RowAdjustment::Widen | RowAdjustment::Narrow => None,
    }
}

/// The parents of the rows, if no two rows share one.
fn widen_to_parents(view: &PageView<'_>, set: &RowSet) -> Option<RowSet> {
    let tree = view.tree();
    if set.finder.is_token_based() || set.finder == Finder::Lines {
        return None;
    }
    let above: Vec<NodeId> = set.rows.iter().map(|&row| tree.parent(view.first_node(row))).collect::<Option<_>>()?;
    let is_page = |node: &NodeId| matches!(tree.tag(*node), "" | "html" | "body");
    let apart = above.windows(2).all(|pair| pair[0] < pair[1] && !tree.contains(pair[0], pair[1]));
    let is_possible = apart && !above.iter().any(is_page);
    is_possible.then(|| row_set_of(view, &above))
}

/// The child element (by tag and ordinal) with most of the text, if most rows have it; rows without it are dropped.
fn narrow_to_children(view: &PageView<'_>, set: &RowSet) -> Option<RowSet> {
    let element = |&row: &Span| view.root(row).filter(|&root| view.tree().element(root).is_some());
    let roots: Vec<NodeId> = set.rows.iter().map(element).collect::<Option<_>>()?;
    // By tag and ordinal among the children of that tag: the child of each row, and their total weight.
    let mut kinds: BTreeMap<(u32, usize), (Vec<NodeId>, u32)> = BTreeMap::new();
    for &root in &roots {
        let mut before: HashMap<u32, usize> = HashMap::new();
        for child in view.items(root).filter(|&child| view.tree().element(child).is_some()) {
            let nth = before.entry(view.tag(child)).or_default();
            let (children, weight) = kinds.entry((view.tag(child), *nth)).or_default();
            *nth += 1;
            children.push(child);
            *weight += view.tokens.weight(view.span(child));
        }
    }
    kinds.retain(|_, (children, _)| children.len() as f64 >= MIN_CHANGED_SHARE * roots.len() as f64);
    let (children, weight) = kinds.into_values().max_by_key(|(children, weight)| (*weight, children.len()))?;
    (weight > 0).then(|| row_set_of(view, &children))
}

fn row_set_of(view: &PageView<'_>, nodes: &[NodeId]) -> RowSet {
    let parents: HashSet<Option<NodeId>> = nodes.iter().map(|&node| view.tree().parent(node)).collect();
    let finder = if parents.len() == 1 { Finder::Siblings } else { Finder::Grid };
    let rows = nodes.iter().map(|&node| view.span(node)).filter(|&row| view.tokens.weight(row) > 0).collect();
    RowSet { finder, rows, rotation: 0.0 }
}

/// Moves the starts and stops of the rows by at most one item.
fn shift_boundaries(
    view: &PageView<'_>,
    set: &RowSet,
    step: RowAdjustment,
    (at_start, at_stop): (isize, isize),
) -> Option<RowSet> {
    let places = ItemRanges::of(view, set)?;
    let is_rotation = at_start == at_stop;
    if is_rotation && places.rows.iter().all(|place| place.stop - place.first == 1) {
        return None;
    }
    let mut rows = Vec::new();
    let mut changed = 0;
    for (i, place) in places.rows.iter().enumerate() {
        let items = &places.items[place.list];
        let first = place.first.saturating_add_signed(at_start);
        let stop = place.stop.saturating_add_signed(at_stop).min(items.len());
        // A row may not take an item of another row; rotated rows all move together.
        let is_free = |other: Option<&ItemRange>, item: usize| {
            other.is_none_or(|other| other.list != place.list || !(other.first..other.stop).contains(&item))
        };
        let taken = match step {
            RowAdjustment::WidenNext => !is_free(places.rows.get(i + 1), place.stop),
            RowAdjustment::WidenPrevious => i > 0 && !is_free(places.rows.get(i - 1), first),
            _ => false,
        };
        if taken || first >= stop {
            rows.extend((!is_rotation).then_some(set.rows[i]));
            continue;
        }
        let row = Span { start: items[first].start, stop: items[stop - 1].stop };
        changed += usize::from(row != set.rows[i]);
        rows.push(row);
    }
    // Two rows on both sides of a free item would both take it.
    rows.dedup_by(|next, before| next.start < before.stop);
    rows.retain(|&row| view.tokens.weight(row) > 0);
    let finder = if set.finder.is_token_based() || set.finder == Finder::Lines { set.finder } else { Finder::Groups };
    (changed as f64 >= MIN_CHANGED_SHARE * set.rows.len() as f64 && !rows.is_empty()).then_some(RowSet {
        finder,
        rows,
        rotation: 0.0,
    })
}

/// The rows as ranges of items: children of one parent, lines of a listing, or tokens.
struct ItemRanges {
    items: Vec<Vec<Span>>,
    rows: Vec<ItemRange>,
}

struct ItemRange {
    list: usize,
    first: usize,
    stop: usize,
}

impl ItemRanges {
    fn of(view: &PageView<'_>, set: &RowSet) -> Option<ItemRanges> {
        if set.finder.is_token_based() {
            let all = view.tokens.all();
            let items = (all.start..all.stop).map(|i| Span { start: i, stop: i + 1 }).collect();
            return ItemRanges::among(vec![items], set.rows.iter().map(|&row| (0, row)));
        }
        if set.finder == Finder::Lines {
            return ItemRanges::among(vec![listing_lines(view)], set.rows.iter().map(|&row| (0, row)));
        }
        let mut lists: HashMap<Option<NodeId>, usize> = HashMap::new();
        let mut items: Vec<Vec<Span>> = Vec::new();
        let mut rows = Vec::new();
        for &row in &set.rows {
            let parent = view.tree().parent(view.first_node(row));
            let list = *lists.entry(parent).or_insert_with(|| {
                let nodes = view.items(parent.unwrap_or(view.tree().root()));
                items.push(nodes.map(|node| view.span(node)).collect());
                items.len() - 1
            });
            rows.push((list, row));
        }
        ItemRanges::among(items, rows.into_iter())
    }

    /// `None` if a row does not consist of whole items.
    fn among(items: Vec<Vec<Span>>, rows: impl Iterator<Item = (usize, Span)>) -> Option<ItemRanges> {
        let place = |(list, row): (usize, Span)| {
            let spans = &items[list];
            let first = spans.binary_search_by_key(&row.start, |item| item.start).ok()?;
            let stop = spans.partition_point(|item| item.stop <= row.stop);
            (first < stop && spans[stop - 1].stop == row.stop).then_some(ItemRange { list, first, stop })
        };
        let rows = rows.map(place).collect::<Option<Vec<ItemRange>>>()?;
        Some(ItemRanges { items, rows })
    }
}

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

#[cfg(test)]
mod tests;
