//! White space in texts: collapsed to one blank, with a copy only where it is needed.

use std::borrow::Cow;

/// Collapses runs of white space to one blank and trims the ends. Non-breaking and zero-width blanks count as white
/// space.
pub fn collapse(text: &str) -> String {
    let mut out = CollapsedText::after(String::with_capacity(text.len()));
    out.push(text);
    out.text
}

/// Builds a collapsed text piece by piece: a word may begin in one piece and end in the next.
#[derive(Default)]
pub struct CollapsedText {
    pub text: String,
    /// Where the current text begins in `text`.
    from: usize,
    needs_blank: bool,
}

impl CollapsedText {
    /// Begins a new text directly after another, without a blank between them.
    pub fn after(text: String) -> CollapsedText {
        let from = text.len();
        CollapsedText { text, from, needs_blank: false }
    }

    /// Adds a piece that is collapsed already; `before` and `behind` say whether it had blanks there.
    pub(super) fn push_collapsed(&mut self, piece: &str, before: bool, behind: bool) {
        self.needs_blank |= before;
        if !piece.is_empty() {
            self.push_word(piece);
        }
        self.needs_blank |= behind;
    }

    pub fn push(&mut self, piece: &str) {
        let mut word: Option<usize> = None;
        for (at, c) in piece.char_indices() {
            if !is_blank(c) {
                word = word.or(Some(at));
            } else {
                if let Some(start) = word.take() {
                    self.push_word(&piece[start..at]);
                }
                self.needs_blank = true;
            }
        }
        if let Some(start) = word {
            self.push_word(&piece[start..]);
        }
    }

    /// Makes the next piece begin a new word.
    pub fn separate(&mut self) {
        self.needs_blank = true;
    }

    fn push_word(&mut self, word: &str) {
        if self.needs_blank && self.text.len() > self.from {
            self.text.push(' ');
        }
        self.needs_blank = false;
        self.text.push_str(word);
    }
}

pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}')
}

/// As [`collapse`], without a copy where only the ends change.
pub(super) fn collapsed(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim_matches(is_blank);
    let bytes = trimmed.as_bytes();
    let is_plain = |i: usize| match bytes[i] {
        b' ' => !matches!(bytes[i + 1], b' ' | b'\t'..=b'\r'),
        b'\t'..=b'\r' => false,
        byte => byte.is_ascii(),
    };
    // Neither the first nor the last character is a blank, so there is always a next one.
    if (0..bytes.len()).all(is_plain) { Cow::Borrowed(trimmed) } else { Cow::Owned(collapse(trimmed)) }
}
