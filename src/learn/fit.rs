//! A template laid over a page: which of the page's row sets are its rows, and which leaf is which slot.

mod cache;
mod direct;

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::columns::AlignedRow;
use super::features::sample;
use super::find::{Finder, PageView, row_sets};
use super::header;
use super::inner_lists;
use super::layout::{self, RowHeadings};
use super::leaf::{Leaf, MAX_LEAVES, is_too_wide};
use super::limit::Limit;
use super::offset;
use super::paths::PathInterner;
use super::similarity;
use super::template::{RowPart, Template, TrainingFit, Variant};
use crate::model::SimilarityParts;
use crate::page::NodeId;
use crate::page::tokens::Span;

pub use self::cache::FitCache;

/// A row counts by how far it fits better than this; with 0.4 half rows were preferred (docs/design/learning.md 2.5).
const MIN_QUALITY: f64 = 0.5;
/// What the scan over single nodes must reach a row.
const MIN_SCAN_QUALITY: f64 = 0.6;
/// The scan must be this much better than the best list, for it knows nothing of lists.
const SCAN_BONUS: f64 = 1.2;
/// What a row loses whose values have all moved: a table with other columns fits as well otherwise.
const MOVED_PENALTY: f64 = 0.5;
/// What rows of a table count that none of the names stand above.
const FOREIGN_HEADER_WEIGHT: f64 = 0.25;
/// Rows that wear the row's class, this share of as many as there were: then they are the list, whatever else fits.
const MIN_CLASS_ROWS_SHARE: f64 = 0.34;
/// Row sets that are laid out in full, after a look at a few rows of each.
const MAX_FULL_FITS: usize = 12;
const GLANCE_ROWS: usize = 6;
/// Elements of a page that are tried as its one record.
const MAX_PAGE_PARTS: usize = 40;

/// The rows of a page under one variant of the template.
pub struct Fit {
    /// Which of the template's variants fits best.
    pub variant: usize,
    pub rows: Vec<AlignedRow>,
    pub similarity: f64,
    pub likeness: SimilarityParts,
    gain: f64,
    /// What the rows were read with: the path numbers of their leaves.
    pub cache: FitCache,
}

impl Fit {
    /// Values of the rows are left out, or may stand under a wrong column. Columns that are not made of the rows' leaves do not
    /// care.
    pub fn limit(&self, template: &Template, view: &PageView<'_>) -> Option<Limit> {
        let sources = template.variants[self.variant].sources.iter().zip(template.columns());
        let mut shown = sources.filter(|(_, column)| !column.hidden).flat_map(|(source, _)| source);
        if !shown.any(|source| !source.slots().is_empty()) {
            return None;
        }
        let too_wide = || self.rows.iter().any(|row| is_too_wide(&view.tokens, row.span)).then_some(Limit::Leaves);
        self.cache.aligner.limit().or_else(too_wide)
    }
}

/// The most that a page without a fitting row is like the template: less than [`similarity::THRESHOLD`].
const MAX_SIMILARITY_WITHOUT_ROWS: f64 = 0.69;
/// Rows that fit so well by paths, which have no classes, are built as they were.
const UNCHANGED_FIT: f64 = 0.95;

/// What is there of what was, at most all.
fn capped_ratio(now: f64, own: f64) -> f64 {
    if own > 0.0 { (now / own).min(1.0) } else { now }
}

/// What the rows that a variant was made of look like under it.
pub fn training_fit(
    variant: &Variant,
    view: &PageView<'_>,
    rows: &[AlignedRow],
    paths: &mut PathInterner,
) -> TrainingFit {
    let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
    let mut fitter = Fitter::with_cache(FitCache::new(variant, std::mem::take(paths)), view);
    let similarity = fitter.cache.token_matcher.of_rows(&view.tokens, variant, &spans);
    let own = TrainingFit { similarity, quality: fitter.mean_quality(rows) };
    *paths = fitter.cache.paths;
    own
}

/// Lays every variant over the page and keeps the one that gains most.
pub fn fit(template: &Template, view: &PageView<'_>) -> Option<Fit> {
    fit_with_cache(template, view, &mut None)
}

