//! Records under several parents: cells of a grid, rows spread over wrappers.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::siblings::grouped;
use super::{Finder, Found, View};
use crate::page::NodeId;

const MIN_CELLS: usize = 3;

/// Nodes with the same tag path from the root, alike, under at least two parents. Each set is offered as it is, and
/// widened to the outermost ancestors that stand one to one with the nodes: that brings in the picture beside the text.
pub fn find(view: &View<'_>, found: &mut Found<'_, '_>) {
    for nodes in by_path(view) {
        let weight: u32 = nodes.iter().map(|&node| view.tokens.weight(view.span(node))).sum();
        if nodes.len() < MIN_CELLS || f64::from(weight) < found.min_weight || parents(view, &nodes) < 2 {
            continue;
        }
        let clusters = view.clusters(&nodes);
        let all: Vec<usize> = (0..nodes.len()).collect();
        for group in grouped(&all, |i| clusters[i]) {
            let cells: Vec<NodeId> = group.into_iter().map(|i| nodes[i]).collect();
            if cells.len() < MIN_CELLS || parents(view, &cells) < 2 {
                continue;
            }
            let widened = widen(view, &cells);
            found.add(Finder::Grid, cells.iter().map(|&node| view.span(node)), 0.0);
            found.add(Finder::Grid, widened.iter().map(|&node| view.span(node)), 0.0);
        }
    }
}

fn by_path(view: &View<'_>) -> Vec<Vec<NodeId>> {
    let tree = view.tree();
    let mut ids: HashMap<(u32, u32), u32> = HashMap::new();
    let mut paths = vec![0; tree.len()];
    let mut nodes: Vec<Vec<NodeId>> = vec![Vec::new()];
    for node in tree.subtree(tree.root()).skip(1) {
        if tree.element(node).is_none() {
            continue;
        }
        let above = tree.parent(node).map_or(0, |parent| paths[parent.index()]);
        let next = nodes.len() as u32;
        let path = *ids.entry((above, view.tag(node))).or_insert(next);
        paths[node.index()] = path;
        if path == next {
            nodes.push(Vec::new());
        }
        if view.tokens.weight(view.span(node)) > 0 {
            nodes[path as usize].push(node);
        }
    }
    nodes
}

fn parents(view: &View<'_>, nodes: &[NodeId]) -> usize {
    nodes.iter().map(|&node| view.tree().parent(node)).collect::<HashSet<_>>().len()
}

fn widen(view: &View<'_>, cells: &[NodeId]) -> Vec<NodeId> {
    let tree = view.tree();
    let mut widest = cells.to_vec();
    loop {
        let above: Option<Vec<NodeId>> = widest.iter().map(|&node| tree.parent(node)).collect();
        let Some(above) = above else { return widest };
        let one_to_one = above.windows(2).all(|pair| pair[0] < pair[1] && !tree.contains(pair[0], pair[1]));
        let same_tag = above.windows(2).all(|pair| view.tag(pair[0]) == view.tag(pair[1]));
        if !one_to_one || !same_tag || tree.element(above[0]).is_none() {
            return widest;
        }
        widest = above;
    }
}
