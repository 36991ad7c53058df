//! Fits a template to a page: finds the row set that matches it, and aligns the leaves of each row with the slots.

mod cache;
mod direct;
mod fitter;
mod training;

pub use cache::FitCache;
pub use fitter::Fit;
pub use training::{quality_floor, training_fit};

use fitter::{Fitter, MIN_CLASS_ROWS_SHARE, SCAN_BONUS};

use super::{offset, similarity};
use crate::learn::align::headings;
use crate::learn::rows::{adjusted_row_sets, row_sets, rows_by_rule};
use crate::learn::template::{Finder, Template, Variant};
use crate::learn::view::{PageView, PathInterner};
use crate::page::tokens::Span;

/// Number of row sets that are fitted completely, after an estimate from a few rows of each.
const MAX_FULL_FITS: usize = 12;

/// Fits every variant to the page and keeps the one with the highest gain.
pub fn fit(template: &Template, view: &PageView<'_>) -> Option<Fit> {
    fit_with_cache(template, view, &mut None)
}

/// Like [`fit`], with the cache of the previous page. The result is the same, only faster.
pub fn fit_with_cache(template: &Template, view: &PageView<'_>, kit: &mut Option<FitCache>) -> Option<Fit> {
    match template.variants.as_slice() {
        [variant] if variant.rule.is_none() => {
            let ready = kit.take().unwrap_or_else(|| FitCache::new(variant, PathInterner::default()));
            fit_directly(variant, 0, view, ready).or_else(|| fit_exhaustively(template, view))
        }
        // The direct fit supports neither row rules nor several variants.
        _ => fit_exhaustively(template, view),
    }
}

/// Exhaustive fit: compares all row sets of the page.
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
    if let Some(told) = variant.rule.as_ref().and_then(|rule| rows_by_rule(rule, view)) {
        return fit_rule_rows(variant, index, view, &told.rows);
    }
    let adjusted = variant.rule.as_ref().and_then(|rule| adjusted_row_sets(rule, view));
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
    let above = headings(view, &rows);
    let rows = rows.into_iter().zip(above).map(|(row, above)| fitter.align_row(row, above)).collect();
    fitter.into_fit(variant, index, rows, similarity, gain)
}

/// Aligns those of the given spans that fit a variant with at least this quality.
pub fn fit_given_rows(variant: &Variant, index: usize, view: &PageView<'_>, spans: &[Span], floor: f64) -> Fit {
    let mut fitter = Fitter::new(variant, view);
    let (gain, rows) = fitter.gain(spans, floor);
    let similarity = similarity::of_rows(&view.tokens, variant, &rows);
    let above = headings(view, &rows);
    let rows = rows.into_iter().zip(above).map(|(row, heading)| fitter.align_row(row, heading)).collect();
    fitter.into_fit(variant, index, rows, similarity, gain)
}

/// Rows given by a person's rule are kept, however well they fit.
fn fit_rule_rows(variant: &Variant, index: usize, view: &PageView<'_>, rows: &[Span]) -> Fit {
    fit_given_rows(variant, index, view, rows, 0.0)
}