/// As [`fit`], with what is left from the page before. It makes no difference but in time.
pub fn fit_with_cache(template: &Template, view: &PageView<'_>, kit: &mut Option<FitCache>) -> Option<Fit> {
    match template.variants.as_slice() {
        [variant] if variant.rule.is_none() => {
            let ready = kit.take().unwrap_or_else(|| FitCache::new(variant, PathInterner::default()));
            fit_directly(variant, 0, view, ready).or_else(|| fit_exhaustively(template, view))
        }
        // What a person said about the rows is heard on the long way, and several formats are told apart there.
        _ => fit_exhaustively(template, view),
    }
}

/// The long way: over all row sets of the page.
pub fn fit_exhaustively(template: &Template, view: &PageView<'_>) -> Option<Fit> {
    let sets: Vec<Vec<Span>> = row_sets(view).into_iter().map(|set| set.rows).collect();
    let variants = template.variants.iter().enumerate();
    best_gain(variants.map(|(i, variant)| fit_variant(variant, i, view, &sets)))
}

fn fit_directly(variant: &Variant, index: usize, view: &PageView<'_>, kit: FitCache) -> Option<Fit> {
    let mut fitter = Fitter::with_cache(kit, view);
    let (gain, rows) = direct::rows(&mut fitter, variant)?;
    let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
    let similarity = fitter.cache.token_matcher.of_rows(&view.tokens, variant, &spans);
    Some(fitter.into_fit(variant, index, rows, similarity, gain))
}

fn best_gain(fits: impl Iterator<Item = Fit>) -> Option<Fit> {
    fits.fold(None, |best: Option<Fit>, it| match best {
        Some(best) if (best.gain, best.similarity) >= (it.gain, it.similarity) => Some(best),
        _ => Some(it),
    })
}

fn fit_variant(variant: &Variant, index: usize, view: &PageView<'_>, sets: &[Vec<Span>]) -> Fit {
    if let Some(told) = variant.rule.as_ref().and_then(|rule| rule.rows(view)) {
        return fit_rule_rows(variant, index, view, &told.rows);
    }
    let adjusted = variant.rule.as_ref().and_then(|rule| rule.adjusted_row_sets(view));
    let sets = adjusted.as_deref().unwrap_or(sets);
    let mut fitter = Fitter::new(variant, view);
    if variant.finder == Finder::Page {
        return fitter.fit_page(variant, index);
    }
    let mut glances: Vec<(f64, f64, usize)> = sets
        .iter()
        .enumerate()
        .map(|(i, rows)| {
            let (gain, mean) = fitter.estimate_gain(rows);
            (gain, mean, i)
        })
        .collect();
    glances.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    glances.truncate(MAX_FULL_FITS);
    let mut best: (f64, Vec<Span>) = (0.0, Vec::new());
    for &(_, _, i) in &glances {
        let (gain, rows) = fitter.gain(&sets[i], variant.floor);
        let gain = gain * fitter.set_header_weight(variant, &rows);
        if gain > best.0 {
            best = (gain, rows);
        }
    }
    let (gain, rows) = fitter.scan(variant);
    let gain = gain * fitter.set_header_weight(variant, &rows);
    let are_enough = rows.len() >= 2 && rows.len() as f64 >= MIN_CLASS_ROWS_SHARE * f64::from(variant.rows);
    if gain > best.0 * SCAN_BONUS || are_enough && !fitter.have_root_class(variant, &best.1) {
        best = (gain, rows);
    }
    if variant.finder.is_token_based() {
        let (gain, rows) = fitter.gain(&offset::matching_rows(view, variant), variant.floor);
        if gain > best.0 {
            best = (gain, rows);
        }
    }
    let (gain, rows) = best;
    let similarity = if rows.is_empty() {
        fitter.similarity_without_rows(variant, glances.iter().map(|&(_, mean, i)| (mean, sets[i].as_slice())))
    } else {
        similarity::of_rows(&view.tokens, variant, &rows)
    };
    let headings = layout::headings(view, &rows);
    let rows = rows.into_iter().zip(headings).map(|(row, above)| fitter.align_row(row, above)).collect();
    fitter.into_fit(variant, index, rows, similarity, gain)
}

/// Those of the given stretches that fit a variant at least so well, laid out.
pub fn fit_given_rows(variant: &Variant, index: usize, view: &PageView<'_>, spans: &[Span], floor: f64) -> Fit {
    let mut fitter = Fitter::new(variant, view);
    let (gain, rows) = fitter.gain(spans, floor);
    let similarity = similarity::of_rows(&view.tokens, variant, &rows);
    let headings = layout::headings(view, &rows);
    let rows = rows.into_iter().zip(headings).map(|(row, heading)| fitter.align_row(row, heading)).collect();
    fitter.into_fit(variant, index, rows, similarity, gain)
}

