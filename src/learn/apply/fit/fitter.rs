//! Reads rows of a page under one variant, with the quality of each.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};

use crate::learn::align::{AlignedRow, Aligner, Profile, RowHeadings, SlotPositions, headings, inner_lists};
use crate::learn::apply::exclusions::is_excluded;
use crate::learn::apply::similarity::{self, ClassComparison, TokenMatcher};
use crate::learn::columns::header;
use crate::learn::template::{Exclusions, Finder, RowPart, Template, TemplateElement, Variant};
use crate::learn::view::{Leaf, Limit, MAX_LEAVES, PageView, PathId, PathInterner, is_too_wide, sample};
use crate::model::SimilarityParts;
use crate::page::tokens::Span;
use crate::page::{NodeId, Tree};

/// The gain of a row is its quality above this; with 0.4 half rows were preferred (docs/design/learning.md 2.5).
pub const MIN_QUALITY: f64 = 0.5;
/// Minimum quality of a row in the scan over single nodes.
pub const MIN_SCAN_QUALITY: f64 = 0.6;
/// The scan must gain this many times as much as the best list, since it ignores the list structure.
pub const SCAN_BONUS: f64 = 1.2;
/// Maximum loss of a row whose values have moved: otherwise a table with other columns fits as well.
const MOVED_PENALTY: f64 = 0.5;
/// Weight of table rows without any of the learned header names above them.
const FOREIGN_HEADER_WEIGHT: f64 = 0.25;
/// From this share of the learned row count on, elements with the row's class are the list, whatever else fits.
pub const MIN_CLASS_ROWS_SHARE: f64 = 0.34;
const GLANCE_ROWS: usize = 6;
/// Maximum number of elements of a page that are tried as its single record.
const MAX_PAGE_PARTS: usize = 40;

/// Cache for fitting a variant to one page after another. Interned paths, scores of leaves for columns and comparisons
/// of tags stay valid for the next page of a run.
pub struct FitCache {
    pub(super) aligner: Aligner,
    pub(super) repeats: Vec<PathId>,
    pub(super) token_matcher: TokenMatcher,
    pub(super) slot_positions: SlotPositions,
    /// The learned header names.
    pub(super) header: Vec<String>,
    exclusions: Exclusions,
    pub paths: PathInterner,
}

/// Maximum number of paths that are kept for the next page: pages with ever new paths would fill the memory.
const MAX_PATHS: usize = 10_000;

impl FitCache {
    pub(super) fn new(variant: &Variant, mut paths: PathInterner) -> FitCache {
        let columns = variant.slots.iter().map(|slot| Profile::from_slot(slot, &mut paths)).collect();
        let repeats = variant.repeats.iter().map(|path| paths.parse(path)).collect();
        let places = SlotPositions::new(&variant.slots, &mut paths);
        let looks = TokenMatcher::new(variant, ClassComparison::Count);
        FitCache {
            aligner: Aligner::new(columns),
            repeats,
            token_matcher: looks,
            slot_positions: places,
            header: variant.header.clone(),
            exclusions: variant.exclusions.clone(),
            paths,
        }
    }

    /// The cache for the next page; `None` if it has grown too large.
    pub fn reusable(mut self) -> Option<FitCache> {
        self.token_matcher.reset_for_page();
        self.aligner.reset_for_page();
        (self.paths.count() <= MAX_PATHS).then_some(self)
    }
}

/// The rows of a page under one variant of the template.
pub struct Fit {
    /// Index of the variant that fits best.
    pub variant: usize,
    pub rows: Vec<AlignedRow>,
    pub similarity: f64,
    pub likeness: SimilarityParts,
    pub gain: f64,
    /// The cache used for reading; it holds the paths of the rows' leaves.
    pub cache: FitCache,
}

impl Fit {
    /// The limit because of which values are missing or may be in a wrong column. `None` if no shown column is made
    /// from the rows' leaves.
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

/// Maximum similarity of a page without a fitting row: less than [`similarity::THRESHOLD`].
const MAX_SIMILARITY_WITHOUT_ROWS: f64 = 0.69;
/// Minimum fit (by paths, which have no classes) at which the structure of the rows counts as unchanged.
const UNCHANGED_FIT: f64 = 0.95;

/// The value relative to that of the training rows, at most 1.
fn capped_ratio(now: f64, own: f64) -> f64 {
    if own > 0.0 { (now / own).min(1.0) } else { now }
}

pub fn shares_class(tree: &Tree, root: &TemplateElement, node: NodeId) -> bool {
    tree.classes(node).any(|class| root.classes.iter().any(|it| it == class))
}

pub struct Fitter<'v, 't> {
    pub view: &'v PageView<'t>,
    pub cache: FitCache,
    /// The share of the learned header names that each table has.
    headers: HashMap<NodeId, f64>,
    qualities: HashMap<Span, f64>,
    /// The share of the values of each row that have moved.
    moved_shares: HashMap<Span, f64>,
    /// Rows as they were read; only kept if they are few and needed again.
    pub read_rows: Option<HashMap<Span, ReadRow>>,
}

/// A row's quality, its leaves, and the index of each column's leaf.
type ReadRow = (f64, Vec<Leaf>, Vec<Option<usize>>);

impl<'v, 't> Fitter<'v, 't> {
    pub fn new(variant: &Variant, view: &'v PageView<'t>) -> Fitter<'v, 't> {
        Fitter::with_cache(FitCache::new(variant, PathInterner::default()), view)
    }

