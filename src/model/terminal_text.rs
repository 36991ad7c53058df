//! Text that is safe to show on a terminal. A site can write anything into its pages.

use std::borrow::Cow;

/// Whether a terminal would act on the character, or change the order of those around it.
pub fn is_terminal_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text as a terminal may show it. Line breaks, tabs and colours (`ESC [ digits m`) stay; every other control
/// character becomes `·`.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| is_terminal_control(c) && c != '\n' && c != '\t') {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = colour_length(rest).unwrap_or(c.len_utf8());
        match c {
            '\n' | '\t' => safe.push(c),
            '\u{1b}' if length > 1 => safe.push_str(&rest[..length]),
            c if is_terminal_control(c) => safe.push('·'),
            c => safe.push(c),
        }
        rest = &rest[length..];
    }
    Cow::Owned(safe)
}

/// Length of the colour sequence at the beginning.
fn colour_length(text: &str) -> Option<usize> {
    let digits = text.strip_prefix("\u{1b}[")?;
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    digits[end..].starts_with('m').then_some(2 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_text_and_colours_and_no_orders() {
        for (text, shown) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[38;5;9mred\u{1b}[0m", "\u{1b}[38;5;9mred\u{1b}[0m"),
            ("\u{1b}[2J\u{1b}]0;owned\u{7}", "·[2J·]0;owned·"),
            ("\u{9b}2J\r\u{8}", "·2J··"),
            ("txt.exe\u{202e}gpj", "txt.exe·gpj"),
            ("a\u{2066}b\u{2029}c\u{200f}", "a·b·c·"),
            ("\u{1b}[31", "·[31"),
            ("\u{1b}", "·"),
            ("Grand Hôtel 東京 👩‍👩‍👧", "Grand Hôtel 東京 👩‍👩‍👧"),
        ] {
            assert_eq!(for_terminal(text), shown, "{text:?}");
        }
    }
}
