//! Splits a text column at the signs and words that nearly all of its values share, or at blanks.

use std::rc::Rc;

use foldhash::HashSet;

use crate::learn::template::SplitRule;
use crate::learn::view::{count_keys, value_type};

/// Minimum share of distinct values with a sign or word that splits the column (docs/design/learning.md 2.4).
const NEARLY_ALL: f64 = 0.85;
const MAX_PIECES: usize = 10;
/// Maximum words of a value that is split at blanks; longer ones are prose.
const MAX_WORDS: usize = 8;
/// Signs that separate words but belong to one of them.
const UNITS: &str = "$€£¥%";
/// Maximum characters examined of a value.
const MAX_CHARS: usize = 2_000;

/// Byte ranges of a value.
pub type Pieces = Vec<(usize, usize)>;

/// First and last piece, counted from the start, or from the end if negative.
pub type PieceRange = (i32, i32);

/// The rules that split a column of these distinct values, each with the ranges of pieces that become columns.
pub fn split_rules(distinct: &[Rc<ScannedValue<'_>>]) -> Vec<(SplitRule, Vec<PieceRange>)> {
    if distinct.len() < 2 {
        return Vec::new();
    }
    let (signs, words) = shared_separators(distinct);
    let mut cuts = vec![SplitRule::default()];
    if !signs.is_empty() {
        cuts.push(SplitRule { signs: signs.clone(), ..SplitRule::default() });
    }
    // A price keeps its currency if other signs separate it from its neighbours: `$79.01 (53%)`.
    let apart: String = signs.chars().filter(|&sign| !UNITS.contains(sign)).collect();
    if !apart.is_empty() && apart != signs {
        cuts.push(SplitRule { signs: apart, ..SplitRule::default() });
    }
    if !words.is_empty() {
        // At words only: a sentence keeps its signs (`“Be. Not seem.” Author: Ann`).
        cuts.push(SplitRule { words: words.clone(), ..SplitRule::default() });
        cuts.push(SplitRule { signs: signs.clone(), words, blanks: false });
    }
    let mut cuts: Vec<(SplitRule, Vec<PieceRange>)> = cuts.into_iter().map(|cut| whole_pieces(cut, distinct)).collect();
    cuts.extend(by_words(SplitRule { signs, words: Vec::new(), blanks: true }, distinct));
    cuts
}

/// Signs and words that nearly all values have.
fn shared_separators(distinct: &[Rc<ScannedValue<'_>>]) -> (String, Vec<String>) {
    let enough = |count: usize| count as f64 >= NEARLY_ALL * distinct.len() as f64;
    let parts = || distinct.iter().map(|value| value.parts.iter());
    let signs = count_keys(parts().flat_map(|parts| parts.filter_map(ValueToken::sign).collect::<HashSet<char>>()));
    let words = count_keys(parts().flat_map(|parts| parts.filter_map(ValueToken::word).collect::<HashSet<&str>>()));
    let mut signs: Vec<char> = signs.into_iter().filter(|&(_, count)| enough(count)).map(|(sign, _)| sign).collect();
    signs.sort_unstable();
    let words = words.into_iter().filter(|&(_, count)| enough(count));
    let mut words: Vec<String> = words.map(|(word, _)| word.to_owned()).collect();
    words.sort_unstable();
    (signs.into_iter().collect(), words)
}

fn whole_pieces(cut: SplitRule, values: &[Rc<ScannedValue<'_>>]) -> (SplitRule, Vec<PieceRange>) {
    let counts: Vec<usize> = values.iter().map(|value| value.pieces(&cut).len()).collect();
    let most = counts.iter().copied().max().unwrap_or(0).min(MAX_PIECES) as i32;
    let mut places: Vec<PieceRange> = (0..most).map(|i| (i, i)).collect();
    if counts.iter().any(|&count| count != counts[0]) {
        places.extend([(-1, -1), (-2, -2), (0, -2), (1, -1)]);
    }
    (cut, places)
}

/// Word by word, if all values have the same number of words; otherwise a first or last word that is always a number.
fn by_words(cut: SplitRule, values: &[Rc<ScannedValue<'_>>]) -> Option<(SplitRule, Vec<PieceRange>)> {
    let counts: Vec<usize> = values.iter().map(|value| value.pieces(&cut).len()).collect();
    let count = counts[0];
    if counts.iter().all(|&it| it == count) && (2..=MAX_WORDS).contains(&count) {
        let last = count as i32 - 1;
        let mut places: Vec<PieceRange> = (0..=last).map(|i| (i, i)).collect();
        places.extend((1..last).flat_map(|i| [(0, i), (i, last)]));
        return Some((cut, places));
    }
    let is_number = |value: &ScannedValue<'_>, place: i32| {
        let pieces = value.pieces(&cut);
        let piece = resolve_index(place, pieces.len()).map(|at| &value.text[pieces[at].0..pieces[at].1]);
        piece.is_some_and(|piece| matches!(value_type(piece), 1 | 2))
    };
    let mut places: Vec<PieceRange> = Vec::new();
    if values.iter().all(|value| is_number(value, 0)) {
        places.extend([(0, 0), (1, -1)]);
    }
    if values.iter().all(|value| is_number(value, -1)) {
        places.extend([(-1, -1), (0, -2)]);
    }
    (!places.is_empty()).then_some((cut, places))
}

/// Resolves an index, negative from the end, in a list of this length.
pub fn resolve_index(place: i32, length: usize) -> Option<usize> {
    if place >= 0 {
        Some(place as usize).filter(|&at| at < length)
    } else {
        length.checked_sub(place.unsigned_abs() as usize)
    }
}

/// A value with its words and separating signs, scanned once for all rules.
pub struct ScannedValue<'v> {
    pub text: &'v str,
    parts: Vec<ValueToken<'v>>,
}

impl<'v> ScannedValue<'v> {
    pub fn new(text: &'v str) -> ScannedValue<'v> {
        ScannedValue { text, parts: scan(text) }
    }

    /// The byte ranges of the pieces, trimmed, without empty ones.
    pub fn pieces(&self, cut: &SplitRule) -> Pieces {
        let mut pieces = Vec::new();
        let mut from = 0;
        let mut push = |from: usize, to: usize| {
            let (from, to) = trimmed(cut, self.text, from, to);
            if from < to {
                pieces.push((from, to));
            }
        };
        for part in &self.parts {
            let cuts_here = match part.kind {
                ValueTokenKind::Sign(sign) => cut.signs.contains(sign),
                ValueTokenKind::Word => cut.words.iter().any(|word| word == part.text),
            };
            if cuts_here {
                push(from, part.at);
                from = part.at + part.text.len();
            } else if cut.blanks && matches!(part.kind, ValueTokenKind::Word) {
                push(from, part.at);
                from = part.at;
            }
        }
        push(from, self.text.len());
        pieces
    }
}

fn trimmed(cut: &SplitRule, value: &str, from: usize, to: usize) -> (usize, usize) {
    let goes = |c: char| {
        c.is_whitespace()
            || cut.signs.is_empty() && !cut.blanks && matches!(c, ':' | ';' | ',' | '|' | '-' | '–' | '•' | '·')
    };
    let start = from + (to - from - value[from..to].trim_start_matches(goes).len());
    (start, start + value[start..to].trim_end_matches(goes).len())
}

struct ValueToken<'v> {
    at: usize,
    text: &'v str,
    kind: ValueTokenKind,
}

enum ValueTokenKind {
    Word,
    /// A sign that separates words.
    Sign(char),
}

impl<'v> ValueToken<'v> {
    fn sign(&self) -> Option<char> {
        match self.kind {
            ValueTokenKind::Sign(sign) => Some(sign),
            ValueTokenKind::Word => None,
        }
    }

    fn word(&self) -> Option<&'v str> {
        matches!(self.kind, ValueTokenKind::Word).then_some(self.text)
    }
}

/// Words and separating signs of a text. A sign inside a word (5:38:56, 4/28/97, 704-0213) separates nothing, except
/// brackets, currencies and bars.
fn scan(value: &str) -> Vec<ValueToken<'_>> {
    let mut parts = Vec::with_capacity(value.len().min(MAX_CHARS) / 5 + 2);
    let mut word: Option<usize> = None;
    let mut before = ' ';
    let mut chars = value.char_indices().take(MAX_CHARS).peekable();
    let mut end = 0;
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map_or(' ', |&(_, next)| next);
        let is_sign = !c.is_alphanumeric()
            && !c.is_whitespace()
            && (always_separates(c) || before.is_whitespace() || after.is_whitespace());
        if is_sign || c.is_whitespace() {
            if let Some(start) = word.take() {
                parts.push(ValueToken { at: start, text: &value[start..at], kind: ValueTokenKind::Word });
            }
            if is_sign {
                parts.push(ValueToken { at, text: &value[at..at + c.len_utf8()], kind: ValueTokenKind::Sign(c) });
            }
        } else if word.is_none() {
            word = Some(at);
        }
        before = c;
        end = at + c.len_utf8();
    }
    if let Some(start) = word {
        parts.push(ValueToken { at: start, text: &value[start..end], kind: ValueTokenKind::Word });
    }
    parts
}