/// Rows that a person's rule gives are rows, however well they fit.
fn fit_rule_rows(variant: &Variant, index: usize, view: &PageView<'_>, rows: &[Span]) -> Fit {
    fit_given_rows(variant, index, view, rows, 0.0)
}

/// Rows may fit worse than [`MIN_QUALITY`] where rows of the list itself did; or must fit better, where neighbours that are
/// not of the list do too. Bounded, for the next page may be a little different.
const LOWEST_FLOOR: f64 = 0.3;
const HIGHEST_FLOOR: f64 = 0.6;

/// How well a row must fit to belong to the list, from the rows that do and their neighbours that do not.
///
/// The rows are read already, and `paths` are those of their leaves.
pub fn quality_floor(variant: &Variant, view: &PageView<'_>, rows: &[AlignedRow], paths: &mut PathInterner) -> f64 {
    let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
    let mut fitter = Fitter::with_cache(FitCache::new(variant, std::mem::take(paths)), view);
    let looked_at = sample(&rows.iter().collect::<Vec<_>>());
    let inside = looked_at.into_iter().map(|row| fitter.quality_of(&row.leaves)).fold(1.0, f64::min);
    let outside = sample(&neighbours(view, &spans)).into_iter().map(|row| fitter.quality(row)).fold(0.0, f64::max);
    *paths = fitter.cache.paths;
    if outside < inside && outside > LOWEST_FLOOR {
        ((inside + outside) / 2.0).clamp(LOWEST_FLOOR, HIGHEST_FLOOR)
    } else {
        (0.95 * inside).clamp(LOWEST_FLOOR, MIN_QUALITY)
    }
}

/// Siblings of the rows that are no rows, where each row is one element.
fn neighbours(view: &PageView<'_>, rows: &[Span]) -> Vec<Span> {
    let tree = view.tree();
    let roots = rows.iter().map(|row| view.tokens.list[row.start as usize].node);
    let mut parents: Vec<NodeId> = roots.filter_map(|node| tree.parent(node)).collect();
    parents.dedup();
    let taken: HashSet<Span> = rows.iter().copied().collect();
    let siblings = parents.into_iter().take(60).flat_map(|parent| view.items(parent)).map(|node| view.span(node));
    siblings.filter(|span| !taken.contains(span) && view.tokens.weight(*span) > 0).collect()
}

struct Fitter<'v, 't> {
    view: &'v PageView<'t>,
    cache: FitCache,
    /// Of each table that was looked at: how many of the names above the columns stand above it.
    headers: HashMap<NodeId, f64>,
    qualities: HashMap<Span, f64>,
    /// Of each row that was read: how many of its values have moved.
    moved_shares: HashMap<Span, f64>,
    /// Rows as they were read, where they are few and each is asked for again.
    read_rows: Option<HashMap<Span, ReadRow>>,
}

/// A row's quality, its leaves, and of each column which of them.
type ReadRow = (f64, Vec<Leaf>, Vec<Option<usize>>);

impl<'v, 't> Fitter<'v, 't> {
    fn new(variant: &Variant, view: &'v PageView<'t>) -> Fitter<'v, 't> {
        Fitter::with_cache(FitCache::new(variant, PathInterner::default()), view)
    }

    fn with_cache(kit: FitCache, view: &'v PageView<'t>) -> Fitter<'v, 't> {
        Fitter {
            view,
            cache: kit,
            headers: HashMap::new(),
            qualities: HashMap::new(),
            moved_shares: HashMap::new(),
            read_rows: None,
        }
    }

    fn leaves(&mut self, span: Span, most: usize) -> Vec<Leaf> {
        inner_lists::read_leaves(&self.view.tokens, span, &self.cache.repeats, most, &mut self.cache.paths)
    }

    fn align_row(&mut self, span: Span, above: Rc<RowHeadings>) -> AlignedRow {
        let leaves = self.leaves(span, MAX_LEAVES);
        let cells = self.cache.aligner.align(&leaves, &mut self.cache.paths);
        AlignedRow { span, leaves, cells, headings: above }
    }

