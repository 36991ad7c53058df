//! The text of a span of tokens, and its hash.

use std::borrow::Cow;
use std::hash::BuildHasher;

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
