//! IEPAD: a list is a sequence of tags that comes back at even distances, close together, with text in it.
//!
//! Encoding by encoding: maximal repeats, those that are regular and dense (or become so when their places are cut into
//! blocks), the strings between their places aligned into one pattern with optional and alternative tags, the pattern
//! turned to where a record begins, and all its occurrences on the page.

use std::collections::HashSet;

use super::pattern::{MAX_LENGTH, TagPattern};
use super::suffixes::{Suffixes, variation};
use super::{Finder, PageView, RowSet, RowSetCollector};
use crate::page::encode::{EncodedPage, Symbol, TagEncoding};
use crate::page::tokens::{Span, TokenKind};

/// The paper's five, best first (its Table 3; all text-level tags left out is best).
const ENCODINGS: [TagEncoding; 5] =
    [TagEncoding::Block, TagEncoding::NoSpecial, TagEncoding::NoPhysical, TagEncoding::NoLogical, TagEncoding::Tags];

/// γ: gaps between occurrences vary no more than this, as standard deviation over mean (IEPAD 3.4).
const MAX_REGULARITY: f64 = 0.5;
/// γₘ: “a smaller value close to zero” for the blocks that scattered occurrences are cut into (IEPAD 3.5).
const MAX_BLOCK_REGULARITY: f64 = 0.1;
/// Density (k−1)·|α| / (pₖ−p₁) of the paper's experiments (its Table 1; its text names 0.5 as the default).
const MIN_DENSITY: f64 = 0.25;
const MAX_DENSITY: f64 = 1.5;
/// Shortest pattern and least number of occurrences of the paper's experiments (IEPAD 5).
const MIN_LENGTH: usize = 3;
const MIN_COUNT: usize = 5;

/// Occurrences that are looked at one by one, over all repeats of one encoding: all nodes of a periodic page of 60,000 tokens
/// have 28.7 million (docs/design/learning.md 7). Repeats beyond it are not looked at.
const MAX_OCCURRENCES: usize = 3_000_000;
/// Patterns of one encoding that are aligned and searched for, the fittest. The paper validates 4.7 on average.
const MAX_PATTERNS: usize = 24;
/// Symbols that the patterns of one encoding are searched for in, over all of them: further patterns are not tried. On a page of
/// a thousand symbols it is reached by none; on a tree of 60,000 in which everything comes back the search was an eighth of all time.
const MAX_SEARCHED_SYMBOLS: usize = 4_000_000;
/// Starts of a record that are tried for one pattern.
const MAX_ROTATIONS: usize = 16;

/// The row sets of all patterns, fittest first.
pub fn find(view: &PageView<'_>) -> Vec<RowSet> {
    let mut fit: Vec<(f64, Vec<Span>)> = Vec::new();
    let mut seen: HashSet<Vec<Symbol>> = HashSet::new();
    for encoding in ENCODINGS {
        let encoded = EncodedPage::new(&view.tokens, encoding);
        if !seen.insert(encoded.symbols.clone()) {
            continue;
        }
        let mut tried = HashSet::new();
        for candidate in candidates(view, &encoded) {
            if tried.len() * encoded.symbols.len() > MAX_SEARCHED_SYMBOLS {
                break;
            }
            fit.extend(extract(view, &encoded, &candidate, &mut tried));
        }
    }
    // Stable: of equals the higher abstraction comes first.
    fit.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found = RowSetCollector::new(view);
    for (_, rows) in fit {
        found.add(Finder::Repeats, rows, 0.0);
    }
    found.sets
}

/// A maximal repeat that passed the validator: its length and its occurrences, all or those of one block.
#[derive(Clone, Debug, PartialEq)]
struct RepeatCandidate {
    length: usize,
    positions: Vec<usize>,
    fitness: f64,
}

/// The validator (IEPAD 3.4): regular, dense, with text; and the blocks of what is not regular.
fn candidates(view: &PageView<'_>, encoded: &EncodedPage) -> Vec<RepeatCandidate> {
    let suffixes = Suffixes::new(&encoded.symbols);
    let mut candidates = Vec::new();
    let mut looked_at = 0;
    for repeat in suffixes.repeats() {
        let density = density(repeat.count, repeat.length, repeat.last - repeat.first);
        let is_regular = repeat.variation() <= MAX_REGULARITY;
        if !repeat.is_left_diverse
            || repeat.length < MIN_LENGTH
            || repeat.count < MIN_COUNT
            || repeat.shortest_gap * 2 < repeat.length
            || (is_regular && !(MIN_DENSITY..=MAX_DENSITY).contains(&density))
            || !encoded.symbols[repeat.first..repeat.first + repeat.length].iter().any(|&it| encoded.is_text(it))
        {
            continue;
        }
        looked_at += repeat.count;
        if looked_at > MAX_OCCURRENCES {
            break;
        }
        let places = suffixes.positions(&repeat);
        let blocks = if is_regular { vec![places] } else { partition(&places) };
        candidates.extend(blocks.into_iter().filter_map(|places| validated(view, encoded, repeat.length, places)));
    }
    candidates.sort_by(|a, b| b.fitness.total_cmp(&a.fitness));
    candidates.truncate(MAX_PATTERNS);
    candidates
}

