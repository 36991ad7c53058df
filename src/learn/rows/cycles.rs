//! Shi et al.: a sequence of tokens that occurs N times suggests a list of N rows; the ratio L(N)/L(N+1) shows which N.
//!
//! The paper merges the states of an automaton that reads the page wherever the same tokens lead in and out. What
//! remains are cycles through every repeated sequence of tokens. These are the repeats of [`Suffixes`]: the paper's
//! Table I lists them with all their suffixes (999 of length 9, 1000 of length 8, …), and so does this module.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::row_set::{RowSet, RowSetCollector};
use crate::learn::sequence::lcs;
use crate::learn::sequence::suffixes::{Repeat, Suffixes};
use crate::learn::template::Finder;
use crate::learn::view::{PageView, sample};
use crate::page::encode::{EncodedPage, Symbol, TagEncoding};
use crate::page::tokens::Span;

/// Cycle sets with a larger dispersion of lengths are not rows (Shi 2.3: “a rather loose limitation”).
const MAX_DISPERSION: f64 = 1.0;
/// Number of groups chosen by the ratio of L(N) to L(N+1) (Shi 2.4) …
const BY_RATIO: usize = 10;
/// … and, among those, by number of tokens (Shi 2.5).
const BY_TOKENS: usize = 5;
/// Groups of fewer rows are proposed only if a person asks for that number. The paper has no such bound, though it
/// warns of the cycles that a header and a footer form: without it a group of two came first on 35 of 66 pages and was
/// the list on none of them.
const MIN_ROWS: usize = 3;
/// Maximum number of sequences that are examined to find the start of a row.
const MAX_PARTS: usize = 2_000;
/// Maximum number of tokens of a row that are compared for the row template (docs/design/learning.md 7).
const MAX_ROW: usize = 400;

/// The row sets of the groups that the paper would propose, in its order. If `wanted` is given (the number of rows, the
/// paper's one question to a person), that group comes first, whether or not it stood out.
pub fn find(view: &PageView<'_>, wanted: Option<usize>) -> Vec<RowSet> {
    let encoded = EncodedPage::new(&view.tokens, TagEncoding::Chunks);
    let suffixes = Suffixes::new(&encoded.symbols);
    let repeats = suffixes.repeats();
    let sets: Vec<CycleSet> = repeats.iter().enumerate().filter_map(|(i, repeat)| CycleSet::of(i, repeat)).collect();
    let groups = groups(&sets);
    let mut chosen: Vec<&CycleGroup> = groups.iter().filter(|group| Some(group.rows) == wanted).collect();
    chosen.extend(finalists(&groups).into_iter().filter(|group| Some(group.rows) != wanted));
    let mut found = RowSetCollector::new(view);
    for group in chosen {
        let parts = sets.iter().filter(|set| set.rows == group.rows).map(|set| &repeats[set.repeat]);
        let (starts, stop) = merge_overlapping(&suffixes, &repeats[group.fullest], parts);
        found.add(Finder::Cycles, rows(&encoded, &starts, stop), 0.0);
    }
    found.sets
}

/// The cycles through one repeated sequence: a possible table.
#[derive(Clone, Debug)]
struct CycleSet {
    /// N, the number of cycles.
    rows: usize,
    /// Number of tokens that the cycles have in common: `len` in Table I.
    overlap: usize,
    /// Number of tokens from the start of the first occurrence to the end of the last.
    tokens: usize,
    /// Index of the repeat.
    repeat: usize,
}

impl CycleSet {
    fn of(place: usize, repeat: &Repeat) -> Option<CycleSet> {
        // A repeat may overlap its next occurrence; what the cycles share does not.
        let overlap = repeat.length.min(repeat.shortest_gap);
        let tokens = repeat.last - repeat.first + overlap;
        let set = CycleSet { rows: repeat.count, overlap, tokens, repeat: place };
        (repeat.variation() <= MAX_DISPERSION).then_some(set)
    }
}

