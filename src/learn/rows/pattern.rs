//! IEPAD's extraction pattern: a sequence of symbols, some optional, some with alternatives, written `adc[w|x]b[d|-]`.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::learn::sequence::center_star;
use crate::page::encode::Symbol;

/// An alignment with alternatives at more positions than this is no pattern (IEPAD 3.6).
const MAX_ALTERNATIVES: usize = 10;
/// Maximum number of distinct strings that are aligned, most frequent first: finding the centre compares all pairs.
const MAX_STRINGS: usize = 60;
/// Longer strings between two occurrences are not aligned (docs/design/learning.md 7).
pub const MAX_LENGTH: usize = 400;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TagPattern {
    positions: Vec<PatternPosition>,
}

/// The symbols allowed at one position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PatternPosition {
    /// At least one, ascending.
    symbols: Vec<Symbol>,
    optional: bool,
}

impl PatternPosition {
    fn is_single(&self) -> bool {
        self.symbols.len() == 1 && !self.optional
    }
}

impl TagPattern {
    pub fn exact(symbols: &[Symbol]) -> TagPattern {
        let place = |&symbol: &Symbol| PatternPosition { symbols: vec![symbol], optional: false };
        TagPattern { positions: symbols.iter().map(place).collect() }
    }

    /// Aligns the strings and collects the symbols at each position. `None` if too many positions have alternatives.
    pub fn of_strings<'s>(strings: impl Iterator<Item = &'s [Symbol]>) -> Option<TagPattern> {
        let mut counts: BTreeMap<&[Symbol], usize> = BTreeMap::new();
        for string in strings.filter(|string| string.len() <= MAX_LENGTH) {
            *counts.entry(string).or_default() += 1;
        }
        let mut counts: Vec<(&[Symbol], usize)> = counts.into_iter().collect();
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        counts.truncate(MAX_STRINGS);
        let (strings, weights): (Vec<&[Symbol]>, Vec<usize>) = counts.into_iter().unzip();
        let lines = center_star::align(&strings, &weights, MAX_ALTERNATIVES)?;
        let length = lines.first()?.len();
        let places: Vec<PatternPosition> = (0..length).map(|i| position_of(lines.iter().map(|line| line[i]))).collect();
        let loose = places.iter().filter(|place| !place.is_single()).count();
        (length > 0 && loose <= MAX_ALTERNATIVES).then_some(TagPattern { positions: places })
    }

    /// The pattern rotated so that it begins at this position.
    pub fn rotated(&self, start: usize) -> TagPattern {
        let mut places = self.positions.clone();
        places.rotate_left(start);
        TagPattern { positions: places }
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// The symbol at a position that allows no other and is not optional.
    pub fn single(&self, place: usize) -> Option<Symbol> {
        self.positions.get(place).filter(|it| it.is_single()).map(|it| it.symbols[0])
    }

    pub fn has(&self, mut what: impl FnMut(Symbol) -> bool) -> bool {
        self.positions.iter().any(|place| place.symbols.iter().any(|&symbol| what(symbol)))
    }

    /// Occurrences of the pattern, from left to right: the longest match at each start, without overlaps (IEPAD 4).
    pub fn occurrences(&self, symbols: &[Symbol]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut starts = Vec::new();
        self.add_reachable(0, &mut starts);
        let mut room = (Vec::new(), Vec::new());
        let begins = |symbol: &Symbol| starts.iter().any(|&place| self.accepts(place, *symbol));
        let mut start = 0;
        // Skips symbols that begin no match; most do not.
        while let Some(skipped) = symbols[start..].iter().position(begins) {
            start += skipped;
            let length = self.longest_match(&symbols[start..], &starts, &mut room);
            if length > 0 {
                found.push(start..start + length);
            }
            start += length.max(1);
        }
        found
    }

    /// Length of the longest match, 0 if there is none. It begins at one of `starts`; `room` holds buffers that are
    /// reused.
    fn longest_match(&self, symbols: &[Symbol], starts: &[usize], room: &mut (Vec<usize>, Vec<usize>)) -> usize {
        // The positions that the next symbol may have, ascending; one past the last is a match.
        let (here, next) = room;
        here.clear();
        here.extend(starts);
        let mut longest = 0;
        for (read, symbol) in symbols.iter().enumerate() {
            next.clear();
            for &place in here.iter() {
                if self.accepts(place, *symbol) {
                    self.add_reachable(place + 1, next);
                }
            }
            match next.last() {
                None => break,
                Some(&last) if last == self.positions.len() => longest = read + 1,
                Some(_) => {}
            }
            std::mem::swap(here, next);
        }
        longest
    }

    fn accepts(&self, place: usize, symbol: Symbol) -> bool {
        self.positions.get(place).is_some_and(|it| it.symbols.contains(&symbol))
    }

    /// Adds the position and those that are reached from it by skipping optional ones.
    fn add_reachable(&self, place: usize, reached: &mut Vec<usize>) {
        // A later position is only reached through this one.
        if reached.last().is_some_and(|&last| last >= place) {
            return;
        }
        reached.push(place);
        let optional = self.positions[place..].iter().take_while(|it| it.optional).count();
        reached.extend(place + 1..=place + optional);
    }
}

