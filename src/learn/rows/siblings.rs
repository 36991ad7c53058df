//! One sibling per record: the children of one parent, grouped by shape, by tag, and by tag and classes.

use std::hash::Hash;

use foldhash::{HashMap, HashMapExt};

use super::row_set::RowSetCollector;
use crate::learn::template::Finder;
use crate::learn::view::PageView;
use crate::page::NodeId;
use crate::page::tokens::Span;

/// The children of one parent and the cluster of each.
pub struct Items {
    pub nodes: Vec<NodeId>,
    pub clusters: Vec<u32>,
}

impl Items {
    pub fn of(view: &PageView<'_>, parent: NodeId) -> Items {
        let nodes: Vec<NodeId> = view.items(parent).collect();
        let clusters = view.clusters(&nodes);
        Items { nodes, clusters }
    }
}

/// Rows need not be adjacent, so advertisements and headings between them are left out.
pub fn find(view: &PageView<'_>, items: &Items, found: &mut RowSetCollector<'_, '_>) {
    let elements: Vec<usize> =
        (0..items.nodes.len()).filter(|&i| view.tree().element(items.nodes[i]).is_some()).collect();
    let spans = |group: Vec<usize>| -> Vec<Span> { group.into_iter().map(|i| view.span(items.nodes[i])).collect() };
    for group in grouped(&elements, |i| items.clusters[i]) {
        found.add(Finder::Siblings, spans(group), 0.0);
    }
    for group in grouped(&elements, |i| view.tag(items.nodes[i])) {
        found.add(Finder::Siblings, spans(group), 0.0);
    }
    for group in grouped(&elements, |i| (view.tag(items.nodes[i]), view.class_set(items.nodes[i]))) {
        found.add(Finder::Siblings, spans(group), 0.0);
    }
}

/// The positions grouped by key; groups in order of first appearance.
pub fn grouped<K: Hash + Eq>(positions: &[usize], key: impl Fn(usize) -> K) -> Vec<Vec<usize>> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &position in positions {
        let place = *places.entry(key(position)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(position);
    }
    groups
}