    fn quality(&mut self, span: Span) -> f64 {
        if let Some(&known) = self.qualities.get(&span) {
            return known;
        }
        let read = self.read(span);
        let quality = read.as_ref().map_or(0.0, |(quality, _, _)| *quality);
        self.qualities.insert(span, quality);
        if let (Some(kept), Some(read)) = (&mut self.read_rows, read) {
            kept.insert(span, read);
        }
        quality
    }

    /// The quality of a row that is read already.
    fn quality_of(&mut self, leaves: &[Leaf]) -> f64 {
        if leaves.len() > self.most_leaves() {
            return 0.0;
        }
        let cells = self.cache.aligner.align(leaves, &mut self.cache.paths);
        self.cache.aligner.quality(leaves, &cells, &self.cache.paths)
    }

    /// … where its values stand among more or fewer than they stood, less.
    fn penalise_moved(&mut self, span: Span, cells: &[Option<usize>], quality: f64) -> f64 {
        quality * (1.0 - MOVED_PENALTY * self.moved_share(span, cells))
    }

    fn moved_share(&mut self, span: Span, cells: &[Option<usize>]) -> f64 {
        if !self.cache.slot_positions.is_order_dependent() {
            return 0.0;
        }
        if let Some(&known) = self.moved_shares.get(&span) {
            return known;
        }
        let moved = self.cache.slot_positions.moved_share(&self.view.tokens, span, cells, &mut self.cache.paths);
        self.moved_shares.insert(span, moved);
        moved
    }

    /// The share of the rows' values that stand where they stood; 1 where nothing is told apart by order.
    fn in_place_share(&mut self, rows: &[AlignedRow]) -> f64 {
        let looked_at = sample(&rows.iter().collect::<Vec<_>>());
        let moved: f64 = looked_at.iter().map(|row| self.moved_share(row.span, &row.cells)).sum();
        1.0 - moved / looked_at.len().max(1) as f64
    }

    /// A row with more than three leaves to a column cannot reach the least quality, and need not be aligned.
    fn most_leaves(&self) -> usize {
        self.cache.aligner.columns.len() * 3
    }

    /// The rows are laid out; nothing more is asked of the page.
    fn into_fit(mut self, variant: &Variant, index: usize, rows: Vec<AlignedRow>, similarity: f64, gain: f64) -> Fit {
        let fit = (!rows.is_empty()).then(|| capped_ratio(self.mean_quality(&rows), variant.own.quality));
        let places = self.in_place_share(&rows);
        // Where no row fits, the page is below the line, however near the nearest list comes.
        let most = if rows.is_empty() { MAX_SIMILARITY_WITHOUT_ROWS } else { 1.0 };
        let mut tags = most * capped_ratio(similarity, variant.own.similarity);
        // Where everything else is as it was, only the classes have new names.
        if tags < similarity::THRESHOLD && fit.is_some_and(|fit| fit >= UNCHANGED_FIT) && places >= UNCHANGED_FIT {
            let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
            let bare = similarity::without_classes(&self.view.tokens, variant, &spans);
            tags = tags.max(capped_ratio(bare, variant.own.similarity));
        }
        let header = rows.first().map_or(1.0, |row| self.header_match(row.span));
        let likeness = SimilarityParts { tags, fit, places, header };
        Fit { variant: index, rows, similarity, likeness, gain, cache: self.cache }
    }

    fn mean_quality(&self, rows: &[AlignedRow]) -> f64 {
        let looked_at = sample(&rows.iter().collect::<Vec<_>>());
        let total: f64 =
            looked_at.iter().map(|row| self.cache.aligner.quality(&row.leaves, &row.cells, &self.cache.paths)).sum();
        total / looked_at.len().max(1) as f64
    }

    /// Nothing where there are too many leaves, and where the names above the columns stand: of a small table they are cells like any other.
    fn read(&mut self, span: Span) -> Option<ReadRow> {
        if header::is_header(self.view, span, &self.cache.header) {
            return None;
        }
        let most = self.most_leaves();
        let leaves = self.leaves(span, MAX_LEAVES.min(most + 1));
        if leaves.len() > most {
            return None;
        }
        let cells = self.cache.aligner.align(&leaves, &mut self.cache.paths);
        let quality = self.cache.aligner.quality(&leaves, &cells, &self.cache.paths);
        Some((self.penalise_moved(span, &cells, quality), leaves, cells))
    }

