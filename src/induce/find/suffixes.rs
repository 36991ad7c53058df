//! Everything that comes back in a sequence of symbols: the inner nodes of its suffix tree, by way of the suffix array.
//!
//! A node stands for the longest sequence that occurs at a set of places. How far apart the places are is kept as running
//! sums while nodes are joined, smaller into larger: on a periodic page the places of all nodes together are quadratic in
//! the page (learn-notes 7), the joins are not.

use crate::page::encode::Symbol;

/// A sequence that occurs at least twice and goes on differently behind some two places: a right-maximal repeat.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// Symbols of the sequence.
    pub length: usize,
    /// How often it occurs, overlaps included.
    pub count: usize,
    pub first: usize,
    pub last: usize,
    /// The shortest distance between neighbouring places.
    pub shortest_gap: usize,
    /// Sum of the squares of those distances.
    squares: f64,
    /// What stands before it differs between some two places: with that it is a maximal repeat.
    pub is_left_diverse: bool,
    /// Its places are this stretch of the suffix array.
    from: usize,
}

impl Repeat {
    /// Standard deviation over mean of the distances between neighbouring places: Shi's dispersion, IEPAD's regularity.
    pub fn variation(&self) -> f64 {
        let gaps = (self.count - 1) as f64;
        variation((self.last - self.first) as f64, self.squares, gaps)
    }
}

/// Standard deviation over mean, from the sum, the sum of squares and the number.
pub fn variation(sum: f64, squares: f64, number: f64) -> f64 {
    let mean = sum / number;
    if number < 1.0 || mean <= 0.0 { 0.0 } else { (squares / number - mean * mean).max(0.0).sqrt() / mean }
}

pub struct Suffixes<'s> {
    symbols: &'s [Symbol],
    /// The places of the sequence in the order of what follows them.
    order: Vec<u32>,
}

