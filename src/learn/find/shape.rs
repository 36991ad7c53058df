//! The shape of a node (its tag, its classes and the tag paths below it), and clustering of nodes by shape.

use std::cell::{Cell, OnceCell};
use std::hash::BuildHasher;
use std::rc::Rc;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashMapExt};

use crate::learn::limit::Limit;
use crate::learn::names::StructuredData;
use crate::learn::signals::SignalMap;
use crate::page::tokens::{Span, Tokens};
use crate::page::{Name, NodeId, Tree};

/// Maximum length of tag paths; longer ones separate rows that a reader calls alike (docs/design/learning.md 2.1).
const MAX_PATH: u8 = 4;
/// Nodes with at least this similarity share a cluster.
const ALIKE: f64 = 0.5;
/// Maximum number of cluster leaders under one parent. It keeps clustering linear (docs/design/learning.md 7).
const MAX_LEADERS: usize = 24;

/// Tags as small numbers. Text is a tag of its own.
pub type TagId = u32;
pub const TEXT: TagId = 0;

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

/// Tag, shape and classes of each node, as numbers.
struct NodeShapes {
    /// Index of the first node covered; the vectors start there.
    first: usize,
    tags: Vec<TagId>,
    shapes: Vec<u32>,
    classes: Vec<u32>,
    shape_sets: SetInterner,
    class_sets: SetInterner,
}

impl<'t> PageView<'t> {
    pub fn new(tree: &'t Tree) -> PageView<'t> {
        PageView {
            tokens: Rc::new(Tokens::new(tree)),
            shapes: OnceCell::new(),
            structured_data: OnceCell::new(),
            signals: OnceCell::new(),
            limit: Cell::new(None),
        }
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
        let looks = OnceCell::from(NodeShapes::new(&self.tokens, node));
        let (stated, marks, reached) = (OnceCell::new(), OnceCell::new(), Cell::new(None));
        PageView {
            tokens: Rc::clone(&self.tokens),
            shapes: looks,
            structured_data: stated,
            signals: marks,
            limit: reached,
        }
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
        self.signals.get_or_init(|| SignalMap::new(self))
    }

    pub fn tree(&self) -> &'t Tree {
        self.tokens.tree
    }

    pub fn tag(&self, node: NodeId) -> TagId {
        self.shapes().tags[self.shapes().index_of(node)]
    }

    /// Equal numbers mean equal sets of classes.
    pub fn class_set(&self, node: NodeId) -> u32 {
        self.shapes().classes[self.shapes().index_of(node)]
    }

    pub fn shape_len(&self, node: NodeId) -> usize {
        self.shapes().shape_len(node)
    }

