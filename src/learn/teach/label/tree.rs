//! The trees of the PIEME thesis: from the labelled nodes of one record to a match tree with nested repeats, and from
//! that to rows.
//!
//! The I-tree merges the paths from the root to the labelled nodes; here it is the page's own tree, restricted to those
//! paths. The M-tree, built bottom-up with the inference matrix, shows which of its nodes repeat together.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use super::matrix::{RepeatPattern, SubPath, sub_paths};
use super::text_positions::LabelledRecord;
use crate::learn::rows::RowSet;
use crate::learn::template::Finder;
use crate::learn::view::PageView;
use crate::page::NodeId;
use crate::page::tokens::Span;

/// Minimum similarity to a labelled node if the structure differs; the same as for siblings.
const ALIKE: f64 = 0.5;
/// Maximum number of ancestors of a labelled record that are tried as the record itself.
const MAX_CLIMB: usize = 12;

/// A node of the match tree (M-tree).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchTree {
    /// Number of a labelled text or element.
    Label(usize),
    Node {
        tag: String,
        inside: Vec<MatchTree>,
    },
    Repeat(Vec<MatchTree>),
    Optional(Box<MatchTree>),
}

impl fmt::Display for MatchTree {
    /// Written as `table(tr(td(B)) tr(td(C) td(D))*)`; labels are A, B, C …
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: &[MatchTree]| parts.iter().map(MatchTree::to_string).collect::<Vec<_>>().join(" ");
        match self {
            MatchTree::Label(number) => write!(f, "{}", char::from(b'A' + (*number % 26) as u8)),
            MatchTree::Node { tag, inside } => write!(f, "{tag}({})", list(inside)),
            MatchTree::Repeat(parts) => write!(f, "({})*", list(parts)),
            MatchTree::Optional(part) => write!(f, "{part}?"),
        }
    }
}

#[cfg(test)]
impl MatchTree {
    /// The match tree of the lowest common ancestor of these nodes.
    pub fn of(view: &PageView<'_>, labelled: &[NodeId]) -> MatchTree {
        let top = common_ancestor(view, labelled);
        MatchTreeBuilder { view, labelled }.node(top).0
    }
}

/// The lowest element that contains all nodes.
fn common_ancestor(view: &PageView<'_>, nodes: &[NodeId]) -> NodeId {
    let tree = view.tree();
    let Some(&first) = nodes.first() else { return tree.root() };
    let is_element = |node: &NodeId| tree.element(*node).is_some();
    let above = std::iter::once(first).chain(tree.ancestors(first)).filter(is_element);
    let mut holding = above.filter(|&it| nodes.iter().all(|&node| tree.contains(it, node)));
    holding.next().unwrap_or(tree.root())
}

fn tag_path(view: &PageView<'_>, node: NodeId) -> Vec<u32> {
    view.tree().ancestors(node).map(|it| view.tag(it)).collect()
}

/// The innermost repeat: its parent, and the labelled children of one occurrence.
struct InnermostRepeat {
    parent: NodeId,
    heads: Vec<NodeId>,
}

struct MatchTreeBuilder<'v, 't> {
    view: &'v PageView<'t>,
    labelled: &'v [NodeId],
}

impl MatchTreeBuilder<'_, '_> {
    /// Depth first: the repeats inside a node are found before those of the node itself.
    fn node(&self, node: NodeId) -> (MatchTree, Option<InnermostRepeat>) {
        let tree = self.view.tree();
        if let Some(number) = self.labelled.iter().position(|&it| it == node) {
            return (MatchTree::Label(number), None);
        }
        let items: Vec<NodeId> = self.view.items(node).collect();
        let leads = |&item: &NodeId| self.labelled.iter().any(|&it| tree.contains(item, it));
        let heads: Vec<NodeId> = items.iter().copied().filter(leads).collect();
        let mut parts = Vec::new();
        let mut innermost = None;
        for &head in &heads {
            let (part, inner) = self.node(head);
            parts.push(part);
            innermost = inner.or(innermost);
        }
        let paths = self.paths(&items, &heads);
        let pattern = RepeatPattern::of(&paths, heads.len());
        if innermost.is_none()
            && let Some(&(from, to)) = pattern.repeats.last()
        {
            innermost = Some(InnermostRepeat { parent: node, heads: heads[from..=to].to_vec() });
        }
        let inside = nest(parts, &pattern);
        (MatchTree::Node { tag: tree.tag(node).to_owned(), inside }, innermost)
    }