    pub fn with_cache(kit: FitCache, view: &'v PageView<'t>) -> Fitter<'v, 't> {
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

    pub fn quality(&mut self, span: Span) -> f64 {
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

    /// The quality of a row whose leaves are read already.
    pub fn quality_of(&mut self, leaves: &[Leaf]) -> f64 {
        if leaves.len() > self.most_leaves() {
            return 0.0;
        }
        let cells = self.cache.aligner.align(leaves, &mut self.cache.paths);
        self.cache.aligner.quality(leaves, &cells, &self.cache.paths)
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

    /// The share of the rows' values in their learned positions; 1 if no slots are distinguished by order.
    fn in_place_share(&mut self, rows: &[AlignedRow]) -> f64 {
        let looked_at = sample(&rows.iter().collect::<Vec<_>>());
        let moved: f64 = looked_at.iter().map(|row| self.moved_share(row.span, &row.cells)).sum();
        1.0 - moved / looked_at.len().max(1) as f64
    }

    /// A row with more than three leaves per column cannot reach the minimum quality, and is not aligned.
    fn most_leaves(&self) -> usize {
        self.cache.aligner.columns.len() * 3
    }

    /// Aligns the rows, then as [`Fitter::into_fit`].
    pub fn into_fit_of(mut self, variant: &Variant, index: usize, rows: &[Span], similarity: f64, gain: f64) -> Fit {
        let above = headings(self.view, rows);
        let rows = rows.iter().zip(above).map(|(&row, above)| self.align_row(row, above)).collect();
        self.into_fit(variant, index, rows, similarity, gain)
    }

    /// Computes the similarity measures of the aligned rows.
    pub fn into_fit(
        mut self,
        variant: &Variant,
        index: usize,
        rows: Vec<AlignedRow>,
        similarity: f64,
        gain: f64,
    ) -> Fit {
        let fit = (!rows.is_empty()).then(|| capped_ratio(self.mean_quality(&rows), variant.own.quality));
        let places = self.in_place_share(&rows);
        // Without a fitting row the page stays below the threshold, however similar its best list is.
        let most = if rows.is_empty() { MAX_SIMILARITY_WITHOUT_ROWS } else { 1.0 };
        let mut tags = most * capped_ratio(similarity, variant.own.similarity);
        // If everything else is unchanged, only the classes were renamed.
        if tags < similarity::THRESHOLD && fit.is_some_and(|fit| fit >= UNCHANGED_FIT) && places >= UNCHANGED_FIT {
            let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
            let bare = similarity::without_classes(&self.view.tokens, variant, &spans);
            tags = tags.max(capped_ratio(bare, variant.own.similarity));
        }
        let header = rows.first().map_or(1.0, |row| self.header_match(row.span));
        let likeness = SimilarityParts { tags, fit, places, header };
        Fit { variant: index, rows, similarity, likeness, gain, cache: self.cache }
    }

    pub fn mean_quality(&self, rows: &[AlignedRow]) -> f64 {
        let looked_at = sample(&rows.iter().collect::<Vec<_>>());
        let total: f64 =
            looked_at.iter().map(|row| self.cache.aligner.quality(&row.leaves, &row.cells, &self.cache.paths)).sum();
        total / looked_at.len().max(1) as f64
    }

    /// `None` for rows with too many leaves, for the header row, since in a small table its cells look like any others,
    /// and for rows that are excluded.
    pub fn read(&mut self, span: Span) -> Option<ReadRow> {
        if header::is_header(self.view, span, &self.cache.header)
            || is_excluded(self.view, span, &self.cache.exclusions)
        {
            return None;
        }
        let most = self.most_leaves();
        let leaves = self.leaves(span, MAX_LEAVES.min(most + 1));
        if leaves.len() > most {
            return None;
        }
        let cells = self.cache.aligner.align(&leaves, &mut self.cache.paths);
        let quality = self.cache.aligner.quality(&leaves, &cells, &self.cache.paths);
        Some((quality * (1.0 - MOVED_PENALTY * self.moved_share(span, &cells)), leaves, cells))
    }

    /// Gain and mean quality, estimated from a few of the rows.
    pub fn estimate_gain(&mut self, rows: &[Span]) -> (f64, f64) {
        let step = rows.len().div_ceil(GLANCE_ROWS);
        let looked: Vec<f64> = rows.iter().step_by(step).map(|&row| self.quality(row)).collect();
        let gain: f64 = looked.iter().map(|quality| (quality - MIN_QUALITY).max(0.0)).sum();
        let share = rows.len() as f64 / looked.len() as f64;
        (gain * share, looked.iter().sum::<f64>() / looked.len() as f64)
    }

    /// Share of the learned header names above this row; 1 if none were learned.
    fn header_match(&mut self, row: Span) -> f64 {
        if self.cache.header.is_empty() {
            return 1.0;
        }
        let node = self.view.first_node(row);
        let Some(table) = header::table_of(self.view, node) else { return 0.0 };
        let now = || header::kept_share(&self.cache.header, &header::of_table(self.view, table));
        *self.headers.entry(table).or_insert_with(now)
    }

    /// Weight of a row's gain by the header above it.
    pub fn header_weight(&mut self, row: Span) -> f64 {
        FOREIGN_HEADER_WEIGHT + (1.0 - FOREIGN_HEADER_WEIGHT) * self.header_match(row)
    }

    /// The same for a row set. If the learned rows were siblings, rows under several parents weigh less.
    pub fn set_header_weight(&mut self, variant: &Variant, rows: &[Span]) -> f64 {
        let Some(&first) = rows.first() else { return 1.0 };
        let tree = self.view.tree();
        let parent = |row: &Span| tree.parent(self.view.first_node(*row));
        let is_scattered = variant.finder == Finder::Siblings && rows.iter().any(|row| parent(row) != parent(&first));
        self.header_weight(first) / if is_scattered { SCAN_BONUS } else { 1.0 }
    }

    pub fn gain(&mut self, rows: &[Span], floor: f64) -> (f64, Vec<Span>) {
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

    /// Elements with the tag and a class of the template's root, anywhere: a page with a single record has no list.
    pub fn scan(&mut self, variant: &Variant) -> (f64, Vec<Span>) {
        let [RowPart::Element(root)] = variant.parts.as_slice() else { return (0.0, Vec::new()) };
        let tree = self.view.tree();
        let mut gain = 0.0;
        let mut kept: Vec<Span> = Vec::new();
        let mut inside = NodeId(0);
        for node in tree.subtree(tree.root()) {
            if node < inside || tree.tag(node) != root.tag || !shares_class(tree, root, node) {
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

    /// Whether any of the rows has a class of the template's root element.
    pub fn have_root_class(&self, variant: &Variant, rows: &[Span]) -> bool {
        let [RowPart::Element(root)] = variant.parts.as_slice() else { return true };
        let tree = self.view.tree();
        rows.iter().any(|&row| shares_class(tree, root, self.view.first_node(row)))
    }

    /// Fits the page as one record: the element like the template's root that fits best, the outermost of equals.
    pub fn fit_page(mut self, variant: &Variant, index: usize) -> Fit {
        let mut spans = self.elements_like_root(variant);
        // The heaviest elements are most likely to contain the record; a page may have thousands of bare `div`s.
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

    /// Elements with the tag of the template's root, and with one of its classes if any element has one: some classes
    /// are generated for one page.
    fn elements_like_root(&self, variant: &Variant) -> Vec<Span> {
        let [RowPart::Element(root)] = variant.parts.as_slice() else { return vec![self.view.tokens.all()] };
        let tree = self.view.tree();
        let same_tag: Vec<NodeId> = tree.subtree(tree.root()).filter(|&node| tree.tag(node) == root.tag).collect();
        let same_class: Vec<NodeId> = same_tag.iter().copied().filter(|&node| shares_class(tree, root, node)).collect();
        let nodes = if same_class.is_empty() { same_tag } else { same_class };
        nodes.into_iter().map(|node| self.view.span(node)).collect()
    }

    /// Similarity of a page without a fitting row: that of its best list, reduced if its rows fit worse than the
    /// minimum.
    pub fn similarity_without_rows<'s>(
        &self,
        variant: &Variant,
        lists: impl Iterator<Item = (f64, &'s [Span])>,
    ) -> f64 {
        let near = |(mean, rows): (f64, &[Span])| {
            similarity::of_rows(&self.view.tokens, variant, &sample(rows)) * (mean / MIN_QUALITY).min(1.0)
        };
        lists.map(near).fold(0.0, f64::max)
    }
}
