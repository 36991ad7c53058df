//! Dates and times: in digits, with month names, in ideographs, and relative to the time when the page was fetched.

mod day;
mod names;
mod relative;
mod time_of_day;
mod tokens;

use chrono::{Datelike, NaiveDate, NaiveTime, Offset, TimeZone, Utc};

use super::{DateOrder, Hints, ParsedValue, ValueError, plain};
use crate::model::Value;

use tokens::DateTokens;

/// How precisely a text names a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartialDate {
    Year(i32),
    Month(i32, u32),
    Day(NaiveDate),
}

pub fn date(text: &str, hints: &Hints<'_>) -> Result<ParsedValue, ValueError> {
    let mut tokens = DateTokens::of(text);
    if let Some(moment) = relative::moment(&mut tokens, text, hints) {
        return Ok(ParsedValue { is_whole: tokens.is_used_up(), value: Value::Date(moment) });
    }
    let clock = time_of_day::find(&mut tokens);
    let found = relative::day(&mut tokens, hints).map_or_else(|| day::find(&mut tokens, hints), |day| Ok((day, true)));
    let (day, mut is_sure) = match (found, &clock) {
        (Ok(found), _) => found,
        // A time without a date means the day on which the page was fetched.
        (Err(ValueError::NoDate), Some(_)) => {
            (PartialDate::Day(hints.fetched_at.with_timezone(&hints.zone).date_naive()), false)
        }
        (Err(why), _) => return Err(why),
    };
    is_sure &= tokens.is_used_up();
    let value = match (day, clock) {
        (PartialDate::Day(day), Some(clock)) => clock.on(day, hints),
        (PartialDate::Day(day), None) => day.format("%Y-%m-%d").to_string(),
        (PartialDate::Month(year, month), _) => format!("{year:04}-{month:02}"),
        (PartialDate::Year(year), _) => format!("{year:04}"),
    };
    Ok(ParsedValue { value: Value::Date(value), is_whole: is_sure })
}

/// The only possible order of day and month in a date of digits; `None` where both are possible, or it is no such date.
pub fn order_of(text: &str) -> Option<DateOrder> {
    day::order_of(&DateTokens::of(&plain::text(text.trim())))
}

/// A local time as ISO 8601 with its UTC offset. A time that the clock change skips is moved to a later one.
fn local_time_text(day: NaiveDate, time: NaiveTime, offset: Option<i32>, hints: &Hints<'_>) -> String {
    let local = day.and_time(time);
    if let Some(offset) = offset.and_then(chrono::FixedOffset::east_opt) {
        return format!("{}{}", local.format("%Y-%m-%dT%H:%M:%S"), offset_text(offset.local_minus_utc()));
    }
    let in_zone = hints.zone.from_local_datetime(&local);
    let moment = in_zone.earliest().unwrap_or_else(|| hints.zone.from_utc_datetime(&local));
    format!("{}{}", moment.format("%Y-%m-%dT%H:%M:%S"), offset_text(moment.offset().fix().local_minus_utc()))
}

fn offset_text(seconds: i32) -> String {
    let (sign, minutes) = if seconds < 0 { ('-', -seconds / 60) } else { ('+', seconds / 60) };
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// An instant in the task's time zone.
fn moment_text(moment: chrono::DateTime<Utc>, hints: &Hints<'_>) -> String {
    let local = moment.with_timezone(&hints.zone);
    local_time_text(local.date_naive(), local.time(), Some(local.offset().fix().local_minus_utc()), hints)
}

/// The year of a date without one: the year that brings it nearest to the time when the page was fetched.
fn nearest_year(month: u32, day: u32, hints: &Hints<'_>) -> Option<NaiveDate> {
    let today = hints.fetched_at.with_timezone(&hints.zone).date_naive();
    let years = [today.year(), today.year() - 1, today.year() + 1];
    let days = years.into_iter().filter_map(|year| NaiveDate::from_ymd_opt(year, month, day));
    days.min_by_key(|it| (*it - today).num_days().abs())
}