fn position_of(column: impl Iterator<Item = Option<Symbol>>) -> PatternPosition {
    let mut place = PatternPosition { symbols: Vec::new(), optional: false };
    for symbol in column {
        match symbol {
            Some(symbol) => place.symbols.push(symbol),
            None => place.optional = true,
        }
    }
    place.symbols.sort_unstable();
    place.symbols.dedup();
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(text: &str) -> Vec<Symbol> {
        text.bytes().map(Symbol::from).collect()
    }

    fn pattern(strings: &[&str]) -> Option<TagPattern> {
        let strings: Vec<Vec<Symbol>> = strings.iter().map(|it| symbols(it)).collect();
        TagPattern::of_strings(strings.iter().map(Vec::as_slice))
    }

    /// In the notation of the paper.
    fn notation(pattern: &TagPattern) -> String {
        let write = |place: &PatternPosition| {
            let mut names: Vec<String> = place.symbols.iter().map(|&it| char::from(it as u8).to_string()).collect();
            names.extend(place.optional.then(|| "-".to_owned()));
            if names.len() == 1 { names.remove(0) } else { format!("[{}]", names.join("|")) }
        };
        pattern.positions.iter().map(write).collect()
    }

    fn occurrences(pattern: &TagPattern, text: &str) -> Vec<String> {
        pattern.occurrences(&symbols(text)).into_iter().map(|it| text[it].to_owned()).collect()
    }

    #[test]
    fn the_strings_between_occurrences_of_adc_generalise_as_in_the_paper() {
        let pattern = pattern(&["adcwbd", "adcxb", "adcxbd"]).expect("three alternatives at most");
        assert_eq!(notation(&pattern), "adc[w|x]b[d|-]");
        assert_eq!(occurrences(&pattern, "adcwbdadcxbadcxbdadcb"), ["adcwbd", "adcxb", "adcxbd"]);
    }

    #[test]
    fn the_longest_match_counts_so_abababab_is_twice_abab() {
        let optional = |c: u8| PatternPosition { symbols: vec![c.into()], optional: true };
        let mut places = TagPattern::exact(&symbols("ab")).positions;
        places.extend([optional(b'a'), optional(b'b')]);
        let pattern = TagPattern { positions: places };
        assert_eq!(notation(&pattern), "ab[a|-][b|-]");
        assert_eq!(occurrences(&pattern, "abababab"), ["abab", "abab"]);
    }

    #[test]
    fn an_optional_place_that_looks_like_the_next_one_lets_no_place_be_skipped() {
        let place = |c: u8, optional| PatternPosition { symbols: vec![c.into()], optional };
        let pattern = TagPattern { positions: vec![place(b'a', true), place(b'a', false), place(b'b', false)] };
        assert_eq!(occurrences(&pattern, "aabxaxab"), ["aab", "ab"]);
    }

    #[test]
    fn a_rotated_pattern_begins_elsewhere_in_the_record() {
        let pattern = TagPattern::exact(&symbols("cab")).rotated(1);
        assert_eq!(notation(&pattern), "abc");
        assert_eq!(occurrences(&pattern, "xxabcabcabcyy").len(), 3);
    }

    #[test]
    fn more_than_ten_loose_places_are_no_pattern() {
        assert!(pattern(&["abcdefghijk", "ABCDEFGHIJK"]).is_none());
        assert!(pattern(&["abcdefghij", "ABCDEFGHIJ"]).is_some());
        assert!(pattern(&[]).is_none());
        assert!(pattern(&["", ""]).is_none());
    }
}
