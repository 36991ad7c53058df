//! A person's last touch to the cut of the rows: wider, narrower, or shifted by one item (IEPAD's rotation).

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::find::{Finder, RowSet, View, listing_lines};
use crate::page::NodeId;
use crate::page::tokens::Span;

/// One step. `Widen` and `Narrow` stand for the first of their kinds that is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjust {
    Widen,
    /// To the element above, where each row has one of its own.
    WidenUp,
    /// The next sibling is taken in.
    WidenNext,
    /// The sibling before is taken in.
    WidenPrevious,
    Narrow,
    /// To the element inside that holds most of the text.
    NarrowDown,
    /// Without the first of the row's siblings.
    NarrowFirst,
    /// Without the last of them.
    NarrowLast,
    /// Each row begins and ends one item later.
    Rotate,
    /// Each row begins and ends one item earlier.
    RotateBack,
}

impl Adjust {
    fn ways(&self) -> &[Adjust] {
        match self {
            Adjust::Widen => &[Adjust::WidenUp, Adjust::WidenNext, Adjust::WidenPrevious],
            Adjust::Narrow => &[Adjust::NarrowDown, Adjust::NarrowLast],
            _ => std::slice::from_ref(self),
        }
    }

    /// For a sentence: “cannot be …”.
    pub fn done(self) -> &'static str {
        match self {
            Adjust::Widen | Adjust::WidenUp | Adjust::WidenNext | Adjust::WidenPrevious => "widened",
            Adjust::Narrow | Adjust::NarrowDown | Adjust::NarrowFirst | Adjust::NarrowLast => "narrowed",
            Adjust::Rotate | Adjust::RotateBack => "rotated",
        }
    }
}

/// The rows after these steps, and the steps as they were taken; `Err` is the step that is not possible.
pub fn adjusted(view: &View<'_>, set: &RowSet, steps: &[Adjust]) -> Result<(RowSet, Vec<Adjust>), Adjust> {
    let mut set = set.clone();
    let mut taken = Vec::new();
    for step in steps {
        let ways = step.ways().iter();
        let (way, next) = ways.filter_map(|&way| Some((way, adjust(view, &set, way)?))).next().ok_or(*step)?;
        taken.push(way);
        set = next;
    }
    Ok((set, taken))
}

/// A step must change this share of the rows: the first or the last row often has no neighbour to take in.
const MOST_ROWS: f64 = 0.5;

/// One step; none where it is not possible or changes nothing.
pub fn adjust(view: &View<'_>, set: &RowSet, step: Adjust) -> Option<RowSet> {
    if let [way, _, ..] = step.ways() {
        let others = step.ways().iter().skip(1);
        return adjust(view, set, *way).or_else(|| others.filter_map(|&way| adjust(view, set, way)).next());
    }
    match step {
        Adjust::WidenUp => up(view, set),
        Adjust::NarrowDown => down(view, set),
        Adjust::WidenNext => shifted(view, set, step, (0, 1)),
        Adjust::WidenPrevious => shifted(view, set, step, (-1, 0)),
        Adjust::NarrowFirst => shifted(view, set, step, (1, 0)),
        Adjust::NarrowLast => shifted(view, set, step, (0, -1)),
        Adjust::Rotate => shifted(view, set, step, (1, 1)),
        Adjust::RotateBack => shifted(view, set, step, (-1, -1)),
        Adjust::Widen | Adjust::Narrow => None,
    }
}

/// The elements above the rows, where no two rows share one.
fn up(view: &View<'_>, set: &RowSet) -> Option<RowSet> {
    let tree = view.tree();
    if set.finder.reads_tokens() || set.finder == Finder::Lines {
        return None;
    }
    let above: Vec<NodeId> = set.rows.iter().map(|&row| tree.parent(first_node(view, row))).collect::<Option<_>>()?;
    let is_page = |node: &NodeId| matches!(tree.tag(*node), "" | "html" | "body");
    let apart = above.windows(2).all(|pair| pair[0] < pair[1] && !tree.contains(pair[0], pair[1]));
    let is_possible = apart && !above.iter().any(is_page);
    is_possible.then(|| of_elements(view, &above))
}

