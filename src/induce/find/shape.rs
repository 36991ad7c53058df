//! What a node looks like from above: its tag, its classes, and the tag paths that lead down from it.

use std::cell::{Cell, OnceCell};
use std::hash::BuildHasher;
use std::rc::Rc;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashMapExt};

use crate::induce::limit::Limit;
use crate::induce::marks::MarkMap;
use crate::induce::names::Stated;
use crate::page::tokens::{Span, Tokens};
use crate::page::{Name, NodeId, Tree};

/// Downward tag paths are this long at most; longer ones tell rows apart that a reader calls alike (learn-notes 2.1).
const MAX_PATH: u8 = 4;
/// Two nodes this alike belong to one cluster.
const ALIKE: f64 = 0.5;
/// Distinct shapes that are compared with under one parent: it keeps clustering linear (learn-notes 7).
const MAX_LEADERS: usize = 24;

/// Tags as small numbers; text is a tag of its own.
pub type Tag = u32;
pub const TEXT: Tag = 0;

/// A page with the shapes of its nodes.
pub struct View<'t> {
    pub tokens: Rc<Tokens<'t>>,
    /// Found when first asked for: who knows where the rows are never asks.
    looks: OnceCell<Looks>,
    /// Each list of the page may ask for it.
    stated: OnceCell<Stated>,
    /// Whoever measures row sets asks for it.
    marks: OnceCell<MarkMap>,
    /// A bound that was met since it was last asked for.
    reached: Cell<Option<Limit>>,
}

/// Tag, shape and classes of each node, as numbers.
struct Looks {
    /// The node that they begin with.
    first: usize,
    tags: Vec<Tag>,
    shapes: Vec<u32>,
    classes: Vec<u32>,
    shape_sets: Sets,
    class_sets: Sets,
}

impl<'t> View<'t> {
    pub fn new(tree: &'t Tree) -> View<'t> {
        View {
            tokens: Rc::new(Tokens::new(tree)),
            looks: OnceCell::new(),
            stated: OnceCell::new(),
            marks: OnceCell::new(),
            reached: Cell::new(None),
        }
    }

    /// Rows or values of the list at hand are left out, or may be wrong.
    pub fn reach(&self, limit: Option<Limit>) {
        self.reached.set(self.reached.get().or(limit));
    }

    /// What the list at hand has reached; the next one begins anew.
    pub fn reached(&self) -> Option<Limit> {
        self.reached.take()
    }

    /// The same page, of which only this node and what stands in it will be looked at.
    pub fn only(&self, node: NodeId) -> View<'t> {
        let looks = OnceCell::from(Looks::new(&self.tokens, node));
        let (stated, marks, reached) = (OnceCell::new(), OnceCell::new(), Cell::new(None));
        View { tokens: Rc::clone(&self.tokens), looks, stated, marks, reached }
    }

    fn looks(&self) -> &Looks {
        self.looks.get_or_init(|| Looks::new(&self.tokens, self.tree().root()))
    }

    /// What structured data and forms say of the page's values.
    pub fn stated(&self) -> &Stated {
        self.stated.get_or_init(|| Stated::read(self.tree()))
    }

    /// Where pictures, prices and the like stand.
    pub fn marks(&self) -> &MarkMap {
        self.marks.get_or_init(|| MarkMap::new(self))
    }