fn validated(view: &PageView<'_>, encoded: &EncodedPage, length: usize, places: Vec<usize>) -> Option<RepeatCandidate> {
    let (first, last) = (*places.first()?, *places.last()?);
    let density = density(places.len(), length, last - first);
    if places.len() < MIN_COUNT || !(MIN_DENSITY..=MAX_DENSITY).contains(&density) {
        return None;
    }
    // The tree knows no bytes of the source: the share of the text stands for the share of the page.
    let covered = view.tokens.weight(encoded.span(first..last + length));
    let coverage = f64::from(covered) / f64::from(view.tokens.weight(view.tokens.all()).max(1));
    Some(RepeatCandidate { length, fitness: fitness(regularity(&places), density, coverage), positions: places })
}

/// “Ideally, the extraction pattern should have regularity equal to zero, density equal to one and large coverage.”
fn fitness(regularity: f64, density: f64, coverage: f64) -> f64 {
    coverage * density.min(1.0 / density) * (1.0 - regularity)
}

fn density(count: usize, length: usize, distance: usize) -> f64 {
    (count - 1) as f64 * length as f64 / distance.max(1) as f64
}

fn regularity(places: &[usize]) -> f64 {
    let gaps = places.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
    let (sum, squares) = gaps.fold((0.0, 0.0), |(sum, squares), gap| (sum + gap, squares + gap * gap));
    variation(sum, squares, (places.len() - 1) as f64)
}

/// Cuts places into blocks that are regular each (IEPAD 3.5): a block ends where the next place would make it irregular.
///
/// The pseudo-code as it came to us keeps a block when its regularity is *greater* than γₘ, and never looks at the last
/// one; the text beside it says “less than threshold γₘ”, and a list's last block counts too.
fn partition(places: &[usize]) -> Vec<Vec<usize>> {
    let mut blocks = Vec::new();
    let mut block: Vec<usize> = Vec::new();
    let (mut sum, mut squares) = (0.0, 0.0);
    for &place in places {
        if let Some(&before) = block.last() {
            let gap = (place - before) as f64;
            if variation(sum + gap, squares + gap * gap, block.len() as f64) > MAX_REGULARITY {
                blocks.push(std::mem::take(&mut block));
                (sum, squares) = (0.0, 0.0);
            } else {
                (sum, squares) = (sum + gap, squares + gap * gap);
            }
        }
        block.push(place);
    }
    blocks.push(block);
    blocks.retain(|block| block.len() >= MIN_COUNT && regularity(block) <= MAX_BLOCK_REGULARITY);
    blocks
}

/// The rule composer and the extractor: the candidate's pattern, turned to a record's start, and what it finds. Many repeats
/// of one list come to the same pattern, turned: it is tried once, for the fittest.
fn extract(
    view: &PageView<'_>,
    encoded: &EncodedPage,
    candidate: &RepeatCandidate,
    tried: &mut HashSet<TagPattern>,
) -> Option<(f64, Vec<Span>)> {
    let pattern = compose(&encoded.symbols, candidate);
    if pattern.len() > MAX_LENGTH || !pattern.has(|symbol| encoded.is_text(symbol)) {
        return None;
    }
    let starts = rotations(encoded, &pattern).into_iter();
    let fresh = starts.map(|start| pattern.rotated(start)).filter(|it| tried.insert(it.clone()));
    let turned = fresh.map(|pattern| {
        let found = pattern.occurrences(&encoded.symbols);
        let rows: Vec<Span> = found.into_iter().map(|it| encoded.span(it)).collect();
        let whole = rows.iter().filter(|&&row| is_balanced(view, row)).count();
        (whole, rows)
    });
    // Most records that are whole elements, then most records, then the earliest start.
    let best = turned.enumerate().max_by_key(|(i, (whole, rows))| (*whole, rows.len(), std::cmp::Reverse(*i)));
    best.map(|(_, (_, rows))| (candidate.fitness, rows))
}

/// The strings from each occurrence to the next, aligned. A repeat that fills the way to the next is its own pattern.
fn compose(symbols: &[Symbol], candidate: &RepeatCandidate) -> TagPattern {
    let RepeatCandidate { length, positions: places, .. } = candidate;
    let exact = || TagPattern::exact(&symbols[places[0]..places[0] + length]);
    let strings = places.windows(2).map(|pair| &symbols[pair[0]..pair[1]]);
    TagPattern::of_strings(strings).unwrap_or_else(exact)
}

