//! Numbers as people write them: 1,234.56, 1.234,56, 1 234,56, 1'234.50, 12,34,567, 42½, 2.3k, -.50.

use std::ops::Range;

use super::{Found, Hints, Unread};
use crate::model::Value;

/// A number of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// Where it stands, sign and multiplier included.
    pub at: Range<usize>,
    /// `-1234.50`
    pub digits: String,
    /// What a word behind the digits has made of them: 35K has three zeros.
    pub zeros: usize,
    /// A code rather than a count: it begins with a zero, or has too many digits.
    pub is_code: bool,
}

/// What a single point or comma before three digits is: 1.234.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lone {
    /// Prices and counts have no three decimals.
    Groups,
    /// As the language of the page has it; without one the comma groups and the point does not.
    ByLanguage(Option<bool>),
}

/// More digits are a code, not a number.
const MOST_DIGITS: usize = 15;

pub fn int(text: &str, _: &Hints<'_>) -> Result<Found, Unread> {
    let (number, is_whole) = only(text, Lone::Groups)?;
    let (whole, rest) = number.digits.split_once('.').unwrap_or((&number.digits, ""));
    if rest.bytes().any(|digit| digit != b'0') {
        return Err(Unread::NotWhole);
    }
    let value = whole.parse().map_err(|_| Unread::TooLarge)?;
    Ok(Found { value: Value::Int(value), is_whole: is_whole && rest.is_empty() && !number.is_code })
}

pub fn number(text: &str, hints: &Hints<'_>) -> Result<Found, Unread> {
    let (number, is_whole) = only(text, Lone::ByLanguage(hints.decimal_comma()))?;
    Ok(Found { is_whole: is_whole && !number.is_code, value: Value::Number(number.digits) })
}

/// The one number of a text, and whether nothing but signs is around it.
fn only(text: &str, lone: Lone) -> Result<(Number, bool), Unread> {
    let mut numbers = all(text, lone);
    let number = numbers.pop().ok_or(Unread::NoNumber)?;
    if !numbers.is_empty() {
        return Err(Unread::SeveralNumbers);
    }
    let around = text[..number.at.start].chars().chain(text[number.at.end..].chars());
    let is_whole =
        around.into_iter().all(|c| c.is_whitespace() || matches!(c, '%' | '*' | '#' | '+' | '(' | ')' | '.'));
    Ok((number, is_whole))
}

/// All numbers of a plain text, in order. Digits behind a letter (A4, v2) are part of a word.
pub fn all(text: &str, lone: Lone) -> Vec<Number> {
    let mut numbers: Vec<Number> = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(|c: char| c.is_ascii_digit() || vulgar(c).is_some()).map(|at| from + at) {
        let run = run_from(text, start);
        from = run.end;
        let before = text[..start].chars().next_back();
        if before.is_some_and(char::is_alphabetic) && !is_ideograph(before) {
            from = run.end + text[run.end..].find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len() - run.end);
            continue;
        }
        let end_before = numbers.last().map_or(0, |it| it.at.end);
        if let Some(number) = number_at(text, run, lone, end_before) {
            from = number.at.end;
            numbers.push(number);
        }
    }
    numbers
}

/// Digits with what may stand between them.
fn run_from(text: &str, start: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = start;
    loop {
        while is_digit(end) {
            end += 1;
        }
        let Some(sign) = text[end..].chars().next() else { break };
        let next = end + sign.len_utf8();
        let goes_on = match sign {
            '.' | ',' | '\'' | '’' => is_digit(next),
            // 1 234, but not 12 1234 or 3 4.
            ' ' => end > start && (0..3).all(|i| is_digit(next + i)) && !is_digit(next + 3),
            _ => false,
        };
        if !goes_on {
            break;
        }
        end = next;
    }
    start..end
}

fn number_at(text: &str, run: Range<usize>, lone: Lone, end_before: usize) -> Option<Number> {
    let written = &text[run.clone()];
    let (mut start, mut end) = (run.start, run.end);
    let mut digits = if written.is_empty() { "0".to_owned() } else { digits_of(written, lone)? };
    let is_code =
        digits.len() > MOST_DIGITS || (written.len() > 1 && written.starts_with('0') && !digits.contains('.'));
    if let Some(fraction) = text[end..].chars().next().and_then(vulgar) {
        if digits.contains('.') {
            return None;
        }
        digits.push_str(fraction);
        end += text[end..].chars().next().map_or(0, char::len_utf8);
    }
    let before = &text[end_before..start];
    // .50, but not 3..50 or x.50
    let is_bare = !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit());
    if is_bare
        && before.ends_with(['.', ','])
        && !before[..before.len() - 1].ends_with(|c: char| c.is_alphanumeric() || c == '.')
    {
        digits = format!("0.{written}");
        start -= 1;
    }
    let (zeros, length) = multiplier(&text[end..]).unwrap_or((0, 0));
    digits = shifted(&digits, zeros);
    end += length;
    if has_minus(&text[end_before..start], end_before == 0) {
        start -= 1;
        digits.insert(0, '-');
    }
    Some(Number { at: start..end, digits: trimmed(&digits), zeros, is_code })
}

