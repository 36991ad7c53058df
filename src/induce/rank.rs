//! One score for every row set, and the few that are shown.

use super::features::{Features, Meter};
use super::find::{RowSet, View};
use crate::page::tokens::{Span, Tokens};

/// A row set and what speaks for it.
pub struct Ranked {
    pub set: RowSet,
    pub features: Features,
    pub score: f64,
}

// The weights of learn-notes 2.3, chosen on some 150 pages: changing one by half moves the first candidate's share by 0 to
// 4 points. Dropping compactness costs 2.7 points, dispersion 2.2, halving the weight of the row count 2.7.
const COVERAGE: f64 = 1.0;
const SAMENESS: f64 = 1.5;
const VARIETY: f64 = 0.5;
const ROWS: f64 = 3.0;
const DISTINCT: f64 = 0.5;
const COMPACT: f64 = 0.8;
const DISPERSION: f64 = 1.0;
const NAVIGATION: f64 = 0.9;
const BARE_LINKS: f64 = 0.9;
const GRID_LINES: f64 = 1.2;
const ROTATION: f64 = 0.5;

/// Keeps a logarithm finite where a measure is 0.
const FLOOR: f64 = 0.001;

fn score(it: &Features) -> f64 {
    let ln = |value: f64| (value + FLOOR).ln();
    // Saturating: the step from 2 to 5 rows, or from 1 to 3 varying slots, says more than the step from 50 to 100.
    let rows = 1.0 - (-(it.rows as f64 - 1.0) / 3.0).exp();
    let variety = 1.0 - (-it.variety / 1.5).exp();
    COVERAGE * ln(it.coverage)
        + SAMENESS * ln(it.sameness)
        + VARIETY * ln(variety)
        + ROWS * ln(rows)
        + DISTINCT * ln(it.distinct)
        + COMPACT * ln(it.compact)
        - DISPERSION * (1.0 + it.dispersion).ln()
        - NAVIGATION * it.navigation
        - if it.bare_links { BARE_LINKS } else { 0.0 }
        - GRID_LINES * it.grid_lines
        - ROTATION * it.rotation
}

/// All row sets, best first; of equals the one that starts earlier.
pub fn ranked(view: &View<'_>, sets: Vec<RowSet>) -> Vec<Ranked> {
    let mut meter = Meter::new(view);
    let mut ranked: Vec<Ranked> = sets
        .into_iter()
        .map(|set| {
            let features = meter.measure(&set);
            Ranked { score: score(&features), set, features }
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.set.rows[0].cmp(&b.set.rows[0])));
    ranked
}

/// The candidates to show: different lists, and, since a miss is mostly a list that is right but for a header, a total or a
/// special record (learn-notes 0), other cuts of the best list among them.
pub fn shown(tokens: &Tokens<'_>, ranked: Vec<Ranked>, top: usize) -> Vec<Ranked> {
    let mut lists: Vec<Ranked> = Vec::new();
    let mut cuts: Vec<Ranked> = Vec::new();
    for it in ranked {
        let same = |other: &Ranked| overlap(tokens, &other.set.rows, &it.set.rows) >= SAME_LIST;
        match lists.iter().position(same) {
            None => lists.push(it),
            Some(0) => cuts.push(it),
            Some(_) => {}
        }
        if lists.len() >= top && cuts.len() >= MAX_CUTS_LOOKED_AT {
            break;
        }
    }
    let cuts = different_cuts(&lists, cuts);
    interleave(lists, cuts, top)
}

/// Row sets that share this much are cuts of one list (learn-notes 2.3).
const SAME_LIST: f64 = 0.7;
const MAX_CUTS_LOOKED_AT: usize = 12;
/// Other cuts of the best list among five candidates.
const MAX_CUTS: usize = 2;

fn different_cuts(lists: &[Ranked], cuts: Vec<Ranked>) -> Vec<Ranked> {
    let mut counts: Vec<usize> = lists.first().map(|it| it.set.rows.len()).into_iter().collect();
    let mut different = Vec::new();
    for cut in cuts {
        if !counts.contains(&cut.set.rows.len()) {
            counts.push(cut.set.rows.len());
            different.push(cut);
        }
    }
    different.truncate(MAX_CUTS);
    different
}

/// Best list, its next cut, second list, its third cut, third list, …
fn interleave(lists: Vec<Ranked>, cuts: Vec<Ranked>, top: usize) -> Vec<Ranked> {
    let mut lists = lists.into_iter();
    let mut cuts = cuts.into_iter();
    let mut shown: Vec<Ranked> = Vec::new();
    while shown.len() < top {
        let list = lists.next();
        let cut = if list.is_some() || shown.is_empty() { cuts.next() } else { None };
        if list.is_none() && cut.is_none() {
            break;
        }
        shown.extend(list);
        shown.extend(cut);
    }
    shown.truncate(top);
    shown
}

/// Share of rows that both have: 2m / (n₁ + n₂), where m counts the pairs that hold nearly the same text.
pub fn overlap(tokens: &Tokens<'_>, a: &[Span], b: &[Span]) -> f64 {
    let (mut i, mut j, mut same) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let both = Span { start: a[i].start.max(b[j].start), stop: a[i].stop.min(b[j].stop) };
        if both.start < both.stop {
            let shared = tokens.weight(both);
            let all = tokens.weight(a[i]) + tokens.weight(b[j]) - shared;
            if f64::from(shared) >= 0.8 * f64::from(all) {
                same += 1;
            }
        }
        if a[i].stop <= b[j].stop {
            i += 1;
        } else {
            j += 1;
        }
    }
    2.0 * f64::from(same) / (a.len() + b.len()).max(1) as f64
}