    /// The inference matrix of this node: labelled children against all children. A labelled child maps to itself
    /// alone.
    fn paths(&self, items: &[NodeId], heads: &[NodeId]) -> Vec<SubPath> {
        let exact: Vec<Vec<bool>> =
            heads.iter().map(|&head| items.iter().map(|&item| self.same_structure(head, item)).collect()).collect();
        let maps = |label: usize, item: usize| {
            let own = heads.iter().position(|&head| head == items[item]);
            match own {
                Some(own) => own == label,
                None if exact.iter().any(|row| row[item]) => exact[label][item],
                // Beyond the thesis: a child of another structure maps to similar labelled children, so that a field
                // may be missing.
                None => similarity(self.view, heads[label], items[item]) >= ALIKE,
            }
        };
        sub_paths(heads.len(), items.len(), maps)
    }

    /// Whether the tags are equal, and the children with tags on a labelled path are equally many.
    fn same_structure(&self, head: NodeId, item: NodeId) -> bool {
        let tree = self.view.tree();
        if self.view.tag(head) != self.view.tag(item) {
            return false;
        }
        let leads = |node: &NodeId| self.labelled.iter().any(|&it| tree.contains(*node, it));
        let ways: HashSet<u32> = self.view.items(head).filter(leads).map(|child| self.view.tag(child)).collect();
        ways.iter().all(|&tag| {
            let count = |node: NodeId| self.view.items(node).filter(|&child| self.view.tag(child) == tag).count();
            count(head) == count(item)
        })
    }
}

fn similarity(view: &PageView<'_>, a: NodeId, b: NodeId) -> f64 {
    if view.tree().element(a).is_none() && view.tree().element(b).is_none() { 1.0 } else { view.similarity(a, b) }
}

/// Wraps the parts in the repeats of the pattern, inner ones first.
fn nest(parts: Vec<MatchTree>, pattern: &RepeatPattern) -> Vec<MatchTree> {
    let wrap =
        |(part, &optional): (MatchTree, &bool)| if optional { MatchTree::Optional(Box::new(part)) } else { part };
    let mut slots: Vec<Option<MatchTree>> = parts.into_iter().zip(&pattern.optional).map(wrap).map(Some).collect();
    for &(from, to) in pattern.repeats.iter().rev() {
        let inside: Vec<MatchTree> = slots[from..=to].iter_mut().filter_map(Option::take).collect();
        slots[from] = Some(MatchTree::Repeat(inside));
    }
    slots.into_iter().flatten().collect()
}

/// Row sets derived from the labelled nodes: elements on the same path as one that contains a whole record; elements of
/// the same class; occurrences of the innermost repeat; siblings that contain one record each.
pub fn row_sets(view: &PageView<'_>, instances: &[LabelledRecord]) -> Vec<RowSet> {
    let records: Vec<Vec<NodeId>> = instances.iter().filter_map(|it| tightest_nodes(view, it)).collect();
    let mut sets = Vec::new();
    for nodes in &records {
        add_same_path_rows(view, common_ancestor(view, nodes), &mut sets);
        add_same_class_rows(view, common_ancestor(view, nodes), &mut sets);
        add_repeat_rows(view, nodes, &mut sets);
    }
    if records.len() >= 2 {
        add_sibling_rows(view, &records, &mut sets);
    }
    let mut seen = HashSet::new();
    sets.retain(|set| !set.rows.is_empty() && seen.insert(set.rows.clone()));
    sets
}

