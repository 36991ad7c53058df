//! Amounts of money: a currency before or after, ranges, and accompanying words.

use std::ops::Range;

use super::number::{self, LoneSeparator, Number};
use super::{Hints, ParsedValue, ValueError, currency};
use crate::model::Value;

/// Words that mean an amount of zero.
const FREE_WORDS: &[&str] =
    &["free", "gratis", "kostenlos", "umsonst", "gratuit", "zdarma", "за darmo", "бесплатно", "免费"];
/// Words between the ends of a range.
const RANGE_WORDS: &[&str] =
    &["-", "–", "~", "〜", "to", "bis", "à", "a", "až", "до", "do", "til", "till", "tot", "al", "hasta", "até", "até"];
/// Words around an amount that do not change it.
const NEUTRAL_WORDS: &[&str] = &[
    "from", "ab", "von", "nur", "only", "dès", "des", "à", "partir", "de", "desde", "da", "od", "от", "fra", "från",
    "vanaf", "ca", "approx", "about", "now", "up", "to", "bis", "price", "preis", "prix", "precio", "preço", "prezzo",
    "cena", "cijena", "цена", "vb", "inkl", "incl", "mwst", "ttc", "ht", "each", "ea", "stück", "st", "starting", "at",
];
/// Words for what an amount is for: / Monat, per night, pro Stück.
const PER_UNIT_WORDS: &[&str] = &["/", "per", "pro", "par", "por", "al", "je"];

/// An amount with the currencies next to it.
struct Amount {
    number: Number,
    currency: Option<String>,
    /// Range of the amount with its currencies.
    at: Range<usize>,
}

pub(super) fn money(text: &str, hints: &Hints<'_>) -> Result<ParsedValue, ValueError> {
    let mut amounts = amounts(text, hints);
    if amounts.is_empty() {
        let is_free = FREE_WORDS.contains(&text.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase().as_str());
        let value = Value::Money { amount: "0".to_owned(), to: None, currency: None };
        return if is_free { Ok(ParsedValue { value, is_whole: true }) } else { Err(ValueError::NoAmount) };
    }
    let is_range = |amounts: &[Amount]| matches!(amounts, [from, to] if is_range_word(&text[from.at.end..to.at.start]));
    if amounts.len() > 1 && !is_range(&amounts) {
        // If some numbers have a currency, only these are amounts: 3 nights, 95 €.
        amounts.retain(|it| it.currency.is_some());
    }
    let range = if is_range(&amounts) { amounts.pop() } else { None };
    let [first] = &amounts[..] else {
        return Err(if amounts.is_empty() { ValueError::NoAmount } else { ValueError::SeveralAmounts });
    };
    let end = range.as_ref().map_or(first.at.end, |to| to.at.end);
    let currency = first.currency.clone().or_else(|| range.as_ref()?.currency.clone());
    let is_whole = currency.is_some() && is_neutral(&text[..first.at.start]) && is_tail(&text[end..]);
    // 30-35K
    let shared = range.as_ref().filter(|_| first.number.zeros == 0).map_or(0, |to| to.number.zeros);
    let amount = number::shifted(&first.number.digits, shared);
    let to = range.map(|to| to.number.digits);
    Ok(ParsedValue { value: Value::Money { amount, to, currency }, is_whole })
}

fn amounts(text: &str, hints: &Hints<'_>) -> Vec<Amount> {
    let numbers = number::all_numbers(text, LoneSeparator::Grouping);
    let mut amounts: Vec<Amount> = Vec::new();
    for (index, number) in numbers.iter().enumerate() {
        let from = index.checked_sub(1).map_or(0, |before| {
            amounts.last().map_or(numbers[before].at.end, |it| it.at.end.max(numbers[before].at.end))
        });
        let next = numbers.get(index + 1).map_or(text.len(), |it| it.at.start);
        let behind = &text[number.at.end..next];
        if behind.trim_start().starts_with('%') {
            continue;
        }
        let before = &text[from..number.at.start];
        let sign_end = before.trim_end_matches([' ', '-']);
        let said_before = currency::at_end(sign_end, hints);
        let dash = dash_len(behind, next == text.len());
        let said_behind = currency::at_start(&behind[dash..], hints);
        let mut number = number.clone();
        let mut start = number.at.start;
        if let Some((_, at)) = &said_before {
            start = from + at;
            // -$5, but not 3-$5
            let is_minus =
                text[..start].strip_suffix('-').is_some_and(|rest| !rest.trim_end().ends_with(char::is_alphanumeric));
            if is_minus && !number.digits.starts_with('-') {
                number.digits.insert(0, '-');
                start -= 1;
            }
        }
        let end = number.at.end + dash + said_behind.as_ref().map_or(0, |(_, end)| *end);
        // A code is more specific than a symbol: $95 CAD.
        let is_code = said_behind.as_ref().is_some_and(|(_, end)| behind[dash..dash + end].trim().len() == 3);
        let currency = if is_code { said_behind.or(said_before) } else { said_before.or(said_behind) };
        amounts.push(Amount { number, currency: currency.map(|(code, _)| code), at: start..end });
    }
    amounts
}

/// 95,- and 95.– and 95:-
fn dash_len(behind: &str, is_last: bool) -> usize {
    let Some(sign) = behind.chars().next().filter(|c| matches!(c, ',' | '.' | ':')) else { return 0 };
    let rest = &behind[sign.len_utf8()..];
    let dashes: usize = rest.chars().take_while(|c| matches!(c, '-' | '–')).map(char::len_utf8).sum();
    let alone = is_last && rest.trim().is_empty();
    if dashes > 0 || alone { sign.len_utf8() + dashes } else { 0 }
}

fn is_range_word(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    RANGE_WORDS.contains(&text.as_str())
}

fn is_neutral(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.all(|word| NEUTRAL_WORDS.contains(&word.to_lowercase().as_str()))
}

/// True for text that may follow: nothing, signs, or what the amount is for.
fn is_tail(text: &str) -> bool {
    let tail = text.trim_start_matches([' ', '*', '.', ',', '+', '(']).to_lowercase();
    let first = tail.split_whitespace().next().unwrap_or_default();
    let is_per = PER_UNIT_WORDS.contains(&first) || tail.starts_with('/');
    is_neutral(&tail) || is_per && tail.split_whitespace().count() <= 4
}
