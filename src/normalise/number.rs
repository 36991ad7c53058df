//! Numbers as people write them: 1,234.56, 1.234,56, 1 234,56, 1'234.50, 12,34,567, 42½, 2.3k, -.50.

mod scale;

use std::ops::Range;

use super::{Hints, ParsedValue, ValueError};
use crate::model::Value;

pub use scale::shifted;
use scale::{fraction_decimals, multiplier};

/// A number in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Its position, with sign and multiplier.
    pub at: Range<usize>,
    /// `-1234.50`
    pub digits: String,
    /// Zeros added by a word after the digits: 35K has three.
    pub zeros: usize,
    /// True for a code rather than a count: it begins with a zero, or has too many digits.
    pub is_code: bool,
}

/// How to read a single point or comma before three digits: 1.234.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoneSeparator {
    /// It groups thousands: prices and counts do not have three decimals.
    Grouping,
    /// As in the page's language; without one, a comma groups and a point is decimal.
    ByLanguage(Option<bool>),
}

/// A number with more digits counts as a code.
const MOST_DIGITS: usize = 15;

pub(super) fn int(text: &str, _: &Hints<'_>) -> Result<ParsedValue, ValueError> {
    let (number, is_whole) = single_number(text, LoneSeparator::Grouping)?;
    let (whole, rest) = number.digits.split_once('.').unwrap_or((&number.digits, ""));
    if rest.bytes().any(|digit| digit != b'0') {
        return Err(ValueError::NotWhole);
    }
    let value = whole.parse().map_err(|_| ValueError::TooLarge)?;
    Ok(ParsedValue { value: Value::Int(value), is_whole: is_whole && rest.is_empty() && !number.is_code })
}

pub(super) fn number(text: &str, hints: &Hints<'_>) -> Result<ParsedValue, ValueError> {
    let (number, is_whole) = single_number(text, LoneSeparator::ByLanguage(hints.decimal_comma()))?;
    Ok(ParsedValue { is_whole: is_whole && !number.is_code, value: Value::Number(number.digits) })
}

/// The only number of a text, and whether only signs surround it.
fn single_number(text: &str, lone: LoneSeparator) -> Result<(Number, bool), ValueError> {
    let mut numbers = all_numbers(text, lone);
    let number = numbers.pop().ok_or(ValueError::NoNumber)?;
    if !numbers.is_empty() {
        return Err(ValueError::SeveralNumbers);
    }
    let around = text[..number.at.start].chars().chain(text[number.at.end..].chars());
    let is_whole =
        around.into_iter().all(|c| c.is_whitespace() || matches!(c, '%' | '*' | '#' | '+' | '(' | ')' | '.'));
    Ok((number, is_whole))
}

/// All numbers of a plain text, in order. Digits after a letter (A4, v2) are part of a word.
pub(super) fn all_numbers(text: &str, lone: LoneSeparator) -> Vec<Number> {
    let mut numbers: Vec<Number> = Vec::new();
    let mut from = 0;
    while let Some(start) =
        text[from..].find(|c: char| c.is_ascii_digit() || fraction_decimals(c).is_some()).map(|at| from + at)
    {
        let run = digit_run(text, start);
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

/// A run of digits with the characters that may stand between them.
fn digit_run(text: &str, start: usize) -> Range<usize> {
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

fn number_at(text: &str, run: Range<usize>, lone: LoneSeparator, end_before: usize) -> Option<Number> {
    let written = &text[run.clone()];
    let (mut start, mut end) = (run.start, run.end);
    let mut digits = if written.is_empty() { "0".to_owned() } else { digits_of(written, lone)? };
    let is_code =
        digits.len() > MOST_DIGITS || (written.len() > 1 && written.starts_with('0') && !digits.contains('.'));
    if let Some(fraction) = text[end..].chars().next().and_then(fraction_decimals) {
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
    Some(Number { at: start..end, digits: without_leading_zeros(&digits), zeros, is_code })
}

/// A hyphen between two numbers or inside a word is no minus sign.
fn has_minus(before: &str, is_first: bool) -> bool {
    let Some(rest) = before.strip_suffix('-') else { return false };
    match rest.trim_end().chars().next_back() {
        None => is_first,
        Some(c) if c.is_alphanumeric() => rest.ends_with(' ') && c.is_alphabetic(),
        Some(c) => !matches!(c, '-' | '/' | ')' | '%'),
    }
}

/// The digits without grouping, with a decimal point; `None` if it is no number (1.2.3).
fn digits_of(written: &str, lone: LoneSeparator) -> Option<String> {
    let pieces: Vec<&str> = written.split(['.', ',', '\'', '’', ' ']).collect();
    let signs: Vec<char> = written.chars().filter(|c| !c.is_ascii_digit()).collect();
    let Some(&last) = signs.last() else { return Some(written.to_owned()) };
    let is_point = matches!(last, '.' | ',');
    let same = signs.iter().all(|&sign| sign == last);
    let decimal = match (&signs[..], same) {
        ([_], _) if is_point && are_valid_groups(&pieces) && !pieces[0].starts_with('0') => match lone {
            LoneSeparator::Grouping => false,
            LoneSeparator::ByLanguage(comma) => comma.map_or(last == '.', |comma| comma == (last == ',')),
        },
        ([_], _) => is_point,
        (_, true) => false,
        (_, false) => is_point && signs.iter().filter(|&&sign| sign == last).count() == 1,
    };
    let whole = if decimal { &pieces[..pieces.len() - 1] } else { &pieces[..] };
    let group_signs = &signs[..signs.len() - usize::from(decimal)];
    if whole.len() > 1 && (!are_valid_groups(whole) || group_signs.iter().any(|&sign| sign != group_signs[0])) {
        return None;
    }
    let joined = whole.concat();
    Some(if decimal { format!("{joined}.{}", pieces[pieces.len() - 1]) } else { joined })
}

/// Groups of three after one to three digits, or groups of two before the last three, as in India.
fn are_valid_groups(pieces: &[&str]) -> bool {
    let inner = &pieces[1..];
    let ends_in_three = inner.last().is_some_and(|it| it.len() == 3);
    let even = inner.iter().rev().skip(1).all(|it| it.len() == 3) || inner.iter().rev().skip(1).all(|it| it.len() == 2);
    ends_in_three && even && (1..=3).contains(&pieces[0].len())
}

fn without_leading_zeros(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let kept = digits.trim_start_matches('0');
    let zero = if kept.is_empty() || kept.starts_with('.') { "0" } else { "" };
    let is_nothing = digits.bytes().all(|b| matches!(b, b'0' | b'.'));
    format!("{}{zero}{kept}", if is_nothing { "" } else { sign })
}

fn is_ideograph(c: Option<char>) -> bool {
    c.is_some_and(|c| matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'))
}