/// One node per label: the positions of all labels that are closest together, around one of the rarest label.
fn tightest_nodes(view: &PageView<'_>, instance: &LabelledRecord) -> Option<Vec<NodeId>> {
    let rarest = instance.labels.iter().map(|(_, places)| places).min_by_key(|places| places.len())?;
    let near = |at: Span| -> Vec<Span> {
        let distance = |place: &Span| place.start.abs_diff(at.start);
        instance.labels.iter().filter_map(|(_, places)| places.iter().copied().min_by_key(distance)).collect()
    };
    let width = |places: &Vec<Span>| {
        let start = places.iter().map(|place| place.start).min().unwrap_or(0);
        places.iter().map(|place| place.stop).max().unwrap_or(0) - start
    };
    let best = rarest.iter().map(|&at| near(at)).min_by_key(width)?;
    let mut nodes: Vec<NodeId> = best.iter().map(|&place| view.first_node(place)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    Some(nodes)
}

/// Elements on the same path as the record or one of its ancestors: the thesis assumes one path per kind of node.
fn add_same_path_rows(view: &PageView<'_>, record: NodeId, sets: &mut Vec<RowSet>) {
    let tree = view.tree();
    for climb in std::iter::once(record).chain(tree.ancestors(record)).take(MAX_CLIMB) {
        if matches!(tree.tag(climb), "" | "html" | "body") {
            return;
        }
        let wanted = tag_path(view, climb);
        let same = |&node: &NodeId| view.tag(node) == view.tag(climb) && tag_path(view, node) == wanted;
        let rows = tree.subtree(tree.root()).filter(same).map(|node| view.span(node));
        let rows = rows.filter(|&row| view.tokens.weight(row) > 0).collect();
        sets.push(RowSet { finder: Finder::Grid, rows, rotation: 0.0 });
    }
}

/// Maximum number of classes of one element that are used.
const MAX_CLASSES: usize = 12;

/// Elements with the same tag and a common class, anywhere on the page: teasers of a news page are in boxes at
/// different depths. Of nested elements only the outermost.
fn add_same_class_rows(view: &PageView<'_>, record: NodeId, sets: &mut Vec<RowSet>) {
    let tree = view.tree();
    let climbs = std::iter::once(record).chain(tree.ancestors(record)).take(MAX_CLIMB);
    let climbs = climbs.take_while(|&node| !matches!(tree.tag(node), "" | "html" | "body"));
    let mut marked: BTreeMap<(u32, &str), Vec<Span>> = BTreeMap::new();
    for climb in climbs {
        marked.extend(tree.classes(climb).take(MAX_CLASSES).map(|class| ((view.tag(climb), class), Vec::new())));
    }
    for node in tree.subtree(tree.root()) {
        for class in tree.classes(node).take(MAX_CLASSES) {
            let Some(rows) = marked.get_mut(&(view.tag(node), class)) else { continue };
            let row = view.span(node);
            let inside = rows.last().is_some_and(|before| row.start < before.stop);
            if view.tokens.weight(row) > 0 && !inside {
                rows.push(row);
            }
        }
    }
    let lists = marked.into_values().filter(|rows| rows.len() >= 2);
    sets.extend(lists.map(|rows| RowSet { finder: Finder::Grid, rows, rotation: 0.0 }));
}

/// Each occurrence of the innermost repeat is a row, under every parent on the same path.
fn add_repeat_rows(view: &PageView<'_>, nodes: &[NodeId], sets: &mut Vec<RowSet>) {
    let builder = MatchTreeBuilder { view, labelled: nodes };
    let (_, Some(innermost)) = builder.node(common_ancestor(view, nodes)) else { return };
    let tree = view.tree();
    let wanted = tag_path(view, innermost.parent);
    let is_parent = |&node: &NodeId| view.tag(node) == view.tag(innermost.parent) && tag_path(view, node) == wanted;
    let (mut tight, mut full) = (Vec::new(), Vec::new());
    for parent in tree.subtree(tree.root()).filter(is_parent) {
        let items: Vec<NodeId> = view.items(parent).collect();
        let paths = builder.paths(&items, &innermost.heads);
        for (i, round) in paths.iter().enumerate() {
            let span =
                |from: usize, to: usize| Span { start: view.span(items[from]).start, stop: view.span(items[to]).stop };
            let (first, last) = (round[0].1, round[round.len() - 1].1);
            let next = paths.get(i + 1).map_or(last + 1, |next| next[0].1);
            tight.push(span(first, last));
            full.push(span(first, next - 1));
        }
    }
    for rows in [full, tight] {
        sets.push(RowSet { finder: Finder::Groups, rows, rotation: 0.0 });
    }
}

/// The children of the lowest element that contains all records, if each record is in a different child.
fn add_sibling_rows(view: &PageView<'_>, records: &[Vec<NodeId>], sets: &mut Vec<RowSet>) {
    let tree = view.tree();
    let all: Vec<NodeId> = records.iter().flatten().copied().collect();
    let parent = common_ancestor(view, &all);
    let holds = |item: NodeId, record: &Vec<NodeId>| record.iter().all(|&node| tree.contains(item, node));
    let items: Vec<NodeId> = view.items(parent).collect();
    let own: Vec<Option<NodeId>> =
        records.iter().map(|record| items.iter().copied().find(|&item| holds(item, record))).collect();
    let Some(own) = own.into_iter().collect::<Option<Vec<NodeId>>>() else { return };
    if own.iter().collect::<HashSet<_>>().len() < records.len() {
        return;
    }
    let same_tag = |item: &NodeId| own.iter().any(|&it| view.tag(it) == view.tag(*item));
    let near = |item: &NodeId| own.iter().any(|&it| it == *item || view.similarity(it, *item) >= ALIKE);
    let rows = |keep: &dyn Fn(&NodeId) -> bool| -> Vec<Span> {
        let spans = items.iter().filter(|item| keep(item)).map(|&item| view.span(item));
        spans.filter(|&row| view.tokens.weight(row) > 0).collect()
    };
    for rows in [rows(&near), rows(&same_tag)] {
        sets.push(RowSet { finder: Finder::Siblings, rows, rotation: 0.0 });
    }
}
