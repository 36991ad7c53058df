//! Replaces the many variants of digits, blanks and dashes by their ASCII forms.

use std::borrow::Cow;

pub(super) fn text(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| plain(c) == c) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(plain).collect())
}

fn plain(c: char) -> char {
    match c {
        ' '..='~' => c,
        // The full-width forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xff01 + 0x21).unwrap_or(c),
        '\u{660}'..='\u{669}' => digit(c, 0x660),
        '\u{6f0}'..='\u{6f9}' => digit(c, 0x6f0),
        '\u{966}'..='\u{96f}' => digit(c, 0x966),
        '−' | '‐' | '‑' => '-',
        '—' | '―' => '–',
        '´' | 'ʼ' | '′' => '\'',
        c if c.is_whitespace() => ' ',
        // Characters that only set the writing direction.
        '\u{200b}'..='\u{200f}' | '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
        c => c,
    }
}

fn digit(c: char, zero: u32) -> char {
    char::from_digit(c as u32 - zero, 10).unwrap_or(c)
}