fn always_separates(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '|' | ';' | '•' | '·' | '–' | '—' | '%')
        || matches!(c, '$' | '€' | '£' | '¥' | '»' | '«')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[&str], expected: &[&str]) {
        let scanned: Vec<Rc<ScannedValue<'_>>> = values.iter().map(|value| Rc::new(ScannedValue::new(value))).collect();
        let found: Vec<String> = split_rules(&scanned)
            .iter()
            .flat_map(|(cut, places)| {
                let pieces = ScannedValue::new(values[0]).pieces(cut);
                let piece = move |&(first, last): &PieceRange| {
                    let (first, last) = (resolve_index(first, pieces.len())?, resolve_index(last, pieces.len())?);
                    (first <= last).then(|| values[0][pieces[first].0..pieces[last].1].to_owned())
                };
                places.iter().filter_map(piece).collect::<Vec<_>>()
            })
            .filter(|piece| piece != values[0])
            .collect();
        let mut seen = HashSet::default();
        let distinct: Vec<&str> = found.iter().map(String::as_str).filter(|it| seen.insert(*it)).collect();
        assert_eq!(distinct, expected, "{values:?}");
    }

    #[test]
    fn a_column_is_cut_at_what_all_values_share() {
        check(&["Name: Ann", "Name: Bob"], &["Name", "Ann"]);
        check(&["Paris (FR)", "Rome (IT)"], &["Paris", "FR"]);
        check(&["$79.01 (53%)", "$175.10 (70%)"], &["79.01", "53", "$79.01", "53%"]);
        check(&["by Ann on Monday", "by Bob Ray on Friday"], &["Ann", "Monday"]);
        check(&["“Be now.” Author: Ann", "“I, too.” Author: Bob Ray"], &["Be now.", "Author", "Ann", "“Be now.”"]);
    }

    #[test]
    fn times_dates_and_numbers_stay_whole_and_equally_many_words_are_cut_word_by_word() {
        check(&["5:38:56", "6:01:02"], &[]);
        check(&["4/28/97", "5/01/98"], &[]);
        check(&["704-0213", "222-5794"], &[]);
        check(&["4/28/97 5:38", "5/01/98 6:01"], &["4/28/97", "5:38"]);
        check(&["3 Beds", "4 large Beds"], &["3", "Beds"]);
    }
}
