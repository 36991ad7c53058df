//! Interned paths from a row to its leaves: each path is stored once, as a number, and compared by common steps.

use foldhash::{HashMap, HashMapExt};

use super::text::{fingerprint, is_inline};
use crate::page::{Name, NodeId, Tree};

/// Weight of the overlap without inline formatting, relative to the overlap as written.
const PLAIN_OVERLAP_WEIGHT: f64 = 0.9;

/// A step that only formats: `span`, `b` and the like.
fn is_presentational(step: &str) -> bool {
    step == "span" || is_inline(step)
}

/// Tag and classes; without classes that contain a digit, which are usually generated.
pub fn class_step(tree: &Tree, node: NodeId) -> String {
    let mut step = tree.tag(node).to_owned();
    for class in tree.classes(node).filter(|class| !class.bytes().any(|b| b.is_ascii_digit())) {
        step.push('.');
        step.push_str(class);
    }
    step
}

/// A path from the row, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(u32);

impl PathId {
    /// The row itself, above its first element.
    pub const TOP: PathId = PathId(0);
}

/// The interned paths.
#[derive(Debug)]
pub struct PathInterner {
    steps: HashMap<String, u32>,
    /// Steps by class attribute: pairs of tag and step.
    class_steps: HashMap<String, Vec<(u32, u32)>>,
    names: Vec<String>,
    ids: HashMap<(PathId, u32), PathId>,
    /// Cache of child paths, by parent paths, element name and hash of the class attribute: rows have equal structure.
    element_paths: HashMap<(PathId, PathId, Name, u64), (PathId, PathId)>,
    /// Parent and last step of each path.
    list: Vec<(PathId, u32)>,
    /// Number of steps of each path.
    lengths: Vec<u32>,
    /// Each path without formatting steps.
    plain: Vec<PathId>,
}

impl Default for PathInterner {
    fn default() -> PathInterner {
        PathInterner {
            steps: HashMap::new(),
            class_steps: HashMap::new(),
            names: Vec::new(),
            ids: HashMap::new(),
            element_paths: HashMap::new(),
            list: vec![(PathId::TOP, 0)],
            lengths: vec![0],
            plain: vec![PathId::TOP],
        }
    }
}

impl PathInterner {
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// The paths to an element without and with classes, from those to its parent. `is_bare`: its classes are ignored.
    pub(super) fn below_element(
        &mut self,
        (path, class_path): (PathId, PathId),
        tree: &Tree,
        node: NodeId,
        is_bare: bool,
    ) -> (PathId, PathId) {
        let Some(name) = tree.name(node) else { return (path, class_path) };
        let class = tree.class(node).filter(|_| !is_bare);
        let key = (path, class_path, name.clone(), class.map_or(0, fingerprint));
        if let Some(&known) = self.element_paths.get(&key) {
            return known;
        }
        let tag = self.step(name);
        let step = if class.is_none() { tag } else { self.class_step_id(tree, node, tag) };
        let below = (self.below_step(path, tag), self.below_step(class_path, step));
        self.element_paths.insert(key, below);
        below
    }

    fn step(&mut self, step: &str) -> u32 {
        if let Some(&id) = self.steps.get(step) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(step.to_owned());
        self.steps.insert(step.to_owned(), id);
        id
    }

    /// The step of an element with its classes; its text is built only for the first element with this class attribute.
    fn class_step_id(&mut self, tree: &Tree, node: NodeId, tag: u32) -> u32 {
        let class = tree.class(node).unwrap_or("");
        let known = self.class_steps.get(class).and_then(|steps| steps.iter().find(|(it, _)| *it == tag));
        if let Some(&(_, step)) = known {
            return step;
        }
        let step = self.step(&class_step(tree, node));
        self.class_steps.entry(class.to_owned()).or_default().push((tag, step));
        step
    }

    fn below_step(&mut self, above: PathId, step: u32) -> PathId {
        let next = PathId(self.list.len() as u32);
        let id = *self.ids.entry((above, step)).or_insert(next);
        if id == next {
            self.list.push((above, step));
            self.lengths.push(self.length(above) + 1);
            let (base, is_dress) = (self.plain(above), is_presentational(&self.names[step as usize]));
            self.plain.push(if is_dress { base } else { id });
            if !is_dress && base != above {
                self.plain[id.0 as usize] = self.below_step(base, step);
            }
        }
        id
    }

    /// The path without formatting steps.
    fn plain(&self, path: PathId) -> PathId {
        self.plain[path.0 as usize]
    }

    pub fn parse(&mut self, path: &str) -> PathId {
        path.split('/').filter(|step| !step.is_empty()).fold(PathId::TOP, |above, step| {
            let step = self.step(step);
            self.below_step(above, step)
        })
    }

    /// The path without its last step.
    pub fn above(&self, path: PathId) -> PathId {
        self.list[path.0 as usize].0
    }

