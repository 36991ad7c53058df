//! Selects the few candidates that are shown.

use super::score::RankedRowSet;
use crate::page::tokens::{Span, Tokens};

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