/// All cycle sets with the same number of cycles.
#[derive(Clone, Debug)]
struct CycleGroup {
    rows: usize,
    /// L(N): sum of the overlaps.
    overlap: usize,
    /// L(N) / L(N+1).
    ratio: f64,
    /// Tokens of all its cycle sets. The paper ranks groups “by number of tokens they contain”.
    tokens: usize,
    /// Index of the repeat whose cycle set has the most tokens.
    fullest: usize,
}

/// Groups by number of rows, ascending.
fn groups(sets: &[CycleSet]) -> Vec<CycleGroup> {
    let mut by_rows: BTreeMap<usize, Vec<&CycleSet>> = BTreeMap::new();
    sets.iter().for_each(|set| by_rows.entry(set.rows).or_default().push(set));
    let overlap = |rows: usize| by_rows.get(&rows).map_or(0, |sets| sets.iter().map(|set| set.overlap).sum::<usize>());
    let group = |(&rows, sets): (&usize, &Vec<&CycleSet>)| CycleGroup {
        rows,
        overlap: overlap(rows),
        // L(N+1) is 0 if no sequence occurs N+1 times. The paper leaves that case open.
        ratio: overlap(rows) as f64 / overlap(rows + 1).max(1) as f64,
        tokens: sets.iter().map(|set| set.tokens).sum(),
        // The first of those with the most tokens.
        fullest: sets.iter().rev().max_by_key(|set| set.tokens).map_or(0, |set| set.repeat),
    };
    by_rows.iter().map(group).collect()
}

fn finalists(groups: &[CycleGroup]) -> Vec<&CycleGroup> {
    let mut best: Vec<&CycleGroup> = groups.iter().filter(|group| group.rows >= MIN_ROWS).collect();
    best.sort_by(|a, b| b.ratio.total_cmp(&a.ratio).then(b.overlap.cmp(&a.overlap)));
    best.truncate(BY_RATIO);
    best.sort_by_key(|group| Reverse(group.tokens));
    best.truncate(BY_TOKENS);
    best
}

/// Merges the overlapping cycle sets of a group: every sequence that alternates with the fullest one, once per cycle
/// (Shi definition 2.10; in the fully merged automaton of figure 5 they are one cycle set). Rows begin with the
/// earliest of them.
///
/// Also returns the end of the latest: the last row continues at least to there.
fn merge_overlapping<'r>(
    suffixes: &Suffixes<'_>,
    fullest: &Repeat,
    parts: impl Iterator<Item = &'r Repeat>,
) -> (Vec<usize>, usize) {
    let anchor = suffixes.positions(fullest);
    let mut near: Vec<&Repeat> =
        parts.filter(|it| it.first < anchor[1] && it.last > anchor[anchor.len() - 2]).collect();
    near.sort_by_key(|it| it.first);
    near.truncate(MAX_PARTS);
    let in_step = |early: &[usize], late: &[usize]| {
        early.iter().zip(late).all(|(a, b)| a <= b) && late.iter().zip(&early[1..]).all(|(a, b)| a < b)
    };
    let mut starts = anchor.clone();
    let mut stop = fullest.last + 1;
    for part in near {
        let places = suffixes.positions(part);
        if starts == anchor && places[0] < anchor[0] && in_step(&places, &anchor) {
            starts = places;
            stop = stop.max(part.last + part.length.min(part.shortest_gap));
        } else if in_step(&starts, &places) {
            stop = stop.max(part.last + part.length.min(part.shortest_gap));
        }
    }
    (starts, stop)
}

/// A row runs from one occurrence of the sequence to the next.
fn rows(encoded: &EncodedPage, starts: &[usize], stop: usize) -> Vec<Span> {
    let whole = |pair: &[usize]| Span { start: encoded.start(pair[0]), stop: encoded.start(pair[1]) };
    let mut rows: Vec<Span> = starts.windows(2).map(whole).collect();
    let last = |&last: &usize| encoded.span(last..last_stop(&encoded.symbols, starts).max(stop));
    rows.extend(starts.last().map(last));
    rows
}

