//! A template laid over a page: which of the page's row sets are its rows, and which leaf is which slot.

mod direct;
mod kit;

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::columns::LaidRow;
use super::features::sample;
use super::find::{Finder, View, row_sets};
use super::header;
use super::layout::{self, Above};
use super::leaf::{Leaf, MAX_LEAVES, is_too_wide};
use super::limit::Limit;
use super::offset;
use super::paths::Paths;
use super::repeat;
use super::similarity;
use super::template::{Own, Part, Template, Variant};
use crate::model::Likeness;
use crate::page::NodeId;
use crate::page::tokens::Span;

pub use kit::Kit;

/// A row counts by how far it fits better than this; with 0.4 half rows were preferred (learn-notes 2.5).
const MIN_QUALITY: f64 = 0.5;
/// What the scan over single nodes must reach a row.
const MIN_SCANNED: f64 = 0.6;
/// The scan must be this much better than the best list, for it knows nothing of lists.
const SCAN_BONUS: f64 = 1.2;
/// What a row loses whose values have all moved: a table with other columns fits as well otherwise.
const MOVED: f64 = 0.5;
/// What rows of a table count that none of the names stand above.
const FOREIGN_HEADER: f64 = 0.25;
/// Rows that wear the row's class, this share of as many as there were: then they are the list, whatever else fits.
const ENOUGH: f64 = 0.34;
/// Row sets that are laid out in full, after a look at a few rows of each.
const MAX_LAID_OUT: usize = 12;
const GLANCE: usize = 6;
/// Elements of a page that are tried as its one record.
const MAX_PAGE_PARTS: usize = 40;

/// The rows of a page under one variant of the template.
pub struct Fit {
    /// Which of the template's variants fits best.
    pub variant: usize,
    pub rows: Vec<LaidRow>,
    pub similarity: f64,
    pub likeness: Likeness,
    gain: f64,
    /// What the rows were read with: the path numbers of their leaves.
    pub kit: Kit,
}

impl Fit {
    /// Values of the rows are left out, or may stand under a wrong column. Columns that are not made of the rows' leaves do not
    /// care.
    pub fn limit(&self, template: &Template, view: &View<'_>) -> Option<Limit> {
        let sources = template.variants[self.variant].sources.iter().zip(template.columns());
        let mut shown = sources.filter(|(_, column)| !column.hidden).flat_map(|(source, _)| source);
        if !shown.any(|source| !source.slots().is_empty()) {
            return None;
        }
        let too_wide = || self.rows.iter().any(|row| is_too_wide(&view.tokens, row.span)).then_some(Limit::Leaves);
        self.kit.aligner.limit().or_else(too_wide)
    }
}

/// The most that a page without a fitting row is like the template: less than [`similarity::THRESHOLD`].
const WITHOUT_ROWS: f64 = 0.69;
/// Rows that fit so well by paths, which have no classes, are built as they were.
const SAME_FIT: f64 = 0.95;

/// What is there of what was, at most all.
fn share(now: f64, own: f64) -> f64 {
    if own > 0.0 { (now / own).min(1.0) } else { now }
}

/// What the rows that a variant was made of look like under it.
pub fn own(variant: &Variant, view: &View<'_>, rows: &[LaidRow], paths: &mut Paths) -> Own {
    let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
    let mut fitter = Fitter::with(Kit::new(variant, std::mem::take(paths)), view);
    let similarity = fitter.kit.looks.of_rows(&view.tokens, variant, &spans);
    let own = Own { similarity, quality: fitter.mean_quality(rows) };
    *paths = fitter.kit.paths;
    own
}

/// Lays every variant over the page and keeps the one that gains most.
pub fn fit(template: &Template, view: &View<'_>) -> Option<Fit> {
    fit_again(template, view, &mut None)
}

/// As [`fit`], with what is left from the page before. It makes no difference but in time.
pub fn fit_again(template: &Template, view: &View<'_>, kit: &mut Option<Kit>) -> Option<Fit> {
    match template.variants.as_slice() {
        [variant] if variant.rule.is_none() => {
            let ready = kit.take().unwrap_or_else(|| Kit::new(variant, Paths::default()));
            fit_directly(variant, 0, view, ready).or_else(|| fit_fully(template, view))
        }
        // What a person said about the rows is heard on the long way, and several formats are told apart there.
        _ => fit_fully(template, view),
    }
}

