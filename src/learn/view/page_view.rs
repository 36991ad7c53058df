//! A page with its tokens, and what is computed once for all of its lists.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};

use super::limit::Limit;
use super::shape::{NodeShapes, TagId};
use super::signals::SignalMap;
use super::structured_data::StructuredData;
use crate::page::tokens::{Span, Tokens};
use crate::page::{NodeId, Tree};

/// Nodes with at least this similarity share a cluster.
const ALIKE: f64 = 0.5;
/// Maximum number of cluster leaders under one parent. It keeps clustering linear (docs/design/learning.md 7).
const MAX_LEADERS: usize = 24;

/// A page with its tokens and the lazily computed properties of its nodes.
pub struct PageView<'t> {
    pub tokens: Rc<Tokens<'t>>,
    /// Computed on first use: callers that know the rows already never need it.
    shapes: OnceCell<NodeShapes>,
    /// Shared by all lists of the page.
    structured_data: OnceCell<StructuredData>,
    /// Shared by everything that measures row sets.
    signals: OnceCell<SignalMap>,
    /// The first limit that was reached since the last [`PageView::take_limit`].
    limit: Cell<Option<Limit>>,
}

impl<'t> PageView<'t> {
    pub fn new(tree: &'t Tree) -> PageView<'t> {
        PageView::with_shapes(Rc::new(Tokens::new(tree)), OnceCell::new())
    }

    fn with_shapes(tokens: Rc<Tokens<'t>>, shapes: OnceCell<NodeShapes>) -> PageView<'t> {
        PageView { tokens, shapes, structured_data: OnceCell::new(), signals: OnceCell::new(), limit: Cell::new(None) }
    }

    /// Records that rows or values of the current list are missing or may be wrong because of a limit.
    pub fn record_limit(&self, limit: Option<Limit>) {
        self.limit.set(self.limit.get().or(limit));
    }

    /// Returns the limit that the current list has reached and resets it for the next list.
    pub fn take_limit(&self) -> Option<Limit> {
        self.limit.take()
    }

    /// The same page, for looking at this node and its descendants only.
    pub fn restricted_to(&self, node: NodeId) -> PageView<'t> {
        PageView::with_shapes(Rc::clone(&self.tokens), OnceCell::from(NodeShapes::new(&self.tokens, node)))
    }

    fn shapes(&self) -> &NodeShapes {
        self.shapes.get_or_init(|| NodeShapes::new(&self.tokens, self.tree().root()))
    }

    /// Names of the page's values according to its structured data and forms.
    pub fn structured_data(&self) -> &StructuredData {
        self.structured_data.get_or_init(|| StructuredData::read(self.tree()))
    }

    /// Positions of images, prices and other signals of a record.
    pub fn signals(&self) -> &SignalMap {
        self.signals.get_or_init(|| SignalMap::new(&self.tokens))
    }

    pub fn tree(&self) -> &'t Tree {
        self.tokens.tree
    }

    pub fn tag(&self, node: NodeId) -> TagId {
        self.shapes().tag(node)
    }

    /// Equal numbers mean equal sets of classes.
    pub fn class_set(&self, node: NodeId) -> u32 {
        self.shapes().class_set(node)
    }

    pub fn shape_len(&self, node: NodeId) -> usize {
        self.shapes().shape_len(node)
    }

    pub fn span(&self, node: NodeId) -> Span {
        self.tokens.span(node)
    }

    /// The node of a row's first token.
    pub fn first_node(&self, row: Span) -> NodeId {
        self.tokens.list[row.start as usize].node
    }

    /// The node that is the whole row, if one is.
    pub fn root(&self, row: Span) -> Option<NodeId> {
        Some(self.first_node(row)).filter(|&node| self.span(node) == row)
    }

    /// The children that have tokens: elements and texts.
    pub fn items(&self, parent: NodeId) -> impl Iterator<Item = NodeId> {
        self.tree().children(parent).filter(|&child| {
            let span = self.span(child);
            span.start < span.stop
        })
    }

    pub fn shape_overlap(&self, a: NodeId, b: NodeId) -> f64 {
        self.shapes().shape_overlap(a, b)
    }

    /// 0 if the tags differ, otherwise a weighted mean of the overlap of shapes and of classes.
    pub fn similarity(&self, a: NodeId, b: NodeId) -> f64 {
        if self.tag(a) != self.tag(b) {
            return 0.0;
        }
        0.8 * self.shape_overlap(a, b) + 0.2 * self.shapes().class_overlap(a, b).unwrap_or(0.5)
    }

    /// Leader clustering: each node's cluster, numbered by first appearance.
    pub fn clusters(&self, nodes: &[NodeId]) -> Vec<u32> {
        let mut leaders: Vec<NodeId> = Vec::new();
        let mut seen: HashMap<(TagId, u32, u32), u32> = HashMap::new();
        let mut clusters = Vec::with_capacity(nodes.len());
        for &node in nodes {
            let key = (self.tag(node), self.shapes().shape(node), self.class_set(node));
            let cluster = *seen.entry(key).or_insert_with(|| {
                let near = leaders.iter().enumerate().map(|(i, &leader)| (self.similarity(leader, node), i));
                let best = near.fold((0.0, 0), |best, it| if it.0 > best.0 { it } else { best });
                if best.0 >= ALIKE {
                    best.1 as u32
                } else if leaders.len() < MAX_LEADERS {
                    leaders.push(node);
                    leaders.len() as u32 - 1
                } else {
                    MAX_LEADERS as u32
                }
            });
            clusters.push(cluster);
        }
        clusters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_items_share_a_cluster_and_others_do_not() {
        let tree = Tree::parse(
            "<ul><li><a>x</a><b>1</b><li><a>y</a><b>2</b><li><a>z</a>\
             <li><img><p><i>ad</i></p><div><em>!</em></div></ul>",
        );
        let view = PageView::new(&tree);
        let ul = tree.elements("ul").next().expect("the page has a list");
        let items: Vec<NodeId> = view.items(ul).collect();
        assert_eq!(view.clusters(&items), [0, 0, 0, 1]);
    }
}
