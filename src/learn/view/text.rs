//! The text of a span of tokens, its hash, and names that are valid in a database, from labels and keys.

use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::HashSet;
use foldhash::quality::FixedState;

use crate::page::text::CollapsedText;
use crate::page::tokens::{Span, TokenKind, Tokens};

pub fn fingerprint(value: &str) -> u64 {
    FixedState::default().hash_one(value)
}

pub fn is_inline(tag: &str) -> bool {
    matches!(tag, "b" | "i" | "em" | "strong" | "font" | "mark" | "sup" | "sub" | "u" | "small" | "big" | "wbr" | "tt")
}

/// Extra capacity for blanks between the words of several tokens.
const EXTRA_CAPACITY: usize = 8;

/// The text of a span as a browser shows it; line ends and block elements separate words.
pub fn text(tokens: &Tokens<'_>, span: Span) -> String {
    let mut text = CollapsedText::after(String::with_capacity(tokens.words_len(span) + EXTRA_CAPACITY));
    for (i, token) in (span.start..span.stop).zip(tokens.slice(span)) {
        match token.kind {
            TokenKind::Text => tokens.push_words(i, &mut text),
            TokenKind::Line => text.separate(),
            TokenKind::Open | TokenKind::Close => {
                let tag = tokens.tree.tag(token.node);
                if !is_inline(tag) && !matches!(tag, "a" | "span") {
                    text.separate();
                }
            }
        }
    }
    text.text
}

/// As [`text`], borrowed if one token has the whole text.
pub fn text_borrowed<'v>(tokens: &'v Tokens<'_>, span: Span) -> Cow<'v, str> {
    let is_text = |&i: &u32| tokens.list[i as usize].kind == TokenKind::Text;
    let mut texts = (span.start..span.stop).filter(is_text);
    match (texts.next(), texts.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(only), None) => Cow::Borrowed(tokens.words(only)),
        (Some(_), Some(_)) => Cow::Owned(text(tokens, span)),
    }
}

/// Longer texts are sentences, not names.
const MAX_CHARS: usize = 40;
const MAX_WORDS: usize = 4;

/// “Date of filing:” → `date_of_filing`; `None` if the text is too long or has no letter.
pub fn clean(label: &str) -> Option<String> {
    join_words(label, split(label))
}

/// Like [`clean`], for names in camel case: `datePosted` → `date_posted`.
pub fn clean_key(key: &str) -> Option<String> {
    join_words(key, camel_words(key))
}

fn join_words<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Option<String> {
    if text.chars().count() > MAX_CHARS {
        return None;
    }
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let is_name = (1..=MAX_WORDS).contains(&words.len())
        && words[0].chars().next().is_some_and(char::is_alphabetic)
        && words.iter().any(|word| word.chars().count() >= 2);
    is_name.then(|| words.join("_"))
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The words of a list that is written with blanks.
pub fn word_set(list: &'static str) -> HashSet<&'static str> {
    list.split(' ').collect()
}

/// `productPrice` and `product-price` are two words each.
pub fn camel_words(class: &str) -> impl Iterator<Item = &str> {
    split(class).flat_map(|word| {
        let mut starts = vec![0];
        let mut before = 'A';
        for (at, c) in word.char_indices() {
            if c.is_uppercase() && before.is_lowercase() {
                starts.push(at);
            }
            before = c;
        }
        starts.push(word.len());
        starts.windows(2).map(|pair| &word[pair[0]..pair[1]]).collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_becomes_a_name() {
        let check = |label, expected| assert_eq!(clean(label).as_deref(), expected, "{label}");
        check("Date of filing:", Some("date_of_filing"));
        check("Größe (m²)", Some("größe_m²"));
        check("価格", Some("価格"));
        check("#", None);
        check("3 stars", None);
        check("All prices are given without tax and shipping", None);
    }
}