/// Where a record may begin: at the pattern's own start, or where only one symbol may stand and that is an opening tag of
/// the block level, or one such tag has just ended. The paper's guide is a list of such tags (`<DL>`, `<DT>`, `<TR>`, …
/// to begin with, `<P>`, `<BR>`, `<HR>` to end with); its footnote with the rest is damaged, and HTML has more now.
fn rotations(encoded: &EncodedPage, pattern: &TagPattern) -> Vec<usize> {
    let opens = |place: usize| pattern.single(place).is_some_and(|it| encoded.is_open(it) && encoded.is_block(it));
    let ends = |place: usize| {
        let separates = |name: &str| matches!(name, "<br>" | "<hr>" | "</p>" | "#nl");
        pattern.single(place).is_some_and(|it| separates(encoded.name(it)))
    };
    let begins = |place: &usize| *place == 0 || opens(*place) || (pattern.single(*place).is_some() && ends(*place - 1));
    (0..pattern.len()).filter(begins).take(MAX_ROTATIONS).collect()
}

/// Every element that begins in the row ends in it, and the other way round.
fn is_balanced(view: &PageView<'_>, row: Span) -> bool {
    let mut depth = 0_i32;
    for token in view.tokens.slice(row) {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth -= 1,
            TokenKind::Text | TokenKind::Line => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Tree;

    fn found(html: &str) -> Vec<Vec<String>> {
        let tree = Tree::parse(html);
        let view = PageView::new(&tree);
        let texts = |set: &RowSet| set.rows.iter().map(|&row| crate::learn::leaf::text(&view.tokens, row)).collect();
        find(&view).iter().map(texts).collect()
    }

    #[test]
    fn the_congo_list_is_found_a_country_a_row() {
        let countries = [("Congo", 242), ("Egypt", 20), ("Belize", 501), ("Spain", 34), ("Fiji", 679)];
        let lines: String = countries.iter().map(|(name, code)| format!("<B>{name}</B><I>{code}</I><BR>\n")).collect();
        let rows = &found(&lines)[0];
        let expected: Vec<String> = countries.iter().map(|(name, code)| format!("{name}{code}")).collect();
        assert_eq!(rows, &expected);
    }

    #[test]
    fn regularity_density_and_their_ideal_are_as_defined() {
        assert_eq!(regularity(&[0, 7, 14, 21]), 0.0);
        assert!((regularity(&[0, 3, 8]) - 0.25).abs() < 1e-9);
        assert_eq!(density(4, 7, 21), 1.0);
        assert_eq!(fitness(0.0, 1.0, 0.8), 0.8);
        assert!(fitness(0.0, 1.25, 0.8) < 0.8 && fitness(0.0, 0.8, 0.8) < 0.8);
    }

    #[test]
    fn a_pattern_in_three_blocks_is_cut_into_them_and_the_short_one_dropped() {
        let mut places: Vec<usize> = (0..6).map(|i| i * 4).collect();
        places.extend((0..3).map(|i| 200 + i * 4));
        places.extend((0..5).map(|i| 400 + i * 4));
        assert!(regularity(&places) > MAX_REGULARITY);
        assert_eq!(
            partition(&places),
            [(0..6).map(|i| i * 4).collect::<Vec<_>>(), (0..5).map(|i| 400 + i * 4).collect()]
        );
        assert!(partition(&[]).is_empty());
    }

    #[test]
    fn the_occurrences_of_adc_give_the_pattern_of_the_paper() {
        let symbols: Vec<Symbol> = "adcwbdadcxbadcxbdadcb".bytes().map(Symbol::from).collect();
        let candidate = RepeatCandidate { length: 3, positions: vec![0, 6, 11, 17], fitness: 1.0 };
        let pattern = compose(&symbols, &candidate);
        assert_eq!(pattern.occurrences(&symbols), [0..6, 6..11, 11..17]);
    }

    #[test]
    fn an_optional_badge_does_not_split_the_list() {
        let row = |i: usize| {
            let badge = if i % 3 == 1 { "<div>new</div>" } else { "" };
            format!("<li><h3>Name {i}</h3>{badge}<p>{i}.50</p></li>")
        };
        let html: String = (0..9).map(row).collect();
        let rows = found(&format!("<h1>Shop</h1><ul>{html}</ul><p>Imprint</p>"));
        assert_eq!(rows[0].len(), 9, "{:?}", rows[0]);
        assert_eq!(rows[0][1], "Name 1 new 1.50");
    }

    #[test]
    fn a_record_begins_with_the_tag_that_opens_it_wherever_the_repeat_began() {
        let html: String = (0..6).map(|i| format!("<tr><td>{i}</td><td>value {i}</td></tr>")).collect();
        let rows = &found(&format!("<table>{html}</table>"))[0];
        assert_eq!(rows, &(0..6).map(|i| format!("{i} value {i}")).collect::<Vec<_>>());
    }
}
