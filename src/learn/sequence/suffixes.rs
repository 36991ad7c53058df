//! Right-maximal repeats of a sequence of symbols: the inner nodes of its suffix tree, computed from the suffix array.
//!
//! A node is the longest sequence with a given set of occurrences. The gaps between occurrences are kept as running
//! sums while nodes are merged, smaller into larger. On a periodic page the occurrences of all nodes together are
//! quadratic in the page (docs/design/learning.md 7); the merges are not.

use super::suffix_array::{lcp_array, suffix_array};
use crate::page::encode::Symbol;

/// A right-maximal repeat: a sequence that occurs at least twice, not always followed by the same symbol.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// Number of symbols.
    pub length: usize,
    /// Number of occurrences, overlapping ones included.
    pub count: usize,
    pub first: usize,
    pub last: usize,
    /// Shortest distance between consecutive occurrences.
    pub shortest_gap: usize,
    /// Sum of the squared distances between consecutive occurrences.
    sum_of_squares: f64,
    /// Whether the symbol before it differs between occurrences. Then it is a maximal repeat.
    pub is_left_diverse: bool,
    /// Start of its occurrences in the suffix array.
    array_start: usize,
}

impl Repeat {
    /// Coefficient of variation of the distances between occurrences: Shi's dispersion, IEPAD's regularity.
    pub fn variation(&self) -> f64 {
        let gaps = (self.count - 1) as f64;
        variation((self.last - self.first) as f64, self.sum_of_squares, gaps)
    }
}

/// Standard deviation over mean, from the sum, the sum of squares and the number of values.
pub fn variation(sum: f64, squares: f64, number: f64) -> f64 {
    let mean = sum / number;
    if number < 1.0 || mean <= 0.0 { 0.0 } else { (squares / number - mean * mean).max(0.0).sqrt() / mean }
}

pub struct Suffixes<'s> {
    symbols: &'s [Symbol],
    /// Start positions of all suffixes, in lexicographic order.
    suffix_array: Vec<u32>,
}

impl<'s> Suffixes<'s> {
    pub fn new(symbols: &'s [Symbol]) -> Suffixes<'s> {
        Suffixes { symbols, suffix_array: suffix_array(symbols) }
    }

    /// Positions of the occurrences, ascending.
    pub fn positions(&self, repeat: &Repeat) -> Vec<usize> {
        let mut places: Vec<usize> = self.suffix_array[repeat.array_start..repeat.array_start + repeat.count]
            .iter()
            .map(|&place| place as usize)
            .collect();
        places.sort_unstable();
        places
    }

    /// All right-maximal repeats.
    pub fn repeats(&self) -> Vec<Repeat> {
        let shared = lcp_array(self.symbols, &self.suffix_array);
        let mut repeats = Vec::new();
        let mut open = vec![SuffixNode { depth: 0, from: 0, places: OccurrenceSet::default() }];
        for (i, &place) in self.suffix_array.iter().enumerate() {
            let next = shared.get(i + 1).copied().unwrap_or(0);
            let mut done = SuffixNode {
                depth: usize::MAX,
                from: i,
                places: OccurrenceSet::single(place, self.preceding_symbol(place)),
            };
            // The leaf, then each node that ends here, is merged into the deepest node that continues.
            loop {
                let top = open.last_mut().expect("the root is never closed");
                if top.depth < next {
                    open.push(SuffixNode { depth: next, ..done });
                    break;
                }
                top.places.join(done.places);
                if top.depth == next {
                    break;
                }
                done = open.pop().expect("it was there a line ago");
                repeats.push(done.repeat());
            }
        }
        repeats
    }

    fn preceding_symbol(&self, place: u32) -> Option<Symbol> {
        (place as usize).checked_sub(1).map(|before| self.symbols[before])
    }
}

struct SuffixNode {
    depth: usize,
    from: usize,
    places: OccurrenceSet,
}

impl SuffixNode {
    fn repeat(&self) -> Repeat {
        let ends = (self.places.positions.first(), self.places.positions.last());
        let (Some(first), Some(last)) = ends else { unreachable!("a node holds the leaves that opened it") };
        Repeat {
            length: self.depth,
            count: self.places.positions.count,
            first: first as usize,
            last: last as usize,
            shortest_gap: self.places.shortest_gap as usize,
            sum_of_squares: self.places.sum_of_squares,
            is_left_diverse: self.places.before == PrecedingSymbol::Several,
            array_start: self.from,
        }
    }
}

/// The occurrences of one node, with running sums of their gaps.
#[derive(Default)]
struct OccurrenceSet {
    positions: SortedChunks,
    sum_of_squares: f64,
    shortest_gap: u32,
    before: PrecedingSymbol,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum PrecedingSymbol {
    #[default]
    Nothing,
    /// The same symbol before every occurrence; `None` is the start of the page.
    One(Option<Symbol>),
    Several,
}

impl OccurrenceSet {
    fn single(place: u32, before: Option<Symbol>) -> OccurrenceSet {
        OccurrenceSet {
            positions: SortedChunks::single(place),
            sum_of_squares: 0.0,
            shortest_gap: u32::MAX,
            before: PrecedingSymbol::One(before),
        }
    }

