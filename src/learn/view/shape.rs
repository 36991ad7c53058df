//! The shape of a node: its tag, its classes and the tag paths below it.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashMapExt};

use crate::page::tokens::Tokens;
use crate::page::{Name, NodeId};

/// Maximum length of tag paths; longer ones separate rows that a reader calls alike (docs/design/learning.md 2.1).
const MAX_PATH: u8 = 4;

/// Tags as small numbers. Text is a tag of its own.
pub type TagId = u32;
const TEXT: TagId = 0;

/// Tag, shape and classes of each node, as numbers.
pub struct NodeShapes {
    /// Index of the first node covered; the vectors start there.
    first: usize,
    tags: Vec<TagId>,
    shapes: Vec<u32>,
    classes: Vec<u32>,
    shape_sets: SetInterner,
    class_sets: SetInterner,
}

impl NodeShapes {
    pub fn new(tokens: &Tokens<'_>, root: NodeId) -> NodeShapes {
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

    pub fn tag(&self, node: NodeId) -> TagId {
        self.tags[self.index_of(node)]
    }

    pub fn class_set(&self, node: NodeId) -> u32 {
        self.classes[self.index_of(node)]
    }

    pub fn shape(&self, node: NodeId) -> u32 {
        self.shapes[self.index_of(node)]
    }

    pub fn shape_len(&self, node: NodeId) -> usize {
        self.shape_sets.get(self.shape(node)).len()
    }

    pub fn shape_overlap(&self, a: NodeId, b: NodeId) -> f64 {
        self.shape_sets.jaccard(self.shape(a), self.shape(b))
    }

    /// `None` if neither node has classes.
    pub fn class_overlap(&self, a: NodeId, b: NodeId) -> Option<f64> {
        let (a, b) = (self.class_set(a), self.class_set(b));
        let none = self.class_sets.get(a).is_empty() && self.class_sets.get(b).is_empty();
        (!none).then(|| self.class_sets.jaccard(a, b))
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
