//! Records under several parents: the cells of a grid, or rows in separate wrappers.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::row_set::{RowSetCollector, fingerprint};
use crate::learn::template::Finder;
use crate::learn::view::{PageView, grouped};
use crate::page::NodeId;

const MIN_CELLS: usize = 3;

/// Groups similar nodes under at least two parents in three ways: by the tag path from the root; by the tag path
/// together with classes and ids above (this separates a list from a menu of the same tags); and by class alone. Each
/// group is proposed as it is, and widened to its outermost ancestors that are one to one with the nodes: this adds the
/// image beside the text.
pub fn find(view: &PageView<'_>, found: &mut RowSetCollector<'_, '_>) {
    let mut offers = GridOffers { view, widened: HashSet::default(), offered: HashSet::default() };
    for nodes in by_path(view, |_| 0) {
        if is_spread(view, found, &nodes) {
            offers.clusters(&nodes, found);
            // All kinds together: a list may have records of several kinds. Rows that are no records are removed later.
            offers.add(&nodes, found);
        }
    }
    let mut marks: HashMap<(u32, &str), u32> = HashMap::new();
    let mark = |node: NodeId| {
        let next = marks.len() as u32;
        let id = view.tree().attribute(node, "id").unwrap_or("");
        *marks.entry((view.class_set(node), id)).or_insert(next)
    };
    for nodes in by_path(view, mark) {
        if is_spread(view, found, &nodes) {
            offers.clusters(&nodes, found);
            offers.add(&nodes, found);
        }
    }
    for nodes in by_class(view) {
        if is_spread(view, found, &nodes) {
            offers.add(&nodes, found);
        }
    }
}

fn is_spread(view: &PageView<'_>, found: &RowSetCollector<'_, '_>, nodes: &[NodeId]) -> bool {
    let weight: u32 = nodes.iter().map(|&node| view.tokens.weight(view.span(node))).sum();
    nodes.len() >= MIN_CELLS && f64::from(weight) >= found.min_weight && has_two_parents(view, nodes)
}

/// Proposes cells as rows. The same cells are found by path, by cluster and by class, but widened only once.
struct GridOffers<'v, 't> {
    view: &'v PageView<'t>,
    /// Fingerprints of the cells and of all ancestor sets up to the widest, which are proposed already.
    widened: HashSet<u64>,
    offered: HashSet<u64>,
}

impl GridOffers<'_, '_> {
    fn clusters(&mut self, nodes: &[NodeId], found: &mut RowSetCollector<'_, '_>) {
        for cells in grouped(self.view.clusters(nodes).into_iter().zip(nodes.iter().copied())) {
            if cells.len() >= MIN_CELLS && has_two_parents(self.view, &cells) {
                self.add(&cells, found);
            }
        }
    }

    fn add(&mut self, cells: &[NodeId], found: &mut RowSetCollector<'_, '_>) {
        if !self.offered.insert(fingerprint_of(cells)) {
            return;
        }
        found.add(Finder::Grid, cells.iter().map(|&node| self.view.span(node)), 0.0);
        if let Some(widest) = self.widen(cells) {
            found.add(Finder::Grid, widest.iter().map(|&node| self.view.span(node)), 0.0);
        }
    }

    /// The outermost ancestors that are one to one with the cells; `None` if they are proposed already.
    fn widen(&mut self, cells: &[NodeId]) -> Option<Vec<NodeId>> {
        let tree = self.view.tree();
        let mut widest = cells.to_vec();
        // Nested objects, 40 levels deep, are widened from every level: each stops where an earlier one has been.
        while self.widened.insert(fingerprint_of(&widest)) {
            let above: Option<Vec<NodeId>> = widest.iter().map(|&node| tree.parent(node)).collect();
            let Some(above) = above else { return Some(widest) };
            let one_to_one = above.windows(2).all(|pair| pair[0] < pair[1] && !tree.contains(pair[0], pair[1]));
            let same_tag = above.windows(2).all(|pair| self.view.tag(pair[0]) == self.view.tag(pair[1]));
            if !one_to_one || !same_tag || tree.element(above[0]).is_none() {
                return Some(widest);
            }
            widest = above;
        }
        None
    }
}

/// Elements with text, grouped by the tags from the root and by the `mark` of each ancestor.
fn by_path(view: &PageView<'_>, mut mark: impl FnMut(NodeId) -> u32) -> Vec<Vec<NodeId>> {
    let tree = view.tree();
    let mut ids: HashMap<(u32, u32, u32), u32> = HashMap::new();
    let mut paths = vec![0; tree.len()];
    let elements = tree.subtree(tree.root()).skip(1).filter(|&node| tree.element(node).is_some());
    grouped(elements.filter_map(|node| {
        let above = tree.parent(node).map_or(0, |parent| paths[parent.index()]);
        let next = ids.len() as u32 + 1;
        paths[node.index()] = *ids.entry((above, view.tag(node), mark(node))).or_insert(next);
        (view.tokens.weight(view.span(node)) > 0).then(|| ((above, view.tag(node)), node))
    }))
}

/// Elements with text, grouped by tag and classes; of nested elements only the outermost.
fn by_class(view: &PageView<'_>) -> Vec<Vec<NodeId>> {
    let tree = view.tree();
    let has_class = |&node: &NodeId| tree.classes(node).next().is_some();
    let nodes = tree.subtree(tree.root()).skip(1).filter(has_class);
    let nodes = nodes.filter(|&node| view.tokens.weight(view.span(node)) > 0);
    let mut groups = grouped(nodes.map(|node| ((view.tag(node), view.class_set(node)), node)));
    groups.iter_mut().for_each(|nodes| nodes.dedup_by(|node, last| tree.contains(*last, *node)));
    groups
}

fn has_two_parents(view: &PageView<'_>, nodes: &[NodeId]) -> bool {
    let parent = |node: &NodeId| view.tree().parent(*node);
    nodes.iter().any(|node| parent(node) != parent(&nodes[0]))
}

fn fingerprint_of(nodes: &[NodeId]) -> u64 {
    fingerprint(nodes.iter().map(|node| u64::from(node.0)))
}