    fn join(&mut self, mut other: OccurrenceSet) {
        if self.positions.count < other.positions.count {
            std::mem::swap(self, &mut other);
        }
        self.before = match (self.before, other.before) {
            (PrecedingSymbol::Nothing, it) | (it, PrecedingSymbol::Nothing) => it,
            (a, b) if a == b => a,
            _ => PrecedingSymbol::Several,
        };
        for place in other.positions.chunks.into_iter().flatten() {
            self.insert(place);
        }
    }

    /// Inserts an occurrence and splits the gap that contains it.
    fn insert(&mut self, place: u32) {
        let square = |a: u32, b: u32| f64::from(b - a) * f64::from(b - a);
        let (before, after) = self.positions.insert(place);
        if let (Some(before), Some(after)) = (before, after) {
            self.sum_of_squares -= square(before, after);
        }
        if let Some(before) = before {
            self.sum_of_squares += square(before, place);
            self.shortest_gap = self.shortest_gap.min(place - before);
        }
        if let Some(after) = after {
            self.sum_of_squares += square(place, after);
            self.shortest_gap = self.shortest_gap.min(after - place);
        }
    }
}

/// Ascending numbers in chunks of bounded length. Inserting a number yields its neighbours.
#[derive(Default)]
struct SortedChunks {
    /// None of them is empty.
    chunks: Vec<Vec<u32>>,
    count: usize,
}

/// Maximum numbers of a chunk: a compromise between many chunks to search and long ones to move, not tuned. 60,000
/// numbers make some 200 chunks.
const MAX_CHUNK: usize = 512;

impl SortedChunks {
    fn single(number: u32) -> SortedChunks {
        SortedChunks { chunks: vec![vec![number]], count: 1 }
    }

    fn first(&self) -> Option<u32> {
        self.chunks.first()?.first().copied()
    }

    fn last(&self) -> Option<u32> {
        self.chunks.last()?.last().copied()
    }

