//! The order of row sets: by score, with outliers removed and atypical records included.

use super::features::Meter;
use super::outlier_rows::find_outliers;
use super::row_slots::PathPrecision;
use super::score::{RankedRowSet, measured};
use super::superset;
use crate::learn::rows::RowSet;
use crate::learn::view::PageView;
use crate::page::tokens::{Span, Tokens};

/// All row sets, best first; on ties the one that starts earlier.
pub fn rank(view: &PageView<'_>, sets: Vec<RowSet>) -> Vec<RankedRowSet> {
    let mut meter = Meter::new(view);
    let mut ranked: Vec<RankedRowSet> = sets.into_iter().map(|set| measured(&mut meter, set)).collect();
    sort(&mut ranked);
    let cleaned = clean_copies(&mut meter, &mut ranked);
    ranked.extend(cleaned);
    sort(&mut ranked);
    superset::promote(view, &mut meter, &mut ranked);
    widen(&view.tokens, &mut ranked);
    ranked
}

fn sort(ranked: &mut [RankedRowSet]) {
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.set.rows[0].cmp(&b.set.rows[0])));
}

/// Maximum row sets whose rows are examined one by one.
const MAX_CLEANED_SETS: usize = 20;
/// Maximum tokens of those sets in total; further sets are not examined. The longest page of the corpus has 55,832
/// tokens, so all twenty sets of it are below the limit. For 1 MB of JSON objects nested 40 deep (530,000 tokens) this
/// took a fifth of 1.2 s.
const MAX_CLEANED_TOKENS: u32 = 1_200_000;
/// Minimum similarity of the other rows for outliers to be removed; they must also be at least four times as many.
const MIN_CLEAN_SAMENESS: f64 = 0.75;
/// Penalty of a set with outliers, so that its clean copy ranks before it (a heading in the list's first item, a box in
/// a grid).
const OUTLIER_PENALTY: f64 = 0.3;

/// Returns copies without the outliers, and lowers the score of the originals.
fn clean_copies(meter: &mut Meter<'_, '_>, ranked: &mut [RankedRowSet]) -> Vec<RankedRowSet> {
    let mut copies = Vec::new();
    let mut looked_at: u32 = 0;
    for it in ranked.iter_mut().take(MAX_CLEANED_SETS) {
        looked_at = it.set.rows.iter().fold(looked_at, |sum, row| sum.saturating_add(row.stop - row.start));
        if looked_at > MAX_CLEANED_TOKENS {
            break;
        }
        let sameness = meter.row_sameness(&it.set.rows, PathPrecision::LastTwo);
        let odd = find_outliers(meter.view(), &it.set.rows, &sameness);
        let even: Vec<usize> = (0..odd.len()).filter(|&i| !odd[i]).collect();
        let odd = odd.len() - even.len();
        let mean = even.iter().map(|&i| sameness[i]).sum::<f64>() / even.len().max(1) as f64;
        if odd == 0 {
            copies.extend(doubtful_copy(meter, it, &sameness));
        }
        if odd == 0 || even.len() < 2 || odd * 4 > even.len() || mean < MIN_CLEAN_SAMENESS {
            continue;
        }
        let rows = even.iter().map(|&i| it.set.rows[i]).collect();
        copies.push(measured(meter, RowSet { rows, ..it.set.clone() }));
        it.score -= OUTLIER_PENALTY;
    }
    copies
}

/// Maximum similarity of a doubtful row, relative to the mean: it may be an outlier, but there is no other evidence.
const MAX_DOUBTFUL_SAMENESS: f64 = 0.5;

/// A copy without the doubtful rows. It never ranks before its original, but a person can choose it.
fn doubtful_copy(meter: &mut Meter<'_, '_>, it: &RankedRowSet, sameness: &[f64]) -> Option<RankedRowSet> {
    let mean = sameness.iter().sum::<f64>() / sameness.len().max(1) as f64;
    let sure: Vec<Span> = it
        .set
        .rows
        .iter()
        .zip(sameness)
        .filter(|(_, it)| **it > MAX_DOUBTFUL_SAMENESS * mean)
        .map(|(&row, _)| row)
        .collect();
    let doubtful = it.set.rows.len() - sure.len();
    if doubtful == 0 || sure.len() < 2 || doubtful * 4 > sure.len() {
        return None;
    }
    let mut copy = measured(meter, RowSet { rows: sure, ..it.set.clone() });
    copy.score = copy.score.min(it.score - OUTLIER_PENALTY);
    Some(copy)
}

/// Moves the set of wider elements before a set with the same text: they add links and images.
fn widen(tokens: &Tokens<'_>, ranked: &mut [RankedRowSet]) {
    for i in 0..ranked.len().min(MAX_CLEANED_SETS) {
        let wider = |wide: &RankedRowSet, narrow: &RankedRowSet| {
            wide.set.rows.len() == narrow.set.rows.len()
                && wide.set.rows.iter().zip(&narrow.set.rows).all(|(wide, narrow)| {
                    wide.start <= narrow.start
                        && narrow.stop <= wide.stop
                        && tokens.weight(*wide) == tokens.weight(*narrow)
                })
        };
        for j in i + 1..ranked.len() {
            if wider(&ranked[j], &ranked[i]) {
                let (set, other) = (ranked[j].set.clone(), ranked[i].set.clone());
                ranked[i].set = set;
                ranked[j].set = other;
            }
        }
    }
}