/// The end of the last row, which no further occurrence marks. It is taken from the row template: the row ends after
/// the template's last token plus the shortest field that other rows have there, and is not longer than the longest
/// row. (The paper says nothing about this.)
fn last_stop(symbols: &[Symbol], starts: &[usize]) -> usize {
    let Some(&last) = starts.last() else { return 0 };
    let rows: Vec<&[Symbol]> =
        starts.windows(2).map(|pair| &symbols[pair[0]..pair[1].min(pair[0] + MAX_ROW)]).collect();
    let longest = starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1).min(MAX_ROW);
    let tail = &symbols[last..symbols.len().min(last + longest)];
    let template = lcs::common_to_all(&rows);
    let after = |row: &&[Symbol]| lcs::fields(&template, row).last().map_or(0, ExactSizeIterator::len);
    let field = sample(&rows).iter().map(after).min().unwrap_or(0);
    let laid = lcs::pairs(template.len(), tail.len(), |i, j| template[i] == tail[j]);
    let end = laid.last().map_or(tail.len(), |&(_, place)| place + 1 + field);
    last + end.min(tail.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Tree;

    fn set(rows: usize, overlap: usize) -> CycleSet {
        CycleSet { rows, overlap, tokens: rows * overlap, repeat: 0 }
    }

    #[test]
    fn the_lengths_of_shis_table_i_add_up_by_number_of_cycles() {
        // The lengths as the paper's text adds them up; its table lacks two entries of N = 13 (a 9 and a 3).
        let thirteen = [2, 5, 3, 9, 4, 6, 3, 3].map(|len| set(13, len));
        let twelve = [9, 8, 7, 6, 5, 3, 2, 16, 15, 14].map(|len| set(12, len));
        let groups = groups(&[thirteen.as_slice(), &twelve].concat());
        let sums: Vec<(usize, usize)> = groups.iter().map(|group| (group.rows, group.overlap)).collect();
        assert_eq!(sums, [(12, 85), (13, 35)]);
        assert!((groups[0].ratio - 85.0 / 35.0).abs() < 1e-9);
    }

    #[test]
    fn twelve_rows_stand_out_where_l_is_798_then_495_then_90() {
        let groups = groups(&[set(11, 798), set(12, 495), set(13, 90)]);
        let ratio = |i: usize| (groups[i].ratio * 10.0).round() / 10.0;
        // L(11)/L(12) = 1.6 is much smaller than L(12)/L(13) = 5.5: the paper's criterion 2.2.
        assert_eq!((groups[1].rows, ratio(0), ratio(1)), (12, 1.6, 5.5));
    }

    #[test]
    fn ten_groups_are_taken_by_ratio_and_five_of_them_by_tokens() {
        // Only even numbers of rows, so that L(N+1) is 0: the ratio grows with the overlap, the tokens shrink.
        let sets: Vec<CycleSet> =
            (2..=13).map(|i| CycleSet { rows: 2 * i, overlap: i, tokens: 1000 - i, repeat: i }).collect();
        let groups = groups(&sets);
        let rows: Vec<usize> = finalists(&groups).iter().map(|group| group.rows).collect();
        assert_eq!(rows, [8, 10, 12, 14, 16]);
    }

    #[test]
    fn the_tails_of_a_sequence_are_cycle_sets_of_their_own_as_in_table_i() {
        // w x y z occurs three times, and so do x y z, y z and z.
        let symbols = [1, 2, 3, 4, 90, 1, 2, 3, 4, 91, 1, 2, 3, 4];
        let suffixes = Suffixes::new(&symbols);
        let repeats = suffixes.repeats();
        let sets: Vec<CycleSet> = repeats.iter().enumerate().filter_map(|(i, it)| CycleSet::of(i, it)).collect();
        let mut lengths: Vec<usize> = sets.iter().filter(|it| it.rows == 3).map(|it| it.overlap).collect();
        lengths.sort_unstable();
        assert_eq!(lengths, [1, 2, 3, 4]);
        let groups = groups(&sets);
        assert_eq!(suffixes.positions(&repeats[groups[0].fullest]), [0, 5, 10], "the fullest is the whole sequence");
    }

    #[test]
    fn cycles_of_very_different_lengths_are_no_rows() {
        let mut symbols: Vec<Symbol> = (100..400).collect();
        for place in [0, 2, 4, 6, 8, 10, 12, 290] {
            symbols[place] = 1;
        }
        let repeats = Suffixes::new(&symbols).repeats();
        assert_eq!(repeats.len(), 1);
        assert!(repeats[0].variation() > MAX_DISPERSION);
        assert!(CycleSet::of(0, &repeats[0]).is_none());
    }

    const HOTELS: [(&str, &str, &str, &str); 4] = [
        ("AIRPORT HOTEL HALIFAX", "95.00", "60 BELL BLVD, Enfield, NS B2T1K3", "4.7"),
        ("INN ON THE LAKE", "95.50", "3009 NO 2 HIGHWAY, Waverley, NS B0N2S0", "12.6"),
        ("RAMADA PLZ", "99.00", "240 BROWNLOW AVE, Dartmouth, NS B3B1X6", "20.3"),
        ("BURNSIDE HOTEL", "55.00", "739 WINDMILL ROAD, Dartmouth, NS B3B1C1", "20.5"),
    ];

    fn hotel_page() -> String {
        let row = |(name, rate, address, km): &(&str, &str, &str, &str)| {
            format!(
                "<tr><td><a><b>{name}</b></a></td><td align=right>Rate: CAD {rate}</td></tr>\
                 <tr><td colspan=2>{address}<br>Distance: {km} km</td></tr>"
            )
        };
        let rows: String = HOTELS.iter().map(row).collect();
        format!("<h1>Select a Hotel</h1><table>{rows}</table><p>Previous Next</p>")
    }

    fn texts(view: &PageView<'_>, set: &RowSet) -> Vec<String> {
        set.rows.iter().map(|&row| crate::learn::view::text(&view.tokens, row)).collect()
    }

    #[test]
    fn the_hotels_of_shis_first_example_are_found_as_four_rows() {
        let tree = Tree::parse(&hotel_page());
        let view = PageView::new(&tree);
        let sets = find(&view, None);
        let four = sets.iter().find(|set| set.rows.len() == 4).expect("the group of four is among the finalists");
        let texts = texts(&view, four);
        for (text, (name, rate, address, km)) in texts.iter().zip(HOTELS) {
            for value in [name, rate, address, km] {
                assert!(text.contains(value), "{value} in {text:?}");
            }
        }
        assert!(!texts[3].contains("Previous"), "the last row ends with the list: {:?}", texts[3]);
    }

    #[test]
    fn the_template_of_shis_second_example_is_what_stands_around_the_name() {
        let rows = ["AIRPORT HOTEL HALIFAX", "INN ON THE LAKE"]
            .map(|name| ["<b>", name, "</b>", "</a>", "</td>", "<td align=right>"]);
        let template = lcs::common_to_all(&rows.each_ref().map(|row| row.as_slice()));
        assert_eq!(template, ["<b>", "</b>", "</a>", "</td>", "<td align=right>"]);
        assert_eq!(lcs::fields(&template, &rows[1])[1], 1..2);
    }

    #[test]
    fn a_person_who_says_the_number_of_rows_gets_them_first() {
        let tree = Tree::parse(&hotel_page());
        let view = PageView::new(&tree);
        assert_eq!(find(&view, Some(4))[0].rows.len(), 4);
    }
}
