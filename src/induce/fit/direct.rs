//! The short way to the rows: straight to the elements like the row's own, without asking what lists the page has.
//!
//! It weighs what the long way would weigh of them: the children of one parent, the cells of one grid, and all of them.
//! Where the outcome is not convincing it says nothing, and the long way is taken.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::{Fitter, MIN_QUALITY, MIN_SCANNED, SCAN_BONUS};
use crate::induce::columns::LaidRow;
use crate::induce::find::{Finder, MIN_COVERAGE};
use crate::induce::layout;
use crate::induce::leaf::Leaf;
use crate::induce::template::{Element, Part, Variant};
use crate::page::tokens::Span;
use crate::page::{NodeId, Tree};

/// Rows that fit on average this well were not missed for better ones: rows under another tag reach 0.67 at most, for all
/// their paths are new. On the corpus both ways then find the same rows, for each of five templates a page.
const CONVINCING: f64 = 0.75;
/// … and none of them less than this: where a row is doubtful, what the others of its list look like decides. With 0.5
/// rows of neighbouring lists came in on 15 pages of the corpus.
const SURE: f64 = 0.7;
/// … and there are at least this share of as many rows as where the template was learned.
const ENOUGH: f64 = 0.34;
const MIN_ROWS: usize = 2;
/// Elements that are looked at for each row that the template was learned from. With more the tag says nothing.
const MAX_TRIED: usize = 40;

/// An element that fits the template, as it was read.
struct Seen {
    node: NodeId,
    span: Span,
    quality: f64,
    leaves: Vec<Leaf>,
    cells: Vec<Option<usize>>,
}

/// The rows and what they gain, when there is no doubt.
pub(super) fn rows(fitter: &mut Fitter<'_, '_>, variant: &Variant) -> Option<(f64, Vec<LaidRow>)> {
    let [Part::Element(root)] = variant.parts.as_slice() else { return None };
    if !matches!(variant.finder, Finder::Siblings | Finder::Grid) {
        return None;
    }
    let mut seen = seen(fitter, variant, root)?;
    let chosen = choose(fitter, variant, root, &seen);
    let total: f64 = chosen.iter().map(|&i| seen[i].quality).sum();
    let convincing = chosen.len() >= MIN_ROWS
        && chosen.len() as f64 >= ENOUGH * f64::from(variant.rows)
        && chosen.iter().all(|&i| seen[i].quality >= SURE)
        && total >= CONVINCING * chosen.len() as f64;
    if !convincing {
        return None;
    }
    let spans: Vec<Span> = chosen.iter().map(|&i| seen[i].span).collect();
    let headings = layout::headings(fitter.view, &spans);
    let lay = |(i, heading): (&usize, Option<String>)| {
        let it = &mut seen[*i];
        let (leaves, cells) = (std::mem::take(&mut it.leaves), std::mem::take(&mut it.cells));
        LaidRow { span: it.span, leaves, cells, heading }
    };
    Some((total - MIN_QUALITY * chosen.len() as f64, chosen.iter().zip(headings).map(lay).collect()))
}

/// The elements that fit, in page order: those with the root's tag and one of its classes, and those with the tag that
/// stand beside them.
fn seen(fitter: &mut Fitter<'_, '_>, variant: &Variant, root: &Element) -> Option<Vec<Seen>> {
    let tree = fitter.view.tree();
    let most = MAX_TRIED * (variant.rows as usize).max(10);
    let mut tried = 0;
    let mut seen: Vec<Seen> = Vec::new();
    let mut parents: HashSet<NodeId> = HashSet::new();
    let mut others: Vec<NodeId> = Vec::new();
    for node in tree.subtree(tree.root()).filter(|&node| tree.tag(node) == root.tag) {
        if !is_known(tree, root, node) {
            others.push(node);
            continue;
        }
        tried += 1;
        if tried > most {
            return None;
        }
        if let Some(it) = look(fitter, node, variant.floor) {
            parents.extend(tree.parent(node));
            seen.push(it);
        }
    }
    let mut ways: HashMap<NodeId, u64> = HashMap::new();
    let mut way = |parent: NodeId| *ways.entry(parent).or_insert_with(|| path_print(tree, parent));
    let beside: HashSet<u64> = parents.iter().map(|&parent| way(parent)).collect();
    others.retain(|&node| {
        let Some(parent) = tree.parent(node) else { return false };
        parents.contains(&parent) || beside.contains(&way(parent))
    });
    if tried + others.len() > most {
        return None;
    }
    seen.extend(others.into_iter().filter_map(|node| look(fitter, node, variant.floor)));
    seen.sort_by_key(|it| it.node);
    Some(seen)
}

