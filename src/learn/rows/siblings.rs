//! One sibling per record: the children of one parent, grouped by shape, by tag, and by tag and classes.

use super::row_set::RowSetCollector;
use crate::learn::template::Finder;
use crate::learn::view::{PageView, grouped};
use crate::page::NodeId;

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
    let elements = || items.nodes.iter().copied().enumerate().filter(|&(_, node)| view.tree().element(node).is_some());
    let by_shape = grouped(elements().map(|(i, node)| (items.clusters[i], node)));
    let by_tag = grouped(elements().map(|(_, node)| (view.tag(node), node)));
    let by_class = grouped(elements().map(|(_, node)| ((view.tag(node), view.class_set(node)), node)));
    for group in by_shape.into_iter().chain(by_tag).chain(by_class) {
        found.add(Finder::Siblings, group.into_iter().map(|node| view.span(node)), 0.0);
    }
}