impl<'s> Suffixes<'s> {
    pub fn new(symbols: &'s [Symbol]) -> Suffixes<'s> {
        Suffixes { symbols, order: sorted(symbols) }
    }

    /// Where the repeat occurs, ascending.
    pub fn places(&self, repeat: &Repeat) -> Vec<usize> {
        let mut places: Vec<usize> =
            self.order[repeat.from..repeat.from + repeat.count].iter().map(|&place| place as usize).collect();
        places.sort_unstable();
        places
    }

    /// All right-maximal repeats.
    pub fn repeats(&self) -> Vec<Repeat> {
        let shared = shared(self.symbols, &self.order);
        let mut repeats = Vec::new();
        let mut open = vec![Node { depth: 0, from: 0, places: Places::default() }];
        for (i, &place) in self.order.iter().enumerate() {
            let next = shared.get(i + 1).copied().unwrap_or(0);
            let mut done = Node { depth: usize::MAX, from: i, places: Places::one(place, self.before(place)) };
            // The leaf, then each node that ends here, belongs to the deepest node that goes on.
            loop {
                let top = open.last_mut().expect("the root is never closed");
                if top.depth < next {
                    open.push(Node { depth: next, ..done });
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

    fn before(&self, place: u32) -> Option<Symbol> {
        (place as usize).checked_sub(1).map(|before| self.symbols[before])
    }
}

struct Node {
    depth: usize,
    from: usize,
    places: Places,
}

impl Node {
    fn repeat(&self) -> Repeat {
        let ends = (self.places.set.first(), self.places.set.last());
        let (Some(first), Some(last)) = ends else { unreachable!("a node holds the leaves that opened it") };
        Repeat {
            length: self.depth,
            count: self.places.set.count,
            first: first as usize,
            last: last as usize,
            shortest_gap: self.places.shortest as usize,
            squares: self.places.squares,
            is_left_diverse: self.places.before == Before::Several,
            from: self.from,
        }
    }
}

/// Places of one node, and what is known of the gaps between them.
#[derive(Default)]
struct Places {
    set: Sorted,
    squares: f64,
    shortest: u32,
    before: Before,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Nothing,
    /// The same symbol at all places; `None` is the page's start.
    One(Option<Symbol>),
    Several,
}

impl Places {
    fn one(place: u32, before: Option<Symbol>) -> Places {
        Places { set: Sorted::one(place), squares: 0.0, shortest: u32::MAX, before: Before::One(before) }
    }

    fn join(&mut self, mut other: Places) {
        if self.set.count < other.set.count {
            std::mem::swap(self, &mut other);
        }
        self.before = match (self.before, other.before) {
            (Before::Nothing, it) | (it, Before::Nothing) => it,
            (a, b) if a == b => a,
            _ => Before::Several,
        };
        for place in other.set.pieces.into_iter().flatten() {
            self.insert(place);
        }
    }

    /// Splits the gap that the place falls into.
    fn insert(&mut self, place: u32) {
        let square = |a: u32, b: u32| f64::from(b - a) * f64::from(b - a);
        let (before, after) = self.set.insert(place);
        if let (Some(before), Some(after)) = (before, after) {
            self.squares -= square(before, after);
        }
        if let Some(before) = before {
            self.squares += square(before, place);
            self.shortest = self.shortest.min(place - before);
        }
        if let Some(after) = after {
            self.squares += square(place, after);
            self.shortest = self.shortest.min(after - place);
        }
    }
}

/// Ascending numbers in pieces of bounded length: what stands beside a new one is seen where it is put in.
#[derive(Default)]
struct Sorted {
    /// None of them empty.
    pieces: Vec<Vec<u32>>,
    count: usize,
}

/// Numbers of a piece, between many pieces to search and long ones to move: chosen, not tuned. Of 60,000 places there are
/// some 200 pieces.
const MAX_PIECE: usize = 512;

impl Sorted {
    fn one(number: u32) -> Sorted {
        Sorted { pieces: vec![vec![number]], count: 1 }
    }

    fn first(&self) -> Option<u32> {
        self.pieces.first()?.first().copied()
    }

    fn last(&self) -> Option<u32> {
        self.pieces.last()?.last().copied()
    }

    /// Puts in a number that is not there, and says which stand before and behind it.
    fn insert(&mut self, number: u32) -> (Option<u32>, Option<u32>) {
        self.count += 1;
        // The last piece that begins before it, or the first of all.
        let at = self.pieces.partition_point(|piece| piece[0] < number).saturating_sub(1);
        let next = self.pieces.get(at + 1).map(|piece| piece[0]);
        let Some(piece) = self.pieces.get_mut(at) else {
            self.pieces.push(vec![number]);
            return (None, None);
        };
        let place = piece.partition_point(|&it| it < number);
        let beside = (place.checked_sub(1).map(|before| piece[before]), piece.get(place).copied().or(next));
        piece.insert(place, number);
        if piece.len() > MAX_PIECE {
            let rest = piece.split_off(MAX_PIECE / 2);
            self.pieces.insert(at + 1, rest);
        }
        beside
    }
}

/// The suffix array, by doubling the length that is sorted by: n log n, with two counting sorts a round.
fn sorted(symbols: &[Symbol]) -> Vec<u32> {
    let n = symbols.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_unstable_by_key(|&place| symbols[place as usize]);
    let mut rank = ranked(&order, |a, b| symbols[a] == symbols[b]);
    let mut length = 1;
    while length < n && order.last().is_some_and(|&last| (rank[last as usize] as usize) < n - 1) {
        // By what follows `length` later: first those that have nothing there, then in the order that is known.
        let mut by_second: Vec<u32> = (n as u32 - length as u32..n as u32).collect();
        by_second.extend(order.iter().filter(|&&place| place as usize >= length).map(|&place| place - length as u32));
        // Then, keeping that order, by the rank of the first part: `next` is where the next one of a rank goes.
        let mut next: Vec<u32> = vec![0; n + 1];
        for &rank in &rank {
            next[rank as usize + 1] += 1;
        }
        for i in 0..n {
            next[i + 1] += next[i];
        }
        for place in by_second {
            let bucket = &mut next[rank[place as usize] as usize];
            order[*bucket as usize] = place;
            *bucket += 1;
        }
        let second = |place: usize| rank.get(place + length);
        let same = |a: usize, b: usize| rank[a] == rank[b] && second(a) == second(b);
        rank = ranked(&order, same);
        length *= 2;
    }
    order
}

/// Of each place: the number of its class, classes counted in the given order.
fn ranked(order: &[u32], same: impl Fn(usize, usize) -> bool) -> Vec<u32> {
    let mut rank = vec![0; order.len()];
    for pair in order.windows(2) {
        let (a, b) = (pair[0] as usize, pair[1] as usize);
        rank[b] = rank[a] + u32::from(!same(a, b));
    }
    rank
}

/// Of each suffix in the order: how many symbols it shares with the one before it (Kasai et al.).
fn shared(symbols: &[Symbol], order: &[u32]) -> Vec<usize> {
    let n = symbols.len();
    let mut rank = vec![0; n];
    for (i, &place) in order.iter().enumerate() {
        rank[place as usize] = i;
    }
    let mut shared = vec![0; n];
    let mut height = 0;
    for place in 0..n {
        if rank[place] == 0 {
            height = 0;
            continue;
        }
        let before = order[rank[place] - 1] as usize;
        let same = symbols[place + height..].iter().zip(&symbols[before + height..]).take_while(|(a, b)| a == b);
        height += same.count();
        shared[rank[place]] = height;
        height = height.saturating_sub(1);
    }
    shared
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
        assert_eq!(suffixes.places(&repeat), [1, 4, 9]);
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
        let mut sorted = Sorted::default();
        let mut plain = std::collections::BTreeSet::new();
        // 7,919 is prime to 4,000: each number comes once, in no order, and there are many pieces.
        for number in (0..4_000_u32).map(|i| i * 7_919 % 4_000) {
            let before = plain.range(..number).next_back().copied();
            let after = plain.range(number..).next().copied();
            assert_eq!(sorted.insert(number), (before, after));
            plain.insert(number);
        }
        assert!(sorted.pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= MAX_PIECE));
        assert_eq!((sorted.count, sorted.first(), sorted.last()), (4_000, Some(0), Some(3_999)));
        assert_eq!(sorted.pieces.concat(), (0..4_000).collect::<Vec<_>>());
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
                .map(|it| (&symbols[it.first..it.first + it.length], suffixes.places(it)))
                .collect();
            found.sort();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn the_running_sums_are_those_of_the_places(symbols in proptest::collection::vec(0_u32..3, 0..60)) {
            let suffixes = Suffixes::new(&symbols);
            for repeat in suffixes.repeats() {
                let places = suffixes.places(&repeat);
                let gaps: Vec<usize> = places.windows(2).map(|it| it[1] - it[0]).collect();
                let squares: f64 = gaps.iter().map(|&gap| (gap * gap) as f64).sum();
                prop_assert_eq!(Some(repeat.shortest_gap), gaps.iter().min().copied());
                prop_assert!((repeat.squares - squares).abs() < 1e-6);
                let before = |&place: &usize| place.checked_sub(1).map(|it| symbols[it]);
                let diverse = places.iter().any(|place| before(place) != before(&places[0]));
                prop_assert_eq!(repeat.is_left_diverse, diverse);
            }
        }
    }
}