/// The long way: over all row sets of the page.
pub fn fit_fully(template: &Template, view: &View<'_>) -> Option<Fit> {
    let sets: Vec<Vec<Span>> = row_sets(view).into_iter().map(|set| set.rows).collect();
    let variants = template.variants.iter().enumerate();
    most_gained(variants.map(|(i, variant)| fit_variant(variant, i, view, &sets)))
}

fn fit_directly(variant: &Variant, index: usize, view: &View<'_>, kit: Kit) -> Option<Fit> {
    let mut fitter = Fitter::with(kit, view);
    let (gain, rows) = direct::rows(&mut fitter, variant)?;
    let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
    let similarity = fitter.kit.looks.of_rows(&view.tokens, variant, &spans);
    Some(fitter.done(variant, index, rows, similarity, gain))
}

fn most_gained(fits: impl Iterator<Item = Fit>) -> Option<Fit> {
    fits.fold(None, |best: Option<Fit>, it| match best {
        Some(best) if (best.gain, best.similarity) >= (it.gain, it.similarity) => Some(best),
        _ => Some(it),
    })
}

fn fit_variant(variant: &Variant, index: usize, view: &View<'_>, sets: &[Vec<Span>]) -> Fit {
    if let Some(told) = variant.rule.as_ref().and_then(|rule| rule.rows(view)) {
        return fit_told(variant, index, view, &told.rows);
    }
    let adjusted = variant.rule.as_ref().and_then(|rule| rule.adjusted(view));
    let sets = adjusted.as_deref().unwrap_or(sets);
    let mut fitter = Fitter::new(variant, view);
    if variant.finder == Finder::Page {
        return fitter.fit_page(variant, index);
    }
    let mut glances: Vec<(f64, f64, usize)> = sets
        .iter()
        .enumerate()
        .map(|(i, rows)| {
            let (gain, mean) = fitter.glance(rows);
            (gain, mean, i)
        })
        .collect();
    glances.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    glances.truncate(MAX_LAID_OUT);
    let mut best: (f64, Vec<Span>) = (0.0, Vec::new());
    for &(_, _, i) in &glances {
        let (gain, rows) = fitter.gain(&sets[i], variant.floor);
        let gain = gain * fitter.set_weight(variant, &rows);
        if gain > best.0 {
            best = (gain, rows);
        }
    }
    let (gain, rows) = fitter.scan(variant);
    let gain = gain * fitter.set_weight(variant, &rows);
    let are_enough = rows.len() >= 2 && rows.len() as f64 >= ENOUGH * f64::from(variant.rows);
    if gain > best.0 * SCAN_BONUS || are_enough && !fitter.wear_class(variant, &best.1) {
        best = (gain, rows);
    }
    if variant.finder.reads_tokens() {
        let (gain, rows) = fitter.gain(&offset::rows_like(view, variant), variant.floor);
        if gain > best.0 {
            best = (gain, rows);
        }
    }
    let (gain, rows) = best;
    let similarity = if rows.is_empty() {
        fitter.distance(variant, glances.iter().map(|&(_, mean, i)| (mean, sets[i].as_slice())))
    } else {
        similarity::of_rows(&view.tokens, variant, &rows)
    };
    let headings = layout::headings(view, &rows);
    let rows = rows.into_iter().zip(headings).map(|(row, above)| fitter.lay(row, above)).collect();
    fitter.done(variant, index, rows, similarity, gain)
}

/// Those of the given stretches that fit a variant at least so well, laid out.
pub fn rows_under(variant: &Variant, index: usize, view: &View<'_>, spans: &[Span], floor: f64) -> Fit {
    let mut fitter = Fitter::new(variant, view);
    let (gain, rows) = fitter.gain(spans, floor);
    let similarity = similarity::of_rows(&view.tokens, variant, &rows);
    let headings = layout::headings(view, &rows);
    let rows = rows.into_iter().zip(headings).map(|(row, heading)| fitter.lay(row, heading)).collect();
    fitter.done(variant, index, rows, similarity, gain)
}

/// Rows that a person's rule gives are rows, however well they fit.
fn fit_told(variant: &Variant, index: usize, view: &View<'_>, rows: &[Span]) -> Fit {
    rows_under(variant, index, view, rows, 0.0)
}

/// Rows may fit worse than [`MIN_QUALITY`] where rows of the list itself did; or must fit better, where neighbours that are
/// not of the list do too. Bounded, for the next page may be a little different.
const LOWEST_FLOOR: f64 = 0.3;
const HIGHEST_FLOOR: f64 = 0.6;