/// Of each row's children the kind that holds most of the text, where most rows have it; a row without it falls out.
fn down(view: &View<'_>, set: &RowSet) -> Option<RowSet> {
    let roots: Vec<NodeId> = set.rows.iter().map(|&row| first_node(view, row)).collect();
    let one_element = |(&root, &row): (&NodeId, &Span)| view.tree().element(root).is_some() && view.span(root) == row;
    if !roots.iter().zip(&set.rows).all(one_element) {
        return None;
    }
    // Tag and how many of that tag came before; with the child of each row, and the weight of all.
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
    kinds.retain(|_, (children, _)| children.len() as f64 >= MOST_ROWS * roots.len() as f64);
    let (children, weight) = kinds.into_values().max_by_key(|(children, weight)| (*weight, children.len()))?;
    (weight > 0).then(|| of_elements(view, &children))
}

fn of_elements(view: &View<'_>, nodes: &[NodeId]) -> RowSet {
    let parents: HashSet<Option<NodeId>> = nodes.iter().map(|&node| view.tree().parent(node)).collect();
    let finder = if parents.len() == 1 { Finder::Siblings } else { Finder::Grid };
    let rows = nodes.iter().map(|&node| view.span(node)).filter(|&row| view.tokens.weight(row) > 0).collect();
    RowSet { finder, rows, rotation: 0.0 }
}

/// Moves the rows' starts and stops along the items they are made of, by at most one.
fn shifted(view: &View<'_>, set: &RowSet, step: Adjust, (at_start, at_stop): (isize, isize)) -> Option<RowSet> {
    let places = Places::of(view, set)?;
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
        // What one row takes in no other row may have; rotated rows all move together.
        let is_free = |other: Option<&Place>, item: usize| {
            other.is_none_or(|other| other.list != place.list || !(other.first..other.stop).contains(&item))
        };
        let taken = match step {
            Adjust::WidenNext => !is_free(places.rows.get(i + 1), place.stop),
            Adjust::WidenPrevious => i > 0 && !is_free(places.rows.get(i - 1), first),
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
    // Where two rows lie around one free item, both would take it.
    rows.dedup_by(|next, before| next.start < before.stop);
    rows.retain(|&row| view.tokens.weight(row) > 0);
    let finder = if set.finder.reads_tokens() || set.finder == Finder::Lines { set.finder } else { Finder::Groups };
    (changed as f64 >= MOST_ROWS * set.rows.len() as f64 && !rows.is_empty()).then_some(RowSet {
        finder,
        rows,
        rotation: 0.0,
    })
}

/// The rows as stretches of items: children of one parent, lines of a listing, or tokens.
struct Places {
    items: Vec<Vec<Span>>,
    rows: Vec<Place>,
}

struct Place {
    list: usize,
    first: usize,
    stop: usize,
}

impl Places {
    fn of(view: &View<'_>, set: &RowSet) -> Option<Places> {
        if set.finder.reads_tokens() {
            let all = view.tokens.all();
            let items = (all.start..all.stop).map(|i| Span { start: i, stop: i + 1 }).collect();
            return Places::among(vec![items], set.rows.iter().map(|&row| (0, row)));
        }
        if set.finder == Finder::Lines {
            return Places::among(vec![listing_lines(view)], set.rows.iter().map(|&row| (0, row)));
        }
        let mut lists: HashMap<Option<NodeId>, usize> = HashMap::new();
        let mut items: Vec<Vec<Span>> = Vec::new();
        let mut rows = Vec::new();
        for &row in &set.rows {
            let parent = view.tree().parent(first_node(view, row));
            let list = *lists.entry(parent).or_insert_with(|| {
                let nodes = view.items(parent.unwrap_or(view.tree().root()));
                items.push(nodes.map(|node| view.span(node)).collect());
                items.len() - 1
            });
            rows.push((list, row));
        }
        Places::among(items, rows.into_iter())
    }

    /// None where a row is no stretch of whole items.
    fn among(items: Vec<Vec<Span>>, rows: impl Iterator<Item = (usize, Span)>) -> Option<Places> {
        let place = |(list, row): (usize, Span)| {
            let spans = &items[list];
            let first = spans.binary_search_by_key(&row.start, |item| item.start).ok()?;
            let stop = spans.partition_point(|item| item.stop <= row.stop);
            (first < stop && spans[stop - 1].stop == row.stop).then_some(Place { list, first, stop })
        };
        let rows = rows.map(place).collect::<Option<Vec<Place>>>()?;
        Some(Places { items, rows })
    }
}

fn first_node(view: &View<'_>, row: Span) -> NodeId {
    view.tokens.list[row.start as usize].node
}

#[cfg(test)]
mod tests;