    /// Gain and mean quality as a few of the rows promise them.
    fn estimate_gain(&mut self, rows: &[Span]) -> (f64, f64) {
        let step = rows.len().div_ceil(GLANCE_ROWS);
        let looked: Vec<f64> = rows.iter().step_by(step).map(|&row| self.quality(row)).collect();
        let gain: f64 = looked.iter().map(|quality| (quality - MIN_QUALITY).max(0.0)).sum();
        let share = rows.len() as f64 / looked.len() as f64;
        (gain * share, looked.iter().sum::<f64>() / looked.len() as f64)
    }

    /// How many of the names above the columns stand above this row; all where there were none.
    fn header_match(&mut self, row: Span) -> f64 {
        if self.cache.header.is_empty() {
            return 1.0;
        }
        let node = self.view.tokens.list[row.start as usize].node;
        let Some(table) = header::table_of(self.view, node) else { return 0.0 };
        let now = || header::kept_share(&self.cache.header, &header::of_table(self.view, table));
        *self.headers.entry(table).or_insert_with(now)
    }

    /// What a row's gain counts under the header that stands above it.
    fn header_weight(&mut self, row: Span) -> f64 {
        FOREIGN_HEADER_WEIGHT + (1.0 - FOREIGN_HEADER_WEIGHT) * self.header_match(row)
    }

    /// The same for a whole set. Children of one parent are no rows of several: those must be clearly more.
    fn set_header_weight(&mut self, variant: &Variant, rows: &[Span]) -> f64 {
        let Some(&first) = rows.first() else { return 1.0 };
        let tree = self.view.tree();
        let parent = |row: &Span| tree.parent(self.view.tokens.list[row.start as usize].node);
        let is_scattered = variant.finder == Finder::Siblings && rows.iter().any(|row| parent(row) != parent(&first));
        self.header_weight(first) / if is_scattered { SCAN_BONUS } else { 1.0 }
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
        let [RowPart::Element(root)] = variant.parts.as_slice() else { return (0.0, Vec::new()) };
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
            if quality >= variant.floor.max(MIN_SCAN_QUALITY) {
                gain += quality - MIN_QUALITY;
                kept.push(span);
                inside = tree.end(node);
            }
        }
        (gain, kept)
    }

    /// Does any of the rows wear one of the classes of the row's own element?
    fn have_root_class(&self, variant: &Variant, rows: &[Span]) -> bool {
        let [RowPart::Element(root)] = variant.parts.as_slice() else { return true };
        let tree = self.view.tree();
        let known = |class: &str| root.classes.iter().any(|it| it == class);
        rows.iter().any(|row| tree.classes(self.view.tokens.list[row.start as usize].node).any(known))
    }

    /// The page as one record: of the elements like the row's own the one that fits best, the outermost of equals.
    fn fit_page(mut self, variant: &Variant, index: usize) -> Fit {
        let mut spans = self.elements_like_root(variant);
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
        let rows = rows.into_iter().filter(|_| is_record).map(|row| self.align_row(row, Rc::default())).collect();
        let gain = (quality - MIN_QUALITY).max(0.0);
        self.into_fit(variant, index, rows, similarity, gain)
    }

    /// Elements with the tag of the row's own, and one of its classes where any has one: some are made for one page.
    fn elements_like_root(&self, variant: &Variant) -> Vec<Span> {
        let [RowPart::Element(root)] = variant.parts.as_slice() else { return vec![self.view.tokens.all()] };
        let tree = self.view.tree();
        let known = |class: &str| root.classes.iter().any(|it| it == class);
        let same_tag: Vec<NodeId> = tree.subtree(tree.root()).filter(|&node| tree.tag(node) == root.tag).collect();
        let same_class: Vec<NodeId> = same_tag.iter().copied().filter(|&node| tree.classes(node).any(known)).collect();
        let nodes = if same_class.is_empty() { same_tag } else { same_class };
        nodes.into_iter().map(|node| self.view.span(node)).collect()
    }

    /// The similarity of a page where no row fits: the best list's, less as far as its rows fit worse than a row may.
    fn similarity_without_rows<'s>(&self, variant: &Variant, lists: impl Iterator<Item = (f64, &'s [Span])>) -> f64 {
        let near = |(mean, rows): (f64, &[Span])| {
            similarity::of_rows(&self.view.tokens, variant, &sample(rows)) * (mean / MIN_QUALITY).min(1.0)
        };
        lists.map(near).fold(0.0, f64::max)
    }
}