fn is_known(tree: &Tree, root: &Element, node: NodeId) -> bool {
    root.classes.is_empty() || shares_class(tree, root, node)
}

fn shares_class(tree: &Tree, root: &Element, node: NodeId) -> bool {
    tree.classes(node).any(|class| root.classes.iter().any(|it| it == class))
}

fn look(fitter: &mut Fitter<'_, '_>, node: NodeId, floor: f64) -> Option<Seen> {
    let span = fitter.view.span(node);
    if fitter.view.tokens.weight(span) == 0 {
        return None;
    }
    let (quality, leaves, cells) = fitter.read(span)?;
    (quality >= floor).then_some(Seen { node, span, quality, leaves, cells })
}

/// Which of those that fit are the list: the siblings, or the cells under several parents, that gain most; or all of
/// them, where that is clearly more.
fn choose(fitter: &Fitter<'_, '_>, variant: &Variant, root: &Element, seen: &[Seen]) -> Vec<usize> {
    let tree = fitter.view.tree();
    let page_weight = fitter.view.tokens.weight(fitter.view.tokens.all());
    let is_list = |places: &[usize]| {
        let weight: u32 = places.iter().map(|&i| fitter.view.tokens.weight(seen[i].span)).sum();
        places.len() >= MIN_ROWS && f64::from(weight) >= f64::from(page_weight) * MIN_COVERAGE
    };
    let gain = |places: &[usize]| places.iter().map(|&i| (seen[i].quality - MIN_QUALITY).max(0.0)).sum::<f64>();
    let mut siblings: Groups<NodeId> = Groups::default();
    let mut cells: Groups<u64> = Groups::default();
    for (i, it) in seen.iter().enumerate() {
        siblings.add(tree.parent(it.node).unwrap_or(tree.root()), i);
        cells.add(path_print(tree, it.node), i);
    }
    let mut best: (f64, Vec<usize>) = (0.0, Vec::new());
    for places in siblings.lists.into_iter().chain(cells.lists).filter(|places| is_list(places)) {
        let gain = gain(&places);
        if gain > best.0 {
            best = (gain, places);
        }
    }
    let mut inside = NodeId(0);
    let mut scanned: Vec<usize> = Vec::new();
    for (i, it) in seen.iter().enumerate() {
        if it.node >= inside && it.quality >= variant.floor.max(MIN_SCANNED) && shares_class(tree, root, it.node) {
            inside = tree.end(it.node);
            scanned.push(i);
        }
    }
    if gain(&scanned) > best.0 * SCAN_BONUS { scanned } else { best.1 }
}

/// Places by key, in order of first appearance.
struct Groups<K> {
    places: HashMap<K, usize>,
    lists: Vec<Vec<usize>>,
}

impl<K> Default for Groups<K> {
    fn default() -> Groups<K> {
        Groups { places: HashMap::new(), lists: Vec::new() }
    }
}

impl<K: std::hash::Hash + Eq> Groups<K> {
    fn add(&mut self, key: K, place: usize) {
        let list = *self.places.entry(key).or_insert_with(|| {
            self.lists.push(Vec::new());
            self.lists.len() - 1
        });
        self.lists[list].push(place);
    }
}

/// Equal for nodes with the same tag and the same tags above them.
fn path_print(tree: &Tree, node: NodeId) -> u64 {
    std::iter::once(node).chain(tree.ancestors(node)).fold(0, |print: u64, above| {
        print.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ crate::induce::leaf::fingerprint(tree.tag(above))
    })
}
