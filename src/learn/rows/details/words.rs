//! The words of a page (the tokens of Lerman et al.), with their syntactic types and separators.

use crate::learn::view::fingerprint;
use crate::page::text::is_blank;
use crate::page::tokens::{Span, TokenKind, Tokens};

/// Maximum number of words of one page that are read; a page with more is prose, not a list.
pub const MAX_WORDS: usize = 60_000;

// The paper's eight syntactic types. One word has several of them.
pub const HTML: u8 = 1;
pub const PUNCTUATION: u8 = 2;
pub const ALPHANUMERIC: u8 = 4;
pub const NUMERIC: u8 = 8;
pub const ALPHABETIC: u8 = 16;
pub const CAPITALIZED: u8 = 32;
pub const LOWERCASE: u8 = 64;
pub const ALLCAPS: u8 = 128;

#[derive(Clone, Copy, Debug)]
pub struct PageWord {
    /// Hash of the word in lower case, without punctuation at its ends: the paper lost records to “SMITH” against
    /// “Smith”.
    pub fingerprint: u64,
    pub types: u8,
    /// Whether a tag or a separating punctuation mark is before it.
    pub is_separated: bool,
    /// The text token that contains it.
    pub token: u32,
}

/// The words of a span of the page, in order.
pub fn words(tokens: &Tokens<'_>, span: Span) -> Vec<PageWord> {
    let mut words = Vec::new();
    let mut before = Some(HTML);
    for (i, token) in (span.start..span.stop).zip(tokens.slice(span)) {
        if token.kind == TokenKind::Text {
            push_words(tokens.raw(token), i, &mut before, &mut words);
        } else {
            before = Some(HTML);
        }
        if words.len() >= MAX_WORDS {
            break;
        }
    }
    words.truncate(MAX_WORDS);
    words
}

/// The words of a text outside any page.
pub fn words_of(text: &str) -> Vec<PageWord> {
    let mut words = Vec::new();
    push_words(text, 0, &mut Some(HTML), &mut words);
    words
}

/// Appends the words of one text. `before` is the separator before the next word, if any.
fn push_words(text: &str, token: u32, before: &mut Option<u8>, words: &mut Vec<PageWord>) {
    let mut start = None;
    let mut last = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((place, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |&(_, c)| c);
        // A mark inside a word is part of it: O'Neil, 5:38, AT&T.
        let is_inside = last.is_alphanumeric() && next.is_alphanumeric() && !is_blank(c);
        if c.is_alphanumeric() || is_joining(c) || is_inside {
            start.get_or_insert(place);
        } else {
            let ended = start.take().and_then(|start| word(&text[start..place], token, before));
            words.extend(ended);
            if !is_blank(c) {
                before.get_or_insert(PUNCTUATION);
            }
        }
        last = c;
    }
    words.extend(start.and_then(|start| word(&text[start..], token, before)));
}

/// Punctuation inside a value that separates nothing.
fn is_joining(c: char) -> bool {
    matches!(c, '.' | ',' | '(' | ')' | '-')
}

fn word(text: &str, token: u32, before: &mut Option<u8>) -> Option<PageWord> {
    let core = text.trim_matches(is_joining);
    if core.is_empty() {
        return None;
    }
    let parted = before.take();
    let mark = if core.len() < text.len() { PUNCTUATION } else { 0 };
    let types = types(core) | mark | parted.unwrap_or(0);
    Some(PageWord { fingerprint: fingerprint(&core.to_lowercase()), types, is_separated: parted.is_some(), token })
}

fn types(core: &str) -> u8 {
    let has = |wanted: fn(char) -> bool| core.chars().any(wanted);
    let mut types = if has(char::is_alphanumeric) { ALPHANUMERIC } else { PUNCTUATION };
    if !has(char::is_alphabetic) {
        return if has(char::is_numeric) { types | NUMERIC } else { types };
    }
    if !has(char::is_numeric) {
        types |= ALPHABETIC;
    }
    match (core.chars().next().is_some_and(char::is_uppercase), has(char::is_lowercase)) {
        (true, true) => types | CAPITALIZED,
        (_, true) => types | LOWERCASE,
        (_, false) if has(char::is_uppercase) => types | ALLCAPS,
        _ => types,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Tree;

    /// Expects these words, with `|` before each that is separated.
    fn check(html: &str, expected: &str) {
        let tree = Tree::parse(html);
        let tokens = Tokens::new(&tree);
        let list: Vec<&str> = expected.split(' ').collect();
        let prints: Vec<(bool, u64)> =
            list.iter().map(|word| (word.starts_with('|'), fingerprint(word.trim_start_matches('|')))).collect();
        let found: Vec<(bool, u64)> =
            words(&tokens, tokens.all()).iter().map(|word| (word.is_separated, word.fingerprint)).collect();
        assert_eq!(found, prints, "{html}");
    }

    #[test]
    fn tags_and_marks_part_words_but_not_those_of_a_number_or_a_name() {
        check("<b>John Q. Smith</b>(740) 335-5555", "|john q smith |740 335-5555");
        check("Findlay, OH ~ $12.50", "|findlay oh |12.50");
        check("<p>O'Neil: AT&amp;T at 5:38 - late", "|o'neil |at&t at 5:38 late");
    }

    #[test]
    fn a_word_has_its_syntactic_types() {
        let of = |text: &str| types(text);
        assert_eq!(of("1212"), ALPHANUMERIC | NUMERIC);
        assert_eq!(of("Smith"), ALPHANUMERIC | ALPHABETIC | CAPITALIZED);
        assert_eq!(of("OH"), ALPHANUMERIC | ALPHABETIC | ALLCAPS);
        assert_eq!(of("more"), ALPHANUMERIC | ALPHABETIC | LOWERCASE);
        assert_eq!(of("221R"), ALPHANUMERIC | ALLCAPS);
    }
}