    pub fn span(&self, node: NodeId) -> Span {
        self.tokens.span(node)
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
        let (class_a, class_b) = (self.class_set(a), self.class_set(b));
        let sets = &self.shapes().class_sets;
        let none = sets.get(class_a).is_empty() && sets.get(class_b).is_empty();
        let by_class = if none { 0.5 } else { sets.jaccard(class_a, class_b) };
        0.8 * self.shape_overlap(a, b) + 0.2 * by_class
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

impl NodeShapes {
    fn new(tokens: &Tokens<'_>, root: NodeId) -> NodeShapes {
        let tree = tokens.tree;
        let count = (tree.end(root).0 - root.0) as usize;
        let mut tag_ids: HashMap<&Name, TagId> = HashMap::new();
        let mut class_ids: HashMap<&str, u32> = HashMap::new();
        let mut class_sets = SetInterner::default();
        let no_class = class_sets.intern(&mut Vec::new());
        // Most pages have few distinct class attributes; each is parsed once.
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut tags = Vec::with_capacity(count);
        let mut classes = Vec::with_capacity(count);
        for node in tree.subtree(root) {
            let next = TEXT + 1 + tag_ids.len() as TagId;
            tags.push(tree.name(node).map_or(TEXT, |name| *tag_ids.entry(name).or_insert(next)));
            let Some(class) = tree.class(node) else {
                classes.push(no_class);
                continue;
            };
            let set = *known.entry(class).or_insert_with(|| {
                let number = |class| {
                    let next = class_ids.len() as u32;
                    *class_ids.entry(class).or_insert(next)
                };
                class_sets.intern(&mut tree.classes(node).map(number).collect())
            });
            classes.push(set);
        }
        let (shapes, shape_sets) = shapes_of(tokens, root, &tags);
        NodeShapes { first: root.index(), tags, shapes, classes, shape_sets, class_sets }
    }

    fn index_of(&self, node: NodeId) -> usize {
        node.index() - self.first
    }

    fn shape(&self, node: NodeId) -> u32 {
        self.shapes[self.index_of(node)]
    }

    fn shape_len(&self, node: NodeId) -> usize {
        self.shape_sets.get(self.shape(node)).len()
    }

    fn shape_overlap(&self, a: NodeId, b: NodeId) -> f64 {
        self.shape_sets.jaccard(self.shape(a), self.shape(b))
    }
}

/// Computed bottom up: the paths of a node are its tag alone, and its tag in front of each shorter path of a child.
fn shapes_of(tokens: &Tokens<'_>, root: NodeId, tags: &[TagId]) -> (Vec<u32>, SetInterner) {
    let tree = tokens.tree;
    let mut paths = TagPaths::default();
    let mut sets = SetInterner::default();
    let mut shapes = vec![0; tags.len()];
    // Buffers that are reused for every node: a page may have hundreds of thousands.
    let (mut inside, mut set): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for node in tree.subtree(root).rev() {
        let place = node.index() - root.index();
        let span = tokens.span(node);
        if span.start == span.stop {
            continue;
        }
        inside.clear();
        let left_tokens = |child: &NodeId| {
            let span = tokens.span(*child);
            span.start < span.stop
        };
        let shape_of = |child: NodeId| shapes[child.index() - root.index()];
        inside.extend(tree.children(node).filter(left_tokens).map(shape_of));
        inside.sort_unstable();
        inside.dedup();
        let tag = tags[place];
        set.clear();
        set.push(paths.prepend(tag, None));
        for &shape in &inside {
            for &path in sets.get(shape) {
                if paths.length(path) < MAX_PATH {
                    set.push(paths.prepend(tag, Some(path)));
                }
            }
        }
        shapes[place] = sets.intern(&mut set);
    }
    (shapes, sets)
}

#[derive(Default)]
struct TagPaths {
    ids: HashMap<(TagId, Option<u32>), u32>,
    lengths: Vec<u8>,
}

impl TagPaths {
    fn prepend(&mut self, tag: TagId, path: Option<u32>) -> u32 {
        let length = path.map_or(1, |path| self.length(path) + 1);
        let next = self.lengths.len() as u32;
        let id = *self.ids.entry((tag, path)).or_insert(next);
        if id == next {
            self.lengths.push(length);
        }
        id
    }

    fn length(&self, path: u32) -> u8 {
        self.lengths[path as usize]
    }
}

/// Interner for sets of numbers: each set is stored once, sorted.
#[derive(Default)]
struct SetInterner {
    /// By hash of the set. Of two sets with the same hash the later one is not found again and may be stored twice.
    ids: HashMap<u64, u32>,
    /// All sets, concatenated: on some pages every node has a set of its own.
    numbers: Vec<u32>,
    /// The end of each set in `numbers`; the next one starts there.
    ends: Vec<usize>,
}

impl SetInterner {
    fn intern(&mut self, set: &mut Vec<u32>) -> u32 {
        set.sort_unstable();
        set.dedup();
        let print = FixedState::default().hash_one(set.as_slice());
        let next = self.ends.len() as u32;
        let id = *self.ids.entry(print).or_insert(next);
        if id != next && self.get(id) == set.as_slice() {
            return id;
        }
        self.numbers.extend_from_slice(set);
        self.ends.push(self.numbers.len());
        next
    }

    fn get(&self, id: u32) -> &[u32] {
        let Some(&end) = self.ends.get(id as usize) else { return &[] };
        let start = (id as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.numbers[start..end]
    }

    fn jaccard(&self, a: u32, b: u32) -> f64 {
        if a == b {
            return 1.0;
        }
        let (a, b) = (self.get(a), self.get(b));
        let (mut i, mut j, mut both) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            match a[i].cmp(&b[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    both += 1;
                    i += 1;
                    j += 1;
                }
            }
        }
        let all = a.len() + b.len() - both;
        if all == 0 { 1.0 } else { both as f64 / all as f64 }
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
