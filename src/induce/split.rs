//! Cutting a text column at the signs and words that nearly all of its values share.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// Where a text is cut: at these signs where they part words, and at these words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub signs: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// A sign or word parts a column when this share of the distinct values has it (learn-notes 2.4).
const NEARLY_ALL: f64 = 0.85;
pub const MAX_PIECES: usize = 10;
/// Values looked at, and characters of each: a cut that does not show in these does not show.
const MAX_VALUES: usize = 200;
const MAX_CHARS: usize = 2_000;

/// The ways to cut this column: at signs only (constant words stay values), and at constant words too.
pub fn cuts(values: &[&str]) -> Vec<Cut> {
    let mut distinct: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for &value in values {
        if distinct.len() < MAX_VALUES && seen.insert(value) {
            distinct.push(value);
        }
    }
    if distinct.len() < 2 {
        return Vec::new();
    }
    let enough = |count: usize| count as f64 >= NEARLY_ALL * distinct.len() as f64;
    let mut signs: HashMap<char, usize> = HashMap::new();
    let mut words: HashMap<&str, usize> = HashMap::new();
    for value in &distinct {
        let parts: Vec<Piece<'_>> = scan(value);
        let own_signs: HashSet<char> = parts.iter().filter_map(|part| part.sign()).collect();
        let own_words: HashSet<&str> = parts.iter().filter_map(|part| part.word()).collect();
        own_signs.into_iter().for_each(|sign| *signs.entry(sign).or_default() += 1);
        own_words.into_iter().for_each(|word| *words.entry(word).or_default() += 1);
    }
    let mut signs: Vec<char> = signs.into_iter().filter(|&(_, count)| enough(count)).map(|(sign, _)| sign).collect();
    signs.sort_unstable();
    let signs: String = signs.into_iter().collect();
    let mut words: Vec<String> =
        words.into_iter().filter(|&(_, count)| enough(count)).map(|(word, _)| word.to_owned()).collect();
    words.sort_unstable();
    let mut cuts = Vec::new();
    if !signs.is_empty() {
        cuts.push(Cut { signs: signs.clone(), words: Vec::new() });
    }
    if !words.is_empty() {
        cuts.push(Cut { signs, words });
    }
    cuts
}

impl Cut {
    /// What is left of the text between the cuts, trimmed, nothing empty.
    pub fn pieces<'v>(&self, value: &'v str) -> Vec<&'v str> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for part in scan(value) {
            let cuts_here = match part.kind {
                PieceKind::Sign(sign) => self.signs.contains(sign),
                PieceKind::Word => self.words.iter().any(|word| word == part.text),
            };
            if cuts_here {
                pieces.push(value[from..part.at].trim());
                from = part.at + part.text.len();
            }
        }
        pieces.push(value[from..].trim());
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    pub fn piece(&self, value: &str, index: i32) -> Option<String> {
        let pieces = self.pieces(value);
        let place =
            if index < 0 { pieces.len().checked_sub(index.unsigned_abs() as usize) } else { Some(index as usize) };
        pieces.get(place?).map(|&piece| piece.to_owned())
    }
}

struct Piece<'v> {
    at: usize,
    text: &'v str,
    kind: PieceKind,
}

enum PieceKind {
    Word,
    /// A sign that parts words here.
    Sign(char),
}

impl<'v> Piece<'v> {
    fn sign(&self) -> Option<char> {
        match self.kind {
            PieceKind::Sign(sign) => Some(sign),
            PieceKind::Word => None,
        }
    }

    fn word(&self) -> Option<&'v str> {
        matches!(self.kind, PieceKind::Word).then_some(self.text)
    }
}

/// Words and parting signs of a text. A sign inside a word (5:38:56, 4/28/97, 704-0213) parts nothing, but brackets,
/// currencies and bars always do.
fn scan(value: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut word: Option<usize> = None;
    let mut before = ' ';
    let mut chars = value.char_indices().take(MAX_CHARS).peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map_or(' ', |&(_, next)| next);
        let is_sign = !c.is_alphanumeric()
            && !c.is_whitespace()
            && (always_parts(c) || before.is_whitespace() || after.is_whitespace());
        if is_sign || c.is_whitespace() {
            if let Some(start) = word.take() {
                pieces.push(Piece { at: start, text: &value[start..at], kind: PieceKind::Word });
            }
            if is_sign {
                pieces.push(Piece { at, text: &value[at..at + c.len_utf8()], kind: PieceKind::Sign(c) });
            }
        } else if word.is_none() {
            word = Some(at);
        }
        before = c;
    }
    if let Some(start) = word {
        let end = value.char_indices().nth(MAX_CHARS).map_or(value.len(), |(at, _)| at);
        pieces.push(Piece { at: start, text: &value[start..end], kind: PieceKind::Word });
    }
    pieces
}

fn always_parts(c: char) -> bool {
    matches!(
        c,
        '(' | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | '<'
            | '>'
            | '|'
            | ';'
            | '•'
            | '·'
            | '–'
            | '—'
            | '%'
            | '$'
            | '€'
            | '£'
            | '¥'
            | '»'
            | '«'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[&str], expected: &[&[&str]]) {
        let found: Vec<Vec<Vec<&str>>> =
            cuts(values).iter().map(|cut| values.iter().map(|value| cut.pieces(value)).collect()).collect();
        let firsts: Vec<String> = found.iter().map(|rows| rows[0].join(" | ")).collect();
        let expected: Vec<String> = expected.iter().map(|pieces| pieces.join(" | ")).collect();
        assert_eq!(firsts, expected, "{values:?}");
    }

    #[test]
    fn a_column_is_cut_at_what_all_values_share() {
        check(&["Name: Ann", "Name: Bob"], &[&["Name", "Ann"], &["Ann"]]);
        check(&["by Ann on Monday", "by Bob Ray on Friday"], &[&["Ann", "Monday"]]);
        check(&["Paris (FR)", "Rome (IT)"], &[&["Paris", "FR"]]);
    }

    #[test]
    fn times_dates_and_numbers_stay_whole() {
        check(&["5:38:56", "6:01:02"], &[]);
        check(&["4/28/97", "5/01/98"], &[]);
        check(&["704-0213", "222-5794"], &[]);
    }
}
