//! Selects the few candidates that are shown.

use super::overlap::{most_overlap, overlap};
use super::score::RankedRowSet;
use crate::page::tokens::Tokens;

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
