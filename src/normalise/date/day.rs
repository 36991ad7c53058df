//! Calendar dates in a text: 2024-04-03, 3.4.24, 04/03/2024, 3. April 2024, 2024年4月3日.

use chrono::NaiveDate;

use super::super::{DateOrder, Hints, ValueError};
use super::tokens::DateTokens;
use super::{PartialDate, names, nearest_year};

/// Years of two digits are 1970 to 2069.
const CENTURY_PIVOT: u32 = 70;

/// Parses a date that begins at a token.
type DayParser = fn(&DateTokens, usize, &Hints<'_>) -> Option<DateMatch>;
/// A number and how many digits it has.
type Digits = (u32, usize);
type DayResult = Result<(PartialDate, bool), ValueError>;

/// The first date in the text, whose tokens are marked, and whether it is unambiguous.
pub(crate) fn find(tokens: &mut DateTokens, hints: &Hints<'_>) -> DayResult {
    let readers: [DayParser; 4] = [ideographs, digits, by_name, month_of_year];
    for reader in readers {
        for at in 0..tokens.len() {
            if let Some(reading) = reader(tokens, at, hints) {
                tokens.mark(reading.from, reading.to);
                return reading.day.ok_or(ValueError::NoSuchDay).map(|day| (day, reading.is_sure));
            }
        }
    }
    year_alone(tokens)
}

/// A parsed date with its range of tokens; no day where the calendar has no such day.
struct DateMatch {
    day: Option<PartialDate>,
    is_sure: bool,
    from: usize,
    to: usize,
}

fn full_date(year: i32, month: u32, day: u32) -> Option<PartialDate> {
    NaiveDate::from_ymd_opt(year, month, day).map(PartialDate::Day)
}

fn full_year(value: u32, digits: usize) -> Option<i32> {
    let year = match digits {
        4 if (1000..=2200).contains(&value) => value,
        2 => value + if value < CENTURY_PIVOT { 2000 } else { 1900 },
        _ => return None,
    };
    i32::try_from(year).ok()
}

/// 2024年4月3日, 4月3日, 令和6年4月3日, 2024년 4월 3일.
fn ideographs(tokens: &DateTokens, at: usize, hints: &Hints<'_>) -> Option<DateMatch> {
    let unit = |at: usize, units: &[&str]| tokens.word(at).is_some_and(|word| units.contains(&word));
    let (value, digits) = tokens.number(at)?;
    let era = at.checked_sub(1).and_then(|at| tokens.word(at)).and_then(|word| match word {
        "令和" => Some(2018),
        "平成" => Some(1988),
        "昭和" => Some(1925),
        "民國" | "民国" => Some(1911),
        _ => None,
    });
    let (year, month_at) = if unit(at + 1, &["年", "년"]) {
        let year = era.map(|start| start + value as i32 % 1000).or_else(|| full_year(value, digits))?;
        (Some(year), at + 2)
    } else {
        (None, at)
    };
    let from = at - usize::from(era.is_some() && year.is_some());
    let month = tokens.number(month_at).filter(|_| unit(month_at + 1, &["月", "월"])).map(|(month, _)| month);
    let Some(month) = month else {
        let day = Some(PartialDate::Year(year?));
        return Some(DateMatch { day, is_sure: true, from, to: month_at });
    };
    let day_at = month_at + 2;
    let day = tokens.number(day_at).filter(|_| unit(day_at + 1, &["日", "号", "일"])).map(|(day, _)| day);
    let (found, to) = match (year, day) {
        (Some(year), Some(day)) => (full_date(year, month, day), day_at + 2),
        (Some(year), None) => (Some(PartialDate::Month(year, month)).filter(|_| (1..=12).contains(&month)), day_at),
        (None, Some(day)) => (nearest_year(month, day, hints).map(PartialDate::Day), day_at + 2),
        (None, None) => return None,
    };
    Some(DateMatch { day: found, is_sure: true, from, to })
}

/// Three numbers with the same separator; a blank is allowed before a year of four digits.
fn triple(tokens: &DateTokens, at: usize) -> Option<([Digits; 3], char, usize)> {
    let first = tokens.number(at)?;
    let sign = tokens.sign(at + 1).filter(|sign| matches!(sign, '.' | '/' | '-' | '–'))?;
    let second = tokens.number(at + 2).filter(|(_, digits)| *digits <= 2)?;
    let (third, end) = if tokens.sign(at + 3) == Some(sign) {
        (tokens.number(at + 4)?, at + 5)
    } else {
        (tokens.number(at + 3).filter(|(_, digits)| *digits == 4)?, at + 4)
    };
    let part_of_more = tokens.sign(end) == Some(sign) && sign != '-' && tokens.number(end + 1).is_some()
        || at > 0 && tokens.sign(at - 1) == Some(sign) && at > 1 && tokens.number(at - 2).is_some();
    (!part_of_more).then_some(([first, second, third], sign, end))
}

fn digits(tokens: &DateTokens, at: usize, hints: &Hints<'_>) -> Option<DateMatch> {
    if let Some(compact) = compact(tokens, at) {
        return Some(compact);
    }
    let Some(([first, second, third], sign, to)) = triple(tokens, at) else {
        return day_without_year(tokens, at, hints);
    };
    let found = |day: Option<PartialDate>| Some(DateMatch { day, is_sure: true, from: at, to });
    if first.1 == 4 {
        let (year, month, day) = (full_year(first.0, 4)?, second.0, third.0);
        return (third.1 <= 2)
            .then_some(())
            // 2024-13-04 is only written with the day before the month.
            .and_then(|()| found(full_date(year, month, day).or_else(|| full_date(year, day, month))));
    }
    if first.1 > 2 {
        return None;
    }
    let year = full_year(third.0, third.1)?;
    let order = if sign == '.' { DateOrder::DayFirst } else { hints.order };
    found(in_order(order, first.0, second.0, |month, day| full_date(year, month, day)))
}

/// The date of two numbers: in this order of day and month, or else in the other.
fn in_order<T>(order: DateOrder, first: u32, second: u32, date: impl Fn(u32, u32) -> Option<T>) -> Option<T> {
    match order {
        DateOrder::DayFirst => date(second, first).or_else(|| date(first, second)),
        DateOrder::MonthFirst => date(first, second).or_else(|| date(second, first)),
    }
}

/// 3.4., 4/28, and 04-25 before a time: a day without a year.
fn day_without_year(tokens: &DateTokens, at: usize, hints: &Hints<'_>) -> Option<DateMatch> {
    let (first, first_digits) = tokens.number(at)?;
    let sign = tokens.sign(at + 1)?;
    let (second, second_digits) = tokens.number(at + 2)?;
    if first_digits > 2 || second_digits > 2 || at > 0 && tokens.sign(at - 1) == Some(sign) {
        return None;
    }
    let is_dotted = sign == '.' && tokens.sign(at + 3) == Some('.') && tokens.number(at + 4).is_none();
    let (order, is_sure, to) = match sign {
        '.' if is_dotted => (DateOrder::DayFirst, true, at + 4),
        '/' if tokens.sign(at + 3) != Some('/') => (hints.order, false, at + 3),
        // 04-25 16:35
        '-' if tokens.is_used(at + 3) && first_digits + second_digits == 4 => (hints.order, true, at + 3),
        _ => return None,
    };
    let day = in_order(order, first, second, |month, day| nearest_year(month, day, hints));
    day.map(|day| DateMatch { day: Some(PartialDate::Day(day)), is_sure, from: at, to })
}

/// 20240403
fn compact(tokens: &DateTokens, at: usize) -> Option<DateMatch> {
    let (value, _) = tokens.number(at).filter(|(_, digits)| *digits == 8)?;
    let year = i32::try_from(value / 10_000).ok().filter(|year| (1900..2100).contains(year))?;
    let day = full_date(year, value / 100 % 100, value % 100)?;
    Some(DateMatch { day: Some(day), is_sure: false, from: at, to: at + 1 })
}

/// Skips small words and signs between the parts of a date.
fn skip_fillers(tokens: &DateTokens, mut at: usize) -> usize {
    const SMALL: &[&str] = &["de", "del", "of", "st", "nd", "rd", "th", "er", "ª", "º", "m", "d", "the"];
    for _ in 0..3 {
        let is_small = tokens.word(at).is_some_and(|word| SMALL.contains(&word));
        if is_small || matches!(tokens.sign(at), Some('.' | ',' | '-' | '/' | '\'' | '’' | '°')) {
            at += 1;
        }
    }
    at
}

/// Skips a time before the year: Jul 26 05:22:56 2000.
fn past_the_time(tokens: &DateTokens, mut at: usize) -> usize {
    while tokens.is_used(at) {
        at += 1;
    }
    at
}

/// Index of the number before, past small words and signs.
fn number_before(tokens: &DateTokens, at: usize) -> Option<usize> {
    (1..=3)
        .map_while(|back| at.checked_sub(back))
        .find(|&it| tokens.number(it).is_some())
        .filter(|&it| skip_fillers(tokens, it + 1) == at)
}

/// 3. April 2024, April 3rd, 2024, 03-Apr-24, 2024. április 3., Apr 2024.
fn by_name(tokens: &DateTokens, at: usize, hints: &Hints<'_>) -> Option<DateMatch> {
    let month = names::month(tokens.word(at)?, hints.language.as_deref())?;
    let before = number_before(tokens, at).and_then(|it| Some((it, tokens.number(it)?)));
    let behind_at = skip_fillers(tokens, at + 1);
    let behind = tokens.number(behind_at);
    let year_of = |number: Option<(u32, usize)>| number.and_then(|(value, digits)| full_year(value, digits));
    let reading = |day: Option<PartialDate>, from: usize, to: usize| Some(DateMatch { day, is_sure: true, from, to });
    match (before, behind) {
        // 2024. április 3.
        (Some((from, year @ (_, 4))), Some((day, 1 | 2))) => {
            reading(full_date(year_of(Some(year))?, month, day), from, behind_at + 1)
        }
        (Some((from, (day, 1 | 2))), number) => match year_of(number) {
            Some(year) => reading(full_date(year, month, day), from, behind_at + 1),
            None => reading(nearest_year(month, day, hints).map(PartialDate::Day), from, at + 1),
        },
        (None, Some((day, 1 | 2))) => {
            let year_at = past_the_time(tokens, skip_fillers(tokens, behind_at + 1));
            match year_of(tokens.number(year_at).filter(|(_, digits)| *digits == 4)) {
                Some(year) => reading(full_date(year, month, day), at, year_at + 1),
                None => reading(nearest_year(month, day, hints).map(PartialDate::Day), at, behind_at + 1),
            }
        }
        (None, year @ Some((_, 4))) => reading(Some(PartialDate::Month(year_of(year)?, month)), at, behind_at + 1),
        (Some((from, year @ (_, 4))), None) => {
            reading(Some(PartialDate::Month(year_of(Some(year))?, month)), from, at + 1)
        }
        _ => None,
    }
}

/// 03.2021, 4/2024, 2024-04.
fn month_of_year(tokens: &DateTokens, at: usize, _: &Hints<'_>) -> Option<DateMatch> {
    let (first, second) = (tokens.number(at)?, tokens.number(at + 2)?);
    let is_apart = |at: usize| !matches!(tokens.sign(at), Some('.' | '/' | '-'));
    let sign = tokens.sign(at + 1).filter(|sign| matches!(sign, '.' | '/' | '-'))?;
    if !is_apart(at + 3) || at > 0 && !is_apart(at - 1) {
        return None;
    }
    let (month, year) = match (first.1, second.1) {
        (1 | 2, 4) => (first.0, second),
        (4, 2) if sign == '-' => (second.0, first),
        _ => return None,
    };
    let year = full_year(year.0, 4).filter(|year| (1900..2100).contains(year) && (1..=12).contains(&month))?;
    Some(DateMatch { day: Some(PartialDate::Month(year, month)), is_sure: true, from: at, to: at + 3 })
}

/// 2009 is a year if a person says that the column is a date; otherwise it is a number.
fn year_alone(tokens: &mut DateTokens) -> DayResult {
    let mut numbers = (0..tokens.len()).filter(|&at| tokens.number(at).is_some());
    let (Some(at), None) = (numbers.next(), numbers.next()) else { return Err(ValueError::NoDate) };
    let year =
        tokens.number(at).filter(|(_, digits)| *digits == 4).and_then(|(value, digits)| full_year(value, digits));
    tokens.mark(at, at + 1);
    year.map(|year| (PartialDate::Year(year), false)).ok_or(ValueError::NoDate)
}

/// The order that a date of digits only must have, if it is unambiguous.
pub fn order_of(tokens: &DateTokens) -> Option<DateOrder> {
    let ([first, second, _], sign, _) = (0..tokens.len()).find_map(|at| triple(tokens, at))?;
    let are_open = sign != '.' && first.1 <= 2 && (1..=31).contains(&first.0) && (1..=31).contains(&second.0);
    match (first.0 > 12, second.0 > 12) {
        (true, false) if are_open => Some(DateOrder::DayFirst),
        (false, true) if are_open => Some(DateOrder::MonthFirst),
        _ => None,
    }
}
