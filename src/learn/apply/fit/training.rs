//! How well the rows that a variant was learned from fit it: the reference for later pages.

use foldhash::HashSet;

use super::cache::FitCache;
use super::fitter::{Fitter, MIN_QUALITY};
use crate::learn::align::AlignedRow;
use crate::learn::template::{TrainingFit, Variant};
use crate::learn::view::{PageView, PathInterner, sample};
use crate::page::NodeId;
use crate::page::tokens::Span;

/// Similarity and quality of a variant's training rows under the variant itself.
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

/// Bounds of the quality floor. Rows may fit worse than [`MIN_QUALITY`] if training rows did, and must fit better if
/// neighbours outside the list do too. It is bounded, since the next page may differ a little.
const LOWEST_FLOOR: f64 = 0.3;
const HIGHEST_FLOOR: f64 = 0.6;

/// The minimum quality of a row of the list, from the training rows and their neighbours outside the list.
///
/// The rows are aligned already; `paths` holds the paths of their leaves.
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

/// Siblings of the rows that are not rows.
fn neighbours(view: &PageView<'_>, rows: &[Span]) -> Vec<Span> {
    let tree = view.tree();
    let roots = rows.iter().map(|row| view.tokens.list[row.start as usize].node);
    let mut parents: Vec<NodeId> = roots.filter_map(|node| tree.parent(node)).collect();
    parents.dedup();
    let taken: HashSet<Span> = rows.iter().copied().collect();
    let siblings = parents.into_iter().take(60).flat_map(|parent| view.items(parent)).map(|node| view.span(node));
    siblings.filter(|span| !taken.contains(span) && view.tokens.weight(*span) > 0).collect()
}