    /// Inserts a number that is not contained yet, and returns the next smaller and the next larger one.
    fn insert(&mut self, number: u32) -> (Option<u32>, Option<u32>) {
        self.count += 1;
        // The last chunk that begins with a smaller number, or the first chunk.
        let at = self.chunks.partition_point(|piece| piece[0] < number).saturating_sub(1);
        let next = self.chunks.get(at + 1).map(|piece| piece[0]);
        let Some(piece) = self.chunks.get_mut(at) else {
            self.chunks.push(vec![number]);
            return (None, None);
        };
        let place = piece.partition_point(|&it| it < number);
        let beside = (place.checked_sub(1).map(|before| piece[before]), piece.get(place).copied().or(next));
        piece.insert(place, number);
        if piece.len() > MAX_CHUNK {
            let rest = piece.split_off(MAX_CHUNK / 2);
            self.chunks.insert(at + 1, rest);
        }
        beside
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn symbols(text: &str) -> Vec<Symbol> {
        text.bytes().map(Symbol::from).collect()
    }

    /// `sequence × count`, maximal repeats only, longest first.
    fn maximal(text: &str) -> Vec<String> {
        let symbols = symbols(text);
        let suffixes = Suffixes::new(&symbols);
        let mut found: Vec<Repeat> = suffixes.repeats().into_iter().filter(|it| it.is_left_diverse).collect();
        found.sort_by_key(|it| (std::cmp::Reverse(it.length), it.first));
        found.iter().map(|it| format!("{} × {}", &text[it.first..it.first + it.length], it.count)).collect()
    }

    #[test]
    fn the_congo_code_has_one_maximal_repeat_of_more_than_three_tokens_and_it_is_the_record() {
        // <B> TEXT </B> <I> TEXT </I> <BR>, twice.
        assert_eq!(maximal("btBitIrbtBitIr"), ["btBitIr × 2", "t × 4"]);
    }

    #[test]
    fn the_pattern_of_iepads_alignment_example_occurs_four_times() {
        assert!(maximal("adcwbdadcxbadcxbdadcb").contains(&"adc × 4".to_owned()));
    }

    #[test]
    fn places_ascend_and_gaps_are_measured() {
        let symbols = symbols("xabyabzzzabq");
        let suffixes = Suffixes::new(&symbols);
        let repeat = suffixes.repeats().into_iter().find(|it| it.length == 2).expect("ab comes back");
        assert_eq!(suffixes.positions(&repeat), [1, 4, 9]);
        assert_eq!((repeat.count, repeat.first, repeat.last, repeat.shortest_gap), (3, 1, 9, 3));
        // Gaps of 3 and 5: mean 4, deviation 1.
        assert!((repeat.variation() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn nothing_and_one_symbol_have_no_repeats() {
        assert!(Suffixes::new(&[]).repeats().is_empty());
        assert!(Suffixes::new(&[7]).repeats().is_empty());
    }

    #[test]
    fn a_number_put_in_anywhere_is_told_its_neighbours() {
        let mut sorted = SortedChunks::default();
        let mut plain = std::collections::BTreeSet::new();
        // 7,919 is prime to 4,000: each number occurs once, in no order, and there are many chunks.
        for number in (0..4_000_u32).map(|i| i * 7_919 % 4_000) {
            let before = plain.range(..number).next_back().copied();
            let after = plain.range(number..).next().copied();
            assert_eq!(sorted.insert(number), (before, after));
            plain.insert(number);
        }
        assert!(sorted.chunks.iter().all(|piece| !piece.is_empty() && piece.len() <= MAX_CHUNK));
        assert_eq!((sorted.count, sorted.first(), sorted.last()), (4_000, Some(0), Some(3_999)));
        assert_eq!(sorted.chunks.concat(), (0..4_000).collect::<Vec<_>>());
    }

    #[test]
    fn two_hundred_thousand_times_the_same_symbol_is_near_linear_work() {
        let symbols = vec![3; 200_000];
        let suffixes = Suffixes::new(&symbols);
        let repeats = suffixes.repeats();
        assert_eq!(repeats.len(), 199_999);
        assert!(repeats.iter().all(|it| it.is_left_diverse && it.shortest_gap == 1 && it.variation() == 0.0));
    }

    proptest! {
        #[test]
        fn the_repeats_are_those_that_a_plain_count_finds(symbols in proptest::collection::vec(0_u32..3, 0..40)) {
            let mut counts: BTreeMap<&[u32], Vec<usize>> = BTreeMap::new();
            for from in 0..symbols.len() {
                for to in from + 1..=symbols.len() {
                    counts.entry(&symbols[from..to]).or_default().push(from);
                }
            }
            let right_maximal = |sequence: &[u32], places: &[usize]| {
                let after = |place: usize| symbols.get(place + sequence.len());
                places.len() >= 2 && places.iter().any(|&it| after(it) != after(places[0]))
            };
            let expected: Vec<(&[u32], Vec<usize>)> = counts
                .into_iter()
                .filter(|(sequence, places)| right_maximal(sequence, places))
                .collect();
            let suffixes = Suffixes::new(&symbols);
            let mut found: Vec<(&[u32], Vec<usize>)> = suffixes
                .repeats()
                .iter()
                .map(|it| (&symbols[it.first..it.first + it.length], suffixes.positions(it)))
                .collect();
            found.sort();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn the_running_sums_are_those_of_the_places(symbols in proptest::collection::vec(0_u32..3, 0..60)) {
            let suffixes = Suffixes::new(&symbols);
            for repeat in suffixes.repeats() {
                let places = suffixes.positions(&repeat);
                let gaps: Vec<usize> = places.windows(2).map(|it| it[1] - it[0]).collect();
                let squares: f64 = gaps.iter().map(|&gap| (gap * gap) as f64).sum();
                prop_assert_eq!(Some(repeat.shortest_gap), gaps.iter().min().copied());
                prop_assert!((repeat.sum_of_squares - squares).abs() < 1e-6);
                let before = |&place: &usize| place.checked_sub(1).map(|it| symbols[it]);
                let diverse = places.iter().any(|place| before(place) != before(&places[0]));
                prop_assert_eq!(repeat.is_left_diverse, diverse);
            }
        }
    }
}
