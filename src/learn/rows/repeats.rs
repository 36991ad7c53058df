//! IEPAD: finds lists as tag patterns that occur at regular distances, densely, with text.
//!
//! For each encoding of the page: find the maximal repeats; keep those whose occurrences are regular and dense, or
//! become so when cut into blocks; align the strings between occurrences into one pattern with optional and alternative
//! tags; rotate the pattern to the start of a record; take all its occurrences on the page.

use std::collections::HashSet;

use super::pattern::{MAX_LENGTH, TagPattern};
use super::row_set::{RowSet, RowSetCollector};
use crate::learn::sequence::suffixes::{Suffixes, variation};
use crate::learn::template::Finder;
use crate::learn::view::PageView;
use crate::page::encode::{EncodedPage, Symbol, TagEncoding};
use crate::page::tokens::{Span, TokenKind};

/// The paper's five encodings, best first (its Table 3: leaving out all text-level tags is best).
const ENCODINGS: [TagEncoding; 5] =
    [TagEncoding::Block, TagEncoding::NoSpecial, TagEncoding::NoPhysical, TagEncoding::NoLogical, TagEncoding::Tags];

/// γ: maximum regularity, the standard deviation of the gaps between occurrences over their mean (IEPAD 3.4).
const MAX_REGULARITY: f64 = 0.5;
/// γₘ: “a smaller value close to zero”, for the blocks that scattered occurrences are cut into (IEPAD 3.5).
const MAX_BLOCK_REGULARITY: f64 = 0.1;
/// Density (k−1)·|α| / (pₖ−p₁) of the paper's experiments (its Table 1; its text gives 0.5 as the default).
const MIN_DENSITY: f64 = 0.25;
const MAX_DENSITY: f64 = 1.5;
/// Minimum length of a pattern and minimum number of occurrences in the paper's experiments (IEPAD 5).
const MIN_LENGTH: usize = 3;
const MIN_COUNT: usize = 5;

/// Maximum number of occurrences that are examined, over all repeats of one encoding. On a periodic page of 60,000
/// tokens all nodes together have 28.7 million (docs/design/learning.md 7). Further repeats are ignored.
const MAX_OCCURRENCES: usize = 3_000_000;
/// Maximum number of patterns of one encoding that are aligned and matched, fittest first. The paper validates 4.7 on
/// average.
const MAX_PATTERNS: usize = 24;
/// Maximum number of symbols that are searched, over all patterns of one encoding; further patterns are not tried. No
/// page of a thousand symbols reaches it. On a periodic tree of 60,000 the search was an eighth of the total time.
const MAX_SEARCHED_SYMBOLS: usize = 4_000_000;
/// Maximum number of record starts that are tried for one pattern.
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
    // The sort is stable: of equally fit patterns the coarser encoding comes first.
    fit.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found = RowSetCollector::new(view);
    for (_, rows) in fit {
        found.add(Finder::Repeats, rows, 0.0);
    }
    found.sets
}

/// A maximal repeat that the validator accepted, with its length and its occurrences (all of them, or those of one
/// block).
#[derive(Clone, Debug, PartialEq)]
struct RepeatCandidate {
    length: usize,
    positions: Vec<usize>,
    fitness: f64,
}

/// The validator (IEPAD 3.4): accepts repeats that are regular, dense and have text, and cuts irregular ones into
/// blocks.
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
    // The tree has no byte offsets of the source, so coverage is measured in text.
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

/// Occurrence partition (IEPAD 3.5): cuts positions into regular blocks. A block ends where the next position would
/// make it irregular.
///
/// The paper's pseudo-code keeps a block whose regularity is *greater* than γₘ and ignores the last block. Its text
/// says “less than threshold γₘ”. The text is followed here, and the last block counts too.
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

/// Rule composer and extractor: rotates the candidate's pattern to the start of a record and returns its occurrences.
/// Many repeats of one list give the same pattern, rotated; each rotation is tried once, for the fittest candidate.
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
    // Prefers most rows that are whole elements, then most rows, then the earliest start.
    let best = turned.enumerate().max_by_key(|(i, (whole, rows))| (*whole, rows.len(), std::cmp::Reverse(*i)));
    best.map(|(_, (_, rows))| (candidate.fitness, rows))
}

/// Aligns the strings between consecutive occurrences. If they give no pattern, it is the repeat itself.
fn compose(symbols: &[Symbol], candidate: &RepeatCandidate) -> TagPattern {
    let RepeatCandidate { length, positions: places, .. } = candidate;
    let exact = || TagPattern::exact(&symbols[places[0]..places[0] + length]);
    let strings = places.windows(2).map(|pair| &symbols[pair[0]..pair[1]]);
    TagPattern::of_strings(strings).unwrap_or_else(exact)
}

/// Possible starts of a record: the start of the pattern; an opening block-level tag; a position after a separator tag.
/// Optional positions and those with alternatives are excluded. The paper uses a list of such tags (`<DL>`, `<DT>`,
/// `<TR>`, … as starts, `<P>`, `<BR>`, `<HR>` as ends). Its list is incomplete in the available copy, and HTML has more
/// tags now.
fn rotations(encoded: &EncodedPage, pattern: &TagPattern) -> Vec<usize> {
    let opens = |place: usize| pattern.single(place).is_some_and(|it| encoded.is_open(it) && encoded.is_block(it));
    let ends = |place: usize| {
        let separates = |name: &str| matches!(name, "<br>" | "<hr>" | "</p>" | "#nl");
        pattern.single(place).is_some_and(|it| separates(encoded.name(it)))
    };
    let begins = |place: &usize| *place == 0 || opens(*place) || (pattern.single(*place).is_some() && ends(*place - 1));
    (0..pattern.len()).filter(begins).take(MAX_ROTATIONS).collect()
}

/// Whether every element that begins in the row ends in it, and vice versa.
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
        let texts = |set: &RowSet| set.rows.iter().map(|&row| crate::learn::view::text(&view.tokens, row)).collect();
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