    pub fn depth(&self, path: PathId) -> usize {
        self.length(path) as usize
    }

    /// The last step; empty at the top.
    pub fn last(&self, path: PathId) -> &str {
        self.steps(path).pop().unwrap_or_default()
    }

    pub fn steps(&self, path: PathId) -> Vec<&str> {
        self.numbers(path).into_iter().map(|step| self.names[step as usize].as_str()).collect()
    }

    pub fn path_text(&self, path: PathId) -> String {
        self.steps(path).join("/")
    }

    /// Do both end in the same tag and classes? Without classes the answer is no.
    pub fn ends_alike(&self, a: PathId, b: PathId) -> bool {
        let last = |path: PathId| self.list[path.0 as usize].1;
        a != PathId::TOP && b != PathId::TOP && last(a) == last(b) && self.names[last(a) as usize].contains('.')
    }

    /// Upper bound of [`PathInterner::overlap`], by the lengths alone.
    pub fn most_overlap(&self, a: PathId, b: PathId) -> f64 {
        let most = |a: u32, b: u32| f64::from(a.min(b)) / f64::from(a.max(b).max(1));
        let plain = most(self.length(self.plain(a)), self.length(self.plain(b)));
        most(self.length(a), self.length(b)).max(PLAIN_OVERLAP_WEIGHT * plain)
    }

    /// Common steps at both ends, relative to the longer path. Editors add and remove spans: the overlap without
    /// formatting counts nearly as much.
    pub fn overlap(&self, a: PathId, b: PathId) -> f64 {
        let (plain_a, plain_b) = (self.plain(a), self.plain(b));
        let as_written = self.overlap_of(a, b);
        if (plain_a, plain_b) == (a, b) {
            as_written
        } else {
            as_written.max(PLAIN_OVERLAP_WEIGHT * self.overlap_of(plain_a, plain_b))
        }
    }

    fn overlap_of(&self, a: PathId, b: PathId) -> f64 {
        let (long, short) = if self.length(a) < self.length(b) { (b, a) } else { (a, b) };
        let (longer, shorter) = (self.length(long), self.length(short));
        if longer == 0 {
            return 1.0;
        }
        let (mut x, mut y, mut suffix) = (long, short, 0);
        while y != PathId::TOP && self.list[x.0 as usize].1 == self.list[y.0 as usize].1 {
            (x, y, suffix) = (self.above(x), self.above(y), suffix + 1);
        }
        // The shorter path is a suffix of the longer: no step counts twice, so the prefix adds nothing.
        if suffix == shorter {
            return f64::from(shorter) / f64::from(longer);
        }
        let (mut x, mut y) = ((0..longer - shorter).fold(long, |path, _| self.above(path)), short);
        while x != y {
            (x, y) = (self.above(x), self.above(y));
        }
        let prefix = self.length(x);
        f64::from((prefix + suffix).min(shorter)) / f64::from(longer)
    }

    /// Number of steps of a path.
    fn length(&self, path: PathId) -> u32 {
        self.lengths[path.0 as usize]
    }

    fn numbers(&self, mut path: PathId) -> Vec<u32> {
        let mut steps = Vec::new();
        while path != PathId::TOP {
            let (above, step) = self.list[path.0 as usize];
            steps.push(step);
            path = above;
        }
        steps.reverse();
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_overlap_by_their_shared_ends_over_the_longer() {
        let mut paths = PathInterner::default();
        let mut overlap = |a: &str, b: &str| {
            let (a, b) = (paths.parse(a), paths.parse(b));
            assert_eq!(paths.overlap(a, b), paths.overlap(b, a));
            (paths.overlap(a, b) * 100.0).round()
        };
        assert_eq!(overlap("", ""), 100.0);
        assert_eq!(overlap("", "li"), 0.0);
        assert_eq!(overlap("li/a/b", "li/a/b"), 100.0);
        assert_eq!(overlap("li/a/b", "li/p/b"), 67.0);
        assert_eq!(overlap("li/p/b", "li/b"), 67.0);
        assert_eq!(overlap("li/a", "tr/td/i"), 0.0);
        assert_eq!(overlap("a/a/a/a", "a/a"), 50.0, "no step counts twice");
        assert_eq!(overlap("ul/li/b", "li/b"), 67.0, "the shorter is the longer's end");
    }

    #[test]
    fn an_editors_spans_hardly_count() {
        let mut paths = PathInterner::default();
        let (dressed, plain) = (paths.parse("tr/td/p/span/span/b"), paths.parse("tr/td/p"));
        assert!((paths.overlap(dressed, plain) - PLAIN_OVERLAP_WEIGHT).abs() < 1e-9);
        assert!(paths.most_overlap(dressed, plain) >= paths.overlap(dressed, plain));
    }
}