/// A hyphen between two numbers or inside a word is no minus.
fn has_minus(before: &str, is_first: bool) -> bool {
    let Some(rest) = before.strip_suffix('-') else { return false };
    match rest.trim_end().chars().next_back() {
        None => is_first,
        Some(c) if c.is_alphanumeric() => rest.ends_with(' ') && c.is_alphabetic(),
        Some(c) => !matches!(c, '-' | '/' | ')' | '%'),
    }
}

/// The digits without grouping, and with a point before the decimals; none where it is no number (1.2.3).
fn digits_of(written: &str, lone: Lone) -> Option<String> {
    let pieces: Vec<&str> = written.split(['.', ',', '\'', '’', ' ']).collect();
    let signs: Vec<char> = written.chars().filter(|c| !c.is_ascii_digit()).collect();
    let Some(&last) = signs.last() else { return Some(written.to_owned()) };
    let is_point = matches!(last, '.' | ',');
    let same = signs.iter().all(|&sign| sign == last);
    let decimal = match (&signs[..], same) {
        ([_], _) if is_point && groups_hold(&pieces) && !pieces[0].starts_with('0') => match lone {
            Lone::Groups => false,
            Lone::ByLanguage(comma) => comma.map_or(last == '.', |comma| comma == (last == ',')),
        },
        ([_], _) => is_point,
        (_, true) => false,
        (_, false) => is_point && signs.iter().filter(|&&sign| sign == last).count() == 1,
    };
    let whole = if decimal { &pieces[..pieces.len() - 1] } else { &pieces[..] };
    let group_signs = &signs[..signs.len() - usize::from(decimal)];
    if whole.len() > 1 && (!groups_hold(whole) || group_signs.iter().any(|&sign| sign != group_signs[0])) {
        return None;
    }
    let joined = whole.concat();
    Some(if decimal { format!("{joined}.{}", pieces[pieces.len() - 1]) } else { joined })
}

/// Threes behind one to three digits, or as in India twos before the last three.
fn groups_hold(pieces: &[&str]) -> bool {
    let inner = &pieces[1..];
    let ends_in_three = inner.last().is_some_and(|it| it.len() == 3);
    let even = inner.iter().rev().skip(1).all(|it| it.len() == 3) || inner.iter().rev().skip(1).all(|it| it.len() == 2);
    ends_in_three && even && (1..=3).contains(&pieces[0].len())
}

/// ½ and its like.
fn vulgar(c: char) -> Option<&'static str> {
    Some(match c {
        '½' => ".5",
        '¼' => ".25",
        '¾' => ".75",
        '⅓' => ".33",
        '⅔' => ".67",
        '⅛' => ".125",
        _ => return None,
    })
}

/// Words for thousands, millions and milliards, by their beginnings, with their zeros.
const SCALES: &[(&str, usize)] = &[
    ("tsd", 3),
    ("tausend", 3),
    ("thousand", 3),
    ("тыс", 3),
    ("tys", 3),
    ("mio", 6),
    ("million", 6),
    ("milión", 6),
    ("milion", 6),
    ("millon", 6),
    ("milhões", 6),
    ("milhão", 6),
    ("mln", 6),
    ("млн", 6),
    ("mrd", 9),
    ("milliard", 9),
    ("mld", 9),
    ("bn", 9),
    ("млрд", 9),
];

/// How many zeros the word behind the digits stands for, and how far it goes.
fn multiplier(behind: &str) -> Option<(usize, usize)> {
    let blank = usize::from(behind.starts_with(' '));
    let word: String = behind[blank..].chars().take_while(|c| c.is_alphabetic()).collect();
    let first = word.chars().next()?;
    let after = behind[blank + word.len()..].chars().next();
    let zeros = match (first, word.as_str()) {
        ('万' | '萬' | '만', _) if blank == 0 => return Some((4, first.len_utf8())),
        ('億' | '亿' | '억', _) if blank == 0 => return Some((8, first.len_utf8())),
        (_, "k" | "K" | "M" | "B") if blank == 0 && !matches!(after, Some('²' | '³' | '/' | '0'..='9')) => {
            match first {
                'M' => 6,
                'B' => 9,
                _ => 3,
            }
        }
        _ => {
            let lower = word.to_lowercase();
            SCALES.iter().find(|(start, _)| lower.starts_with(start))?.1
        }
    };
    Some((zeros, blank + word.len() + usize::from(blank == 1 && after == Some('.'))))
}

/// Times ten to the `zeros`.
pub fn shifted(digits: &str, zeros: usize) -> String {
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let moved: String = decimals.chars().chain(std::iter::repeat('0')).take(zeros).collect();
    let rest = decimals.get(zeros..).unwrap_or_default();
    let point = if rest.is_empty() { "" } else { "." };
    format!("{whole}{moved}{point}{rest}")
}

/// Without zeros in front.
fn trimmed(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let kept = digits.trim_start_matches('0');
    let zero = if kept.is_empty() || kept.starts_with('.') { "0" } else { "" };
    let is_nothing = digits.bytes().all(|b| matches!(b, b'0' | b'.'));
    format!("{}{zero}{kept}", if is_nothing { "" } else { sign })
}

fn is_ideograph(c: Option<char>) -> bool {
    c.is_some_and(|c| matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'))
}
