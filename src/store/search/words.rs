//! Tokeniser of the search: splits a text into words and folds them: lower case, without accents, `ﬁ` as `fi` and `Ａ`
//! as `a`. It is here and not in the database, so that every database finds the same and matches can be highlighted in
//! the text.

use crate::store::digest;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

/// Longer words are cut: they are no words, but may begin with what somebody searches for.
const MAX_WORD_CHARS: usize = 64;

/// One word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct FoldedWord {
    /// As it is searched for.
    pub folded: String,
    /// Its byte range in the text.
    pub at: Range<usize>,
}

/// The words of a text in their order. Scripts without blanks between words (Chinese, Japanese, Thai and so on; also
/// Korean, where endings are joined to words) are split into characters: a search for two of them is a search for a
/// phrase.
pub(in crate::store) fn words(text: &str) -> Vec<FoldedWord> {
    let mut words = Vec::new();
    for_each_word(text, |folded, at| words.push(FoldedWord { folded: folded.to_owned(), at }));
    words
}

/// Appends the words of a text, separated by blanks, as a database indexes them.
pub(in crate::store) fn fold_words_into(text: &str, to: &mut String) {
    for_each_word(text, |folded, _| {
        if !to.is_empty() {
            to.push(' ');
        }
        to.push_str(folded);
    });
}

/// The folded name of a column: `Price (EUR)` is `price eur`, and so is `price_eur`.
pub(in crate::store) fn folded(name: &str) -> String {
    let mut folded = String::new();
    fold_words_into(name, &mut folded);
    folded
}

/// The slot of an index that has the column of this folded name. Two columns in one slot cost a second check of the
/// matches.
pub(in crate::store) fn slot(folded: &str, slots: usize) -> usize {
    (digest::record_digest(std::iter::once(("", folded))) % slots as u128) as usize
}

fn for_each_word(text: &str, mut take: impl FnMut(&str, Range<usize>)) {
    let mut word = String::new();
    let (mut chars, mut from, mut to) = (0, 0, 0);
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match classify(c) {
            CharClass::Ignored => {}
            CharClass::Letters(first, more) => {
                if word.is_empty() {
                    (from, chars) = (at, 0);
                }
                chars += 1;
                if chars <= MAX_WORD_CHARS {
                    word.push(first);
                    word.push_str(&more);
                }
                to = end;
            }
            class @ (CharClass::Separator | CharClass::SingleCharWord(_)) => {
                if !word.is_empty() {
                    take(&word, from..to);
                }
                word.clear();
                if let CharClass::SingleCharWord(folded) = class {
                    take(folded.encode_utf8(&mut [0; 4]), at..end);
                }
            }
        }
    }
    if !word.is_empty() {
        take(&word, from..to);
    }
}

/// How a character affects the words around it.
enum CharClass {
    /// The first letter that it is folded to, and the others, if there are any.
    Letters(char, String),
    /// A word of its own.
    SingleCharWord(char),
    Separator,
    /// Combining accents and soft hyphens are ignored.
    Ignored,
}

fn classify(c: char) -> CharClass {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() {
            CharClass::Letters(c.to_ascii_lowercase(), String::new())
        } else {
            CharClass::Separator
        };
    }
    if is_accent(c) || matches!(c, '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}') {
        return CharClass::Ignored;
    }
    let lower = std::iter::once(c).nfkd().filter(|&c| !is_accent(c)).flat_map(char::to_lowercase);
    let folded: String = lower.nfc().filter(|c| c.is_alphanumeric()).collect();
    let mut chars = folded.chars();
    match chars.next() {
        None => CharClass::Separator,
        Some(one) if chars.as_str().is_empty() && is_single_char_word(one) => CharClass::SingleCharWord(one),
        Some(first) => CharClass::Letters(first, chars.as_str().to_owned()),
    }
}

fn is_accent(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// Thai, Lao, Burmese, Khmer; kana, Chinese characters, Korean syllables.
fn is_single_char_word(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(folded(text), expected, "{text}");
        for FoldedWord { at, .. } in words(text) {
            assert!(text.get(at).is_some_and(|it| !it.is_empty()), "{text}");
        }
    }

    #[test]
    fn words_are_the_same_however_they_are_spelt() {
        check("Hôtel  de la Gare!", "hotel de la gare");
        check("Ho\u{302}tel ÉCOLE Straße", "hotel ecole straße");
        check("CAD 1,234.50 – O'Neil", "cad 1 234 50 o neil");
        check("ＡＢＣ１２ ﬁne ½ m²", "abc12 fine 12 m2");
        check("syl\u{ad}la\u{200d}ble", "syllable");
        check("МОСКВА Ёлка", "москва елка");
        check("", "");
        check("€ – … 🏨", "");
    }

    #[test]
    fn scripts_without_blanks_are_cut_into_characters() {
        check("東京ホテルABC", "東 京 ホ テ ル abc");
        check("호텔은 좋다", "호 텔 은 좋 다");
        check("がぎ", "が ぎ");
    }

    #[test]
    fn a_word_of_a_thousand_letters_is_cut_and_stands_where_it_stood() {
        let long = "x".repeat(1_000);
        let found = words(&long);
        assert_eq!((found.len(), found[0].folded.len(), found[0].at.clone()), (1, MAX_WORD_CHARS, 0..1_000));
    }
}
