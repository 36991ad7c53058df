//! Ranks row sets: computes one score for each and selects the few candidates that are shown.

use super::features::{Features, Meter, PathPrecision};
use super::find::{PageView, RowSet};
use super::outlier_rows::find_outliers;
use super::superset;
use crate::page::tokens::{Span, Tokens};

/// A row set with its features and score.
pub struct RankedRowSet {
    pub set: RowSet,
    pub features: Features,
    pub score: f64,
}

// Refitted over the corpus, the drift series, 52 list pages of other sites and 93 more (whose lists were taken from the
// candidates), each page scored with weights from other sites: no change ranked more lists first. The right list, in
// some cut, is first on 235 of 242 pages where it is a candidate; the misses were wrong cuts: see `superset`,
// `atypical`, `outlier_rows`.
//
// The weights of docs/design/learning.md 2.3, from some 150 pages: changing one by half moves the first place by 0 to
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
// From pages with several tables (case counts of the day beside advice and contacts): a table with a header is wanted
// before bare ones, and one table before two merged ones.
const TITLED: f64 = 0.7;
const JOINED: f64 = 0.7;

// Contents of the rows, and features that separate menus and sections from records. Fitted with the weights above held
// nearly fixed, on the 145 pages where a right list was a candidate (corpus, first captures of the drift series, 52
// list pages of other sites). Cross-validated by site, the right list comes first by score alone on 124 pages instead
// of 120; no single weight does that alone. The optimum is a plateau: sections 0.6 to 1.2 and aside 0.5 to 0.9 give the
// same number of right pages.
const PICTURES: f64 = 0.5;
const FIGURES: f64 = 0.5;
const HEADINGS: f64 = 0.3;
const PRICES: f64 = 0.2;
const SECTIONS: f64 = 0.8;
/// For small tables of plain values, which have more cells than rows.
const BARE_CELLS: f64 = 1.2;
const TALLIES: f64 = 0.4;
/// For a table of figures in a long article or beside lists of documents. On 332 pages where the right list is a
/// candidate, by score alone: from 1.6 to 2.0, 8 more pages of three sites come first, at 1.2 already 4 of two sites;
/// none gets worse.
const VALUES: f64 = 1.6;
const ASIDE: f64 = 0.7;

/// Lower bound of the coverage: below a few hundredths, the share of the page says little. A table of figures in a long
/// article is small and is what people want. With 0.03 instead of 0.001, and [`crate::page::tokens::TEXT_ITSELF`], the
/// right list of 49 first captures of drift series is among five on 31 pages instead of 28, first on 27 instead of 25;
/// nothing changes on the corpus.
const COVERAGE_FLOOR: f64 = 0.03;

/// Keeps the logarithm finite if a feature is 0.
const FLOOR: f64 = 0.001;

fn score(it: &Features) -> f64 {
    let ln = |value: f64| (value + FLOOR).ln();
    // Saturating: the step from 2 to 5 rows, or from 1 to 3 varying slots, says more than the step from 50 to 100.
    let rows = 1.0 - (-(it.rows as f64 - 1.0) / 3.0).exp();
    let variety = 1.0 - (-it.variety / 1.5).exp();
    COVERAGE * (it.coverage + COVERAGE_FLOOR).ln()
        + SAMENESS * ln(it.sameness)
        + VARIETY * ln(variety)
        + ROWS * ln(rows)
        + DISTINCT * ln(it.distinct)
        + COMPACT * ln(it.compact)
        - DISPERSION * (1.0 + it.dispersion).ln()
        - NAVIGATION * it.navigation
        - BARE_LINKS * it.bare_links
        - ROTATION * it.rotation
        + if it.has_column_titles { TITLED } else { 0.0 }
        - if it.spans_different_tables { JOINED } else { 0.0 }
        + PICTURES * it.signals.picture
        + FIGURES * it.signals.figure
        + HEADINGS * it.signals.heading
        + PRICES * it.signals.price
        - TALLIES * it.signals.tally
        + VALUES * it.signals.values
        // Both mean that the records are inside the rows, so they count once.
        - (GRID_LINES * it.grid_lines).max(SECTIONS * it.sections)
        - BARE_CELLS * it.bare_cells
        - if it.is_aside { ASIDE } else { 0.0 }
}

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

/// The row sets with their scores, in the given order.
pub fn measure_all(view: &PageView<'_>, sets: Vec<RowSet>) -> Vec<RankedRowSet> {
    let mut meter = Meter::new(view);
    sets.into_iter().map(|set| measured(&mut meter, set)).collect()
}

fn measured(meter: &mut Meter<'_, '_>, set: RowSet) -> RankedRowSet {
    let features = meter.measure(&set);
    RankedRowSet { score: score(&features), set, features }
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

/// The candidates to show: different lists, and other cuts of the best list. A miss is mostly the right list with a
/// header, a total or an atypical record wrong (docs/design/learning.md 0).
pub fn select_candidates(tokens: &Tokens<'_>, ranked: Vec<RankedRowSet>, top: usize) -> Vec<RankedRowSet> {
    let mut lists: Vec<RankedRowSet> = Vec::new();
    let mut cuts: Vec<RankedRowSet> = Vec::new();
    for it in ranked {
        let same = |other: &RankedRowSet| {
            most_overlap(&other.set.rows, &it.set.rows) >= SAME_LIST_OVERLAP
                && overlap(tokens, &other.set.rows, &it.set.rows) >= SAME_LIST_OVERLAP
        };
        match lists.iter().position(same) {
            None => lists.push(it),
            Some(0) => cuts.push(it),
            Some(_) => {}
        }
        if lists.len() >= top && cuts.len() >= MAX_COMPARED_CUTS {
            break;
        }
    }
    let cuts = different_cuts(&lists, cuts);
    interleave(lists, cuts, top)
}

/// Minimum overlap of row sets that are cuts of one list (docs/design/learning.md 2.3).
const SAME_LIST_OVERLAP: f64 = 0.7;
const MAX_COMPARED_CUTS: usize = 24;
/// Maximum other cuts of the best list among five candidates.
const MAX_CUTS: usize = 2;

/// The best cut with more rows and the best with fewer: a missing record and an included title are the two usual
/// errors.
fn different_cuts(lists: &[RankedRowSet], cuts: Vec<RankedRowSet>) -> Vec<RankedRowSet> {
    let Some(best) = lists.first().map(|it| it.set.rows.len()) else { return Vec::new() };
    let mut counts = vec![best];
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for cut in cuts {
        let count = cut.set.rows.len();
        if counts.contains(&count) {
            continue;
        }
        let is_first_of_its_side = !counts[1..].iter().any(|&it| (it > best) == (count > best));
        counts.push(count);
        if is_first_of_its_side { first.push(cut) } else { others.push(cut) }
    }
    first.extend(others);
    first.truncate(MAX_CUTS);
    first
}

/// Best list, its next cut, second list, its third cut, third list, …
fn interleave(lists: Vec<RankedRowSet>, cuts: Vec<RankedRowSet>, top: usize) -> Vec<RankedRowSet> {
    let mut lists = lists.into_iter();
    let mut cuts = cuts.into_iter();
    let mut shown: Vec<RankedRowSet> = Vec::new();
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

/// Upper bound of [`overlap`], by the lengths alone.
fn most_overlap(a: &[Span], b: &[Span]) -> f64 {
    2.0 * a.len().min(b.len()) as f64 / (a.len() + b.len()).max(1) as f64
}

/// Dice coefficient of two row sets: 2m / (n₁ + n₂), where m counts the pairs with nearly the same text.
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