/// How well a row must fit to belong to the list, from the rows that do and their neighbours that do not.
///
/// The rows are read already, and `paths` are those of their leaves.
pub fn floor(variant: &Variant, view: &View<'_>, rows: &[LaidRow], paths: &mut Paths) -> f64 {
    let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
    let mut fitter = Fitter::with(Kit::new(variant, std::mem::take(paths)), view);
    let looked_at = sample(&rows.iter().collect::<Vec<_>>());
    let inside = looked_at.into_iter().map(|row| fitter.quality_of(&row.leaves)).fold(1.0, f64::min);
    let outside = sample(&neighbours(view, &spans)).into_iter().map(|row| fitter.quality(row)).fold(0.0, f64::max);
    *paths = fitter.kit.paths;
    if outside < inside && outside > LOWEST_FLOOR {
        ((inside + outside) / 2.0).clamp(LOWEST_FLOOR, HIGHEST_FLOOR)
    } else {
        (0.95 * inside).clamp(LOWEST_FLOOR, MIN_QUALITY)
    }
}

/// Siblings of the rows that are no rows, where each row is one element.
fn neighbours(view: &View<'_>, rows: &[Span]) -> Vec<Span> {
    let tree = view.tree();
    let roots = rows.iter().map(|row| view.tokens.list[row.start as usize].node);
    let mut parents: Vec<NodeId> = roots.filter_map(|node| tree.parent(node)).collect();
    parents.dedup();
    let taken: HashSet<Span> = rows.iter().copied().collect();
    let siblings = parents.into_iter().take(60).flat_map(|parent| view.items(parent)).map(|node| view.span(node));
    siblings.filter(|span| !taken.contains(span) && view.tokens.weight(*span) > 0).collect()
}

struct Fitter<'v, 't> {
    view: &'v View<'t>,
    kit: Kit,
    /// Of each table that was looked at: how many of the names above the columns stand above it.
    headers: HashMap<NodeId, f64>,
    qualities: HashMap<Span, f64>,
    /// Of each row that was read: how many of its values have moved.
    moved: HashMap<Span, f64>,
    /// Rows as they were read, where they are few and each is asked for again.
    kept: Option<HashMap<Span, Read>>,
}

/// A row's quality, its leaves, and of each column which of them.
type Read = (f64, Vec<Leaf>, Vec<Option<usize>>);

impl<'v, 't> Fitter<'v, 't> {
    fn new(variant: &Variant, view: &'v View<'t>) -> Fitter<'v, 't> {
        Fitter::with(Kit::new(variant, Paths::default()), view)
    }

    fn with(kit: Kit, view: &'v View<'t>) -> Fitter<'v, 't> {
        Fitter { view, kit, headers: HashMap::new(), qualities: HashMap::new(), moved: HashMap::new(), kept: None }
    }

    fn leaves(&mut self, span: Span, most: usize) -> Vec<Leaf> {
        repeat::read(&self.view.tokens, span, &self.kit.repeats, most, &mut self.kit.paths)
    }

    fn lay(&mut self, span: Span, above: Rc<Above>) -> LaidRow {
        let leaves = self.leaves(span, MAX_LEAVES);
        let cells = self.kit.aligner.align(&leaves, &mut self.kit.paths);
        LaidRow { span, leaves, cells, above }
    }

    fn quality(&mut self, span: Span) -> f64 {
        if let Some(&known) = self.qualities.get(&span) {
            return known;
        }
        let read = self.read(span);
        let quality = read.as_ref().map_or(0.0, |(quality, _, _)| *quality);
        self.qualities.insert(span, quality);
        if let (Some(kept), Some(read)) = (&mut self.kept, read) {
            kept.insert(span, read);
        }
        quality
    }

    /// The quality of a row that is read already.
    fn quality_of(&mut self, leaves: &[Leaf]) -> f64 {
        if leaves.len() > self.most_leaves() {
            return 0.0;
        }
        let cells = self.kit.aligner.align(leaves, &mut self.kit.paths);
        self.kit.aligner.quality(leaves, &cells, &self.kit.paths)
    }

    /// … where its values stand among more or fewer than they stood, less.
    fn placed(&mut self, span: Span, cells: &[Option<usize>], quality: f64) -> f64 {
        quality * (1.0 - MOVED * self.moved(span, cells))
    }

    fn moved(&mut self, span: Span, cells: &[Option<usize>]) -> f64 {
        if !self.kit.places.any() {
            return 0.0;
        }
        if let Some(&known) = self.moved.get(&span) {
            return known;
        }
        let moved = self.kit.places.moved(&self.view.tokens, span, cells, &mut self.kit.paths);
        self.moved.insert(span, moved);
        moved
    }

