//! One score for every row set, and the few that are shown.

use super::features::{Features, Meter, PathPrecision};
use super::find::{PageView, RowSet};
use super::outlier_rows::find_outliers;
use super::superset;
use crate::page::tokens::{Span, Tokens};

/// A row set and what speaks for it.
pub struct RankedRowSet {
    pub set: RowSet,
    pub features: Features,
    pub score: f64,
}

// Refitted over corpus, drift, 52 list pages of other sites and 93 more (whose lists were read off the candidates), each page
// asked with weights from other sites: no change put more lists first. The right list, in some cut, is first on 235 of 242
// pages where it is offered; what was missed were cuts: see `fuller`, `kin`, `odd`.
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
// Seen on pages with several tables (case counts of the day beside advice and contacts): the table with column titles is
// wanted before bare ones, and one table before two run together.
const TITLED: f64 = 0.7;
const JOINED: f64 = 0.7;

// What rows show, and what tells menus and sections from records. Fitted with the weights above held nearly fast, on the 145
// pages where a right list was offered (corpus, first captures of the drift series, 52 list pages of other sites). Fitted on
// other sites than those asked, the right list comes first by score alone on 124 pages instead of 120; no single one of
// these does that alone. A plateau: sections 0.6 to 1.2 and aside 0.5 to 0.9 put the same number of pages right.
const PICTURES: f64 = 0.5;
const FIGURES: f64 = 0.5;
const HEADINGS: f64 = 0.3;
const PRICES: f64 = 0.2;
const SECTIONS: f64 = 0.8;
/// Small tables of plain values, where the cells outnumber the rows.
const BARE_CELLS: f64 = 1.2;
const TALLIES: f64 = 0.4;
/// A table of figures in a long article or beside lists of documents. On 332 pages where the right list is offered, by score
/// alone: 8 more of three sites put first from 1.6 to 2.0, 4 of two already at 1.2, none put behind.
const VALUES: f64 = 1.6;
const ASIDE: f64 = 0.7;

/// Below a few hundredths a smaller share of the page says little: a table of figures in a long article is small and is
/// what people come for. With 0.03 instead of 0.001, and [`crate::page::tokens::TEXT_ITSELF`], the right list of 49 first
/// captures of drift series is among five on 31 pages instead of 28, first on 27 instead of 25; nothing moves on the corpus.
const COVERAGE_FLOOR: f64 = 0.03;

/// Keeps a logarithm finite where a measure is 0.
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
        // Both say that the records are inside the rows; it is one thing.
        - (GRID_LINES * it.grid_lines).max(SECTIONS * it.sections)
        - BARE_CELLS * it.bare_cells
        - if it.is_aside { ASIDE } else { 0.0 }
}

/// All row sets, best first; of equals the one that starts earlier.
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

/// The row sets in the order they came in, measured only.
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

/// The sets whose rows are looked at one by one.
const MAX_CLEANED_SETS: usize = 20;
/// Tokens of those sets, over all of them: further sets are not looked at. The longest page of the corpus has 55,832 tokens, so
/// that all twenty of it come to less. On 1 MB of objects in objects, 40 deep (530,000 tokens), it was a fifth of 1.2 s.
const MAX_CLEANED_TOKENS: u32 = 1_200_000;
/// Rows are cleaned only where the others are records, share this much, and are at least four times as many.
const MIN_CLEAN_SAMENESS: f64 = 0.75;
/// What odd rows cost a set, so that its clean copy comes before it (a heading in the list's first item, a box in a grid).
const OUTLIER_PENALTY: f64 = 0.3;

/// Copies without the odd rows; what they were copied from is scored down.
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

/// A row that shares no more than this part of what the rows share on average may be none, but nothing else says so.
const MAX_DOUBTFUL_SAMENESS: f64 = 0.5;

/// A copy without the doubtful rows, never before what it was copied from: one click away.
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

/// Rows with the same text in a wider element come with its links and pictures: the widest are taken.
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

/// The candidates to show: different lists, and, since a miss is mostly a list that is right but for a header, a total or a
/// special record (docs/design/learning.md 0), other cuts of the best list among them.
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

/// Row sets that share this much are cuts of one list (docs/design/learning.md 2.3).
const SAME_LIST_OVERLAP: f64 = 0.7;
const MAX_COMPARED_CUTS: usize = 24;
/// Other cuts of the best list among five candidates.
const MAX_CUTS: usize = 2;

/// The best cut with more rows and the best with fewer: a record lost and a title taken in are the two ways to miss.
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

/// What two lists could share at most, by their lengths alone.
fn most_overlap(a: &[Span], b: &[Span]) -> f64 {
    2.0 * a.len().min(b.len()) as f64 / (a.len() + b.len()).max(1) as f64
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