    pub fn tree(&self) -> &'t Tree {
        self.tokens.tree
    }

    pub fn tag(&self, node: NodeId) -> Tag {
        self.looks().tags[self.looks().place(node)]
    }

    /// Equal numbers mean equal sets of classes.
    pub fn class_set(&self, node: NodeId) -> u32 {
        self.looks().classes[self.looks().place(node)]
    }

    pub fn shape_len(&self, node: NodeId) -> usize {
        self.looks().shape_len(node)
    }

    pub fn span(&self, node: NodeId) -> Span {
        self.tokens.span(node)
    }

    /// The children that left tokens: elements and texts.
    pub fn items(&self, parent: NodeId) -> impl Iterator<Item = NodeId> {
        self.tree().children(parent).filter(|&child| {
            let span = self.span(child);
            span.start < span.stop
        })
    }

    pub fn shape_overlap(&self, a: NodeId, b: NodeId) -> f64 {
        self.looks().shape_overlap(a, b)
    }

    /// 0 when the tags differ, else how much of shape and classes is shared.
    pub fn alike(&self, a: NodeId, b: NodeId) -> f64 {
        if self.tag(a) != self.tag(b) {
            return 0.0;
        }
        let (class_a, class_b) = (self.class_set(a), self.class_set(b));
        let sets = &self.looks().class_sets;
        let none = sets.get(class_a).is_empty() && sets.get(class_b).is_empty();
        let by_class = if none { 0.5 } else { sets.jaccard(class_a, class_b) };
        0.8 * self.shape_overlap(a, b) + 0.2 * by_class
    }

    /// Leader clustering: each node's cluster, numbered by first appearance.
    pub fn clusters(&self, nodes: &[NodeId]) -> Vec<u32> {
        let mut leaders: Vec<NodeId> = Vec::new();
        let mut seen: HashMap<(Tag, u32, u32), u32> = HashMap::new();
        let mut clusters = Vec::with_capacity(nodes.len());
        for &node in nodes {
            let key = (self.tag(node), self.looks().shape(node), self.class_set(node));
            let cluster = *seen.entry(key).or_insert_with(|| {
                let near = leaders.iter().enumerate().map(|(i, &leader)| (self.alike(leader, node), i));
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

impl Looks {
    fn new(tokens: &Tokens<'_>, root: NodeId) -> Looks {
        let tree = tokens.tree;
        let count = (tree.end(root).0 - root.0) as usize;
        let mut tag_ids: HashMap<&Name, Tag> = HashMap::new();
        let mut class_ids: HashMap<&str, u32> = HashMap::new();
        let mut class_sets = Sets::default();
        let no_class = class_sets.intern(&mut Vec::new());
        // Equal attributes are equal sets: as a rule a page has few.
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut tags = Vec::with_capacity(count);
        let mut classes = Vec::with_capacity(count);
        for node in tree.subtree(root) {
            let next = TEXT + 1 + tag_ids.len() as Tag;
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
        Looks { first: root.index(), tags, shapes, classes, shape_sets, class_sets }
    }

    fn place(&self, node: NodeId) -> usize {
        node.index() - self.first
    }

    fn shape(&self, node: NodeId) -> u32 {
        self.shapes[self.place(node)]
    }

    fn shape_len(&self, node: NodeId) -> usize {
        self.shape_sets.get(self.shape(node)).len()
    }

    fn shape_overlap(&self, a: NodeId, b: NodeId) -> f64 {
        self.shape_sets.jaccard(self.shape(a), self.shape(b))
    }
}

/// Bottom up: a node's paths are its tag, and its tag before each shorter path of a child.
fn shapes_of(tokens: &Tokens<'_>, root: NodeId, tags: &[Tag]) -> (Vec<u32>, Sets) {
    let tree = tokens.tree;
    let mut paths = Paths::default();
    let mut sets = Sets::default();
    let mut shapes = vec![0; tags.len()];
    // Room, kept from node to node: a page has hundreds of thousands.
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
        set.push(paths.before(tag, None));
        for &shape in &inside {
            for &path in sets.get(shape) {
                if paths.length(path) < MAX_PATH {
                    set.push(paths.before(tag, Some(path)));
                }
            }
        }
        shapes[place] = sets.intern(&mut set);
    }
    (shapes, sets)
}

#[derive(Default)]
struct Paths {
    ids: HashMap<(Tag, Option<u32>), u32>,
    lengths: Vec<u8>,
}

impl Paths {
    fn before(&mut self, tag: Tag, path: Option<u32>) -> u32 {
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

/// Sets of numbers, each kept once, sorted.
#[derive(Default)]
struct Sets {
    /// By a print of the numbers. Of two sets with one print the later is not found again, and is kept once more.
    ids: HashMap<u64, u32>,
    /// All sets, one behind the other: on some pages every node has a set of its own.
    numbers: Vec<u32>,
    /// Of each set: where it ends, and the next begins.
    ends: Vec<usize>,
}

impl Sets {
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
            "<ul><li><a>x</a><b>1</b><li><a>y</a><b>2</b><li><a>z</a><li><img><p><i>ad</i></p><div><em>!</em></div></ul>",
        );
        let view = View::new(&tree);
        let ul = tree.elements("ul").next().expect("the page has a list");
        let items: Vec<NodeId> = view.items(ul).collect();
        assert_eq!(view.clusters(&items), [0, 0, 0, 1]);
    }
}