    /// The share of the rows' values that stand where they stood; 1 where nothing is told apart by order.
    fn in_place(&mut self, rows: &[LaidRow]) -> f64 {
        let looked_at = sample(&rows.iter().collect::<Vec<_>>());
        let moved: f64 = looked_at.iter().map(|row| self.moved(row.span, &row.cells)).sum();
        1.0 - moved / looked_at.len().max(1) as f64
    }

    /// A row with more than three leaves to a column cannot reach the least quality, and need not be aligned.
    fn most_leaves(&self) -> usize {
        self.kit.aligner.columns.len() * 3
    }

    /// The rows are laid out; nothing more is asked of the page.
    fn done(mut self, variant: &Variant, index: usize, rows: Vec<LaidRow>, similarity: f64, gain: f64) -> Fit {
        let fit = (!rows.is_empty()).then(|| share(self.mean_quality(&rows), variant.own.quality));
        let places = self.in_place(&rows);
        // Where no row fits, the page is below the line, however near the nearest list comes.
        let most = if rows.is_empty() { WITHOUT_ROWS } else { 1.0 };
        let mut tags = most * share(similarity, variant.own.similarity);
        // Where everything else is as it was, only the classes have new names.
        if tags < similarity::THRESHOLD && fit.is_some_and(|fit| fit >= SAME_FIT) && places >= SAME_FIT {
            let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
            let bare = similarity::without_classes(&self.view.tokens, variant, &spans);
            tags = tags.max(share(bare, variant.own.similarity));
        }
        let header = rows.first().map_or(1.0, |row| self.header_over(row.span));
        let likeness = Likeness { tags, fit, places, header };
        Fit { variant: index, rows, similarity, likeness, gain, kit: self.kit }
    }

    fn mean_quality(&self, rows: &[LaidRow]) -> f64 {
        let looked_at = sample(&rows.iter().collect::<Vec<_>>());
        let total: f64 =
            looked_at.iter().map(|row| self.kit.aligner.quality(&row.leaves, &row.cells, &self.kit.paths)).sum();
        total / looked_at.len().max(1) as f64
    }

    /// Nothing where there are too many leaves, and where the names above the columns stand: of a small table they are cells like any other.
    fn read(&mut self, span: Span) -> Option<Read> {
        if header::is_header(self.view, span, &self.kit.header) {
            return None;
        }
        let most = self.most_leaves();
        let leaves = self.leaves(span, MAX_LEAVES.min(most + 1));
        if leaves.len() > most {
            return None;
        }
        let cells = self.kit.aligner.align(&leaves, &mut self.kit.paths);
        let quality = self.kit.aligner.quality(&leaves, &cells, &self.kit.paths);
        Some((self.placed(span, &cells, quality), leaves, cells))
    }

    /// Gain and mean quality as a few of the rows promise them.
    fn glance(&mut self, rows: &[Span]) -> (f64, f64) {
        let step = rows.len().div_ceil(GLANCE);
        let looked: Vec<f64> = rows.iter().step_by(step).map(|&row| self.quality(row)).collect();
        let gain: f64 = looked.iter().map(|quality| (quality - MIN_QUALITY).max(0.0)).sum();
        let share = rows.len() as f64 / looked.len() as f64;
        (gain * share, looked.iter().sum::<f64>() / looked.len() as f64)
    }

    /// How many of the names above the columns stand above this row; all where there were none.
    fn header_over(&mut self, row: Span) -> f64 {
        if self.kit.header.is_empty() {
            return 1.0;
        }
        let node = self.view.tokens.list[row.start as usize].node;
        let Some(table) = header::table_of(self.view, node) else { return 0.0 };
        let now = || header::kept(&self.kit.header, &header::of_table(self.view, table));
        *self.headers.entry(table).or_insert_with(now)
    }

    /// What a row's gain counts under the header that stands above it.
    fn weight(&mut self, row: Span) -> f64 {
        FOREIGN_HEADER + (1.0 - FOREIGN_HEADER) * self.header_over(row)
    }

    /// The same for a whole set. Children of one parent are no rows of several: those must be clearly more.
    fn set_weight(&mut self, variant: &Variant, rows: &[Span]) -> f64 {
        let Some(&first) = rows.first() else { return 1.0 };
        let tree = self.view.tree();
        let parent = |row: &Span| tree.parent(self.view.tokens.list[row.start as usize].node);
        let is_scattered = variant.finder == Finder::Siblings && rows.iter().any(|row| parent(row) != parent(&first));
        self.weight(first) / if is_scattered { SCAN_BONUS } else { 1.0 }
    }

