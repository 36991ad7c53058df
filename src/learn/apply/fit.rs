//! Fits a template to a page: finds the row set that matches it, and aligns the leaves of each row with the slots.

mod direct;
mod fitter;

pub use fitter::{Fit, FitCache};

use foldhash::HashSet;

use fitter::{Fitter, MIN_CLASS_ROWS_SHARE, MIN_QUALITY, SCAN_BONUS};

use super::{offset, similarity};
use crate::learn::align::AlignedRow;
use crate::learn::columns::table_columns::is_in_place;
use crate::learn::rows::{adjusted_row_sets, row_sets, rows_by_rule};
use crate::learn::template::{Finder, Template, TrainingFit, Variant};
use crate::learn::view::{PageView, PathInterner, sample};
use crate::page::NodeId;
use crate::page::tokens::Span;

/// Number of row sets that are fitted completely, after an estimate from a few rows of each.
const MAX_FULL_FITS: usize = 12;

/// From this similarity of a current variant on, the layouts before a redesign are not compared.
const SURE_SIMILARITY: f64 = 0.9;
/// By how much more the layout before a redesign must be similar to win. A site may show its old layout again, or both
/// by turns. A variant has similarity 1 on the page that it was learned from, so that no older one wins there.
const OLD_LAYOUT_LEAD: f64 = 0.1;

/// Fits the current variants to the page and keeps the one with the highest gain. Superseded ones are read only where
/// they are clearly more similar.
pub fn fit(template: &Template, view: &PageView<'_>) -> Option<Fit> {
    fit_with_cache(template, view, &mut None)
}

/// Like [`fit`], with the cache of the previous page. The result is the same, only faster.
pub fn fit_with_cache(template: &Template, view: &PageView<'_>, kit: &mut Option<FitCache>) -> Option<Fit> {
    let (superseded, current): (Vec<IndexedVariant<'_>>, Vec<IndexedVariant<'_>>) =
        template.variants.iter().enumerate().partition(|(_, variant)| variant.superseded);
    // The table of the old layout is there again, and not that of the new one.
    let have_table =
        |variants: &[IndexedVariant<'_>]| variants.iter().any(|(_, variant)| is_in_place(view.tree(), &variant.table));
    if have_table(&superseded)
        && !have_table(&current)
        && let Some(fit) = fit_exhaustively(&superseded, view)
        && fit.likeness.similarity() >= similarity::THRESHOLD
    {
        return Some(fit);
    }
    let now = match current.as_slice() {
        [(index, variant)] if variant.rule.is_none() => {
            let ready = kit.take().unwrap_or_else(|| FitCache::new(variant, PathInterner::default()));
            fit_directly(variant, *index, view, ready).or_else(|| fit_exhaustively(&current, view))
        }
        // The direct fit supports neither row rules nor several variants.
        _ => fit_exhaustively(&current, view),
    };
    let similarity = now.as_ref().map_or(0.0, |fit| fit.likeness.similarity());
    if superseded.is_empty() || similarity >= SURE_SIMILARITY {
        return now;
    }
    let leads = |fit: &Fit| {
        let before = fit.likeness.similarity();
        before >= similarity + OLD_LAYOUT_LEAD || before >= similarity::THRESHOLD && similarity < similarity::THRESHOLD
    };
    fit_exhaustively(&superseded, view).filter(leads).or(now)
}

/// A variant with its index in the template.
type IndexedVariant<'t> = (usize, &'t Variant);

/// Exhaustive fit: compares all row sets of the page.
fn fit_exhaustively(variants: &[IndexedVariant<'_>], view: &PageView<'_>) -> Option<Fit> {
    let sets: Vec<Vec<Span>> = row_sets(view).into_iter().map(|set| set.rows).collect();
    best_gain(variants.iter().map(|&(index, variant)| fit_variant(variant, index, view, &sets)))
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
    if let Some(told) = variant.rule.as_ref().and_then(|rule| rows_by_rule(rule, view)) {
        // Rows given by a person are kept, however well they fit.
        return fit_given_rows(variant, index, view, &told.rows, 0.0);
    }
    let one_parent = variant.exclusions.one_parent;
    let adjusted = variant.rule.as_ref().and_then(|rule| adjusted_row_sets(rule, view));
    let sets = adjusted.as_deref().unwrap_or(sets);
    let mut fitter = Fitter::new(variant, view);
    if variant.finder == Finder::Page {
        return fitter.fit_page(variant, index);
    }
    let mut glances: Vec<(f64, f64, usize)> = sets
        .iter()
        .enumerate()
        .filter(|(_, rows)| !one_parent || parents_of(view, rows.iter().copied()).len() <= 1)
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
    let may_scan = !one_parent || best.1.is_empty();
    if may_scan && (gain > best.0 * SCAN_BONUS || are_enough && !fitter.have_root_class(variant, &best.1)) {
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
    fitter.into_fit_of(variant, index, &rows, similarity, gain)
}

/// Aligns those of the given spans that fit a variant with at least this quality.
pub fn fit_given_rows(variant: &Variant, index: usize, view: &PageView<'_>, spans: &[Span], floor: f64) -> Fit {
    let mut fitter = Fitter::new(variant, view);
    let (gain, rows) = fitter.gain(spans, floor);
    let similarity = similarity::of_rows(&view.tokens, variant, &rows);
    fitter.into_fit_of(variant, index, &rows, similarity, gain)
}

/// Similarity and quality of a variant's training rows under the variant itself: the reference for later pages.
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

/// The parents of the rows; consecutive rows have theirs once.
pub fn parents_of(view: &PageView<'_>, rows: impl Iterator<Item = Span>) -> Vec<NodeId> {
    let mut parents: Vec<NodeId> = rows.filter_map(|row| view.tree().parent(view.first_node(row))).collect();
    parents.dedup();
    parents
}

/// Siblings of the rows that are not rows.
fn neighbours(view: &PageView<'_>, rows: &[Span]) -> Vec<Span> {
    let parents = parents_of(view, rows.iter().copied());
    let taken: HashSet<Span> = rows.iter().copied().collect();
    let siblings = parents.into_iter().take(60).flat_map(|parent| view.items(parent)).map(|node| view.span(node));
    siblings.filter(|span| !taken.contains(span) && view.tokens.weight(*span) > 0).collect()
}