    fn gain(&mut self, rows: &[Span], floor: f64) -> (f64, Vec<Span>) {
        let mut gain = 0.0;
        let mut kept = Vec::new();
        for &row in rows {
            let quality = self.quality(row);
            if quality >= floor {
                gain += (quality - MIN_QUALITY).max(0.0);
                kept.push(row);
            }
        }
        (gain, kept)
    }

    /// Nodes like the row's own element, wherever they stand: a page may have one record only, and one is no list.
    fn scan(&mut self, variant: &Variant) -> (f64, Vec<Span>) {
        let [Part::Element(root)] = variant.parts.as_slice() else { return (0.0, Vec::new()) };
        let tree = self.view.tree();
        let mut gain = 0.0;
        let mut kept: Vec<Span> = Vec::new();
        let mut inside = NodeId(0);
        for node in tree.subtree(tree.root()) {
            let known = |class: &str| root.classes.iter().any(|it| it == class);
            if node < inside || tree.tag(node) != root.tag || !tree.classes(node).any(known) {
                continue;
            }
            let span = self.view.span(node);
            if self.view.tokens.weight(span) == 0 {
                continue;
            }
            let quality = self.quality(span);
            if quality >= variant.floor.max(MIN_SCANNED) {
                gain += quality - MIN_QUALITY;
                kept.push(span);
                inside = tree.end(node);
            }
        }
        (gain, kept)
    }

    /// Does any of the rows wear one of the classes of the row's own element?
    fn wear_class(&self, variant: &Variant, rows: &[Span]) -> bool {
        let [Part::Element(root)] = variant.parts.as_slice() else { return true };
        let tree = self.view.tree();
        let known = |class: &str| root.classes.iter().any(|it| it == class);
        rows.iter().any(|row| tree.classes(self.view.tokens.list[row.start as usize].node).any(known))
    }

    /// The page as one record: of the elements like the row's own the one that fits best, the outermost of equals.
    fn fit_page(mut self, variant: &Variant, index: usize) -> Fit {
        let mut spans = self.like_root(variant);
        // A heavier element holds more that could be the record; there are thousands of bare `div`s.
        spans.sort_by_key(|&span| std::cmp::Reverse(self.view.tokens.weight(span)));
        spans.truncate(MAX_PAGE_PARTS);
        let mut best: (f64, Option<Span>) = (0.0, None);
        for span in spans {
            let quality = self.quality(span);
            if quality > best.0 {
                best = (quality, Some(span));
            }
        }
        let (quality, row) = best;
        let rows: Vec<Span> = row.into_iter().collect();
        let similarity = similarity::of_rows(&self.view.tokens, variant, &rows) * (quality / MIN_QUALITY).min(1.0);
        let is_record = quality >= variant.floor;
        let rows = rows.into_iter().filter(|_| is_record).map(|row| self.lay(row, Rc::default())).collect();
        let gain = (quality - MIN_QUALITY).max(0.0);
        self.done(variant, index, rows, similarity, gain)
    }

    /// Elements with the tag of the row's own, and one of its classes where any has one: some are made for one page.
    fn like_root(&self, variant: &Variant) -> Vec<Span> {
        let [Part::Element(root)] = variant.parts.as_slice() else { return vec![self.view.tokens.all()] };
        let tree = self.view.tree();
        let known = |class: &str| root.classes.iter().any(|it| it == class);
        let same_tag: Vec<NodeId> = tree.subtree(tree.root()).filter(|&node| tree.tag(node) == root.tag).collect();
        let same_class: Vec<NodeId> = same_tag.iter().copied().filter(|&node| tree.classes(node).any(known)).collect();
        let nodes = if same_class.is_empty() { same_tag } else { same_class };
        nodes.into_iter().map(|node| self.view.span(node)).collect()
    }

    /// The similarity of a page where no row fits: the best list's, less as far as its rows fit worse than a row may.
    fn distance<'s>(&self, variant: &Variant, lists: impl Iterator<Item = (f64, &'s [Span])>) -> f64 {
        let near = |(mean, rows): (f64, &[Span])| {
            similarity::of_rows(&self.view.tokens, variant, &sample(rows)) * (mean / MIN_QUALITY).min(1.0)
        };
        lists.map(near).fold(0.0, f64::max)
    }
}
