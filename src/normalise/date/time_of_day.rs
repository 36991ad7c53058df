//! Times of day, with their time zone if given: 14:05, 2:05 pm, 14.05 Uhr, 14h05, 14時05分.

use chrono::{NaiveDate, NaiveTime};

use super::super::Hints;
use super::local_time_text;
use super::tokens::DateTokens;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeOfDay {
    time: NaiveTime,
    /// Seconds east of UTC, where the text gives them.
    offset: Option<i32>,
}

impl TimeOfDay {
    pub fn on(self, day: NaiveDate, hints: &Hints<'_>) -> String {
        local_time_text(day, self.time, self.offset, hints)
    }
}

/// The first time in the text, whose tokens are marked.
pub(crate) fn find(tokens: &mut DateTokens) -> Option<TimeOfDay> {
    for at in 0..tokens.len() {
        if let Some((time, end)) = time_at(tokens, at) {
            let (offset, end) = offset_at(tokens, end).map_or((None, end), |(offset, end)| (Some(offset), end));
            tokens.mark(at, end);
            return Some(TimeOfDay { time, offset });
        }
    }
    None
}

/// A time and where it ends.
fn time_at(tokens: &DateTokens, at: usize) -> Option<(NaiveTime, usize)> {
    let (hour, _) = tokens.number(at).filter(|(_, digits)| *digits <= 2)?;
    let parts_at = |sign: &dyn Fn(usize) -> bool| -> Option<(u32, u32, usize)> {
        let (minute, _) =
            tokens.number(at + 2).filter(|(value, digits)| *digits == 2 && *value < 60 && sign(at + 1))?;
        let second = tokens.number(at + 4).filter(|(value, digits)| *digits == 2 && *value < 60);
        let has_second = matches!(tokens.sign(at + 3), Some(':' | '.')) && tokens.sign(at + 1) == Some(':');
        Some(second.filter(|_| has_second).map_or((minute, 0, at + 3), |(second, _)| (minute, second, at + 5)))
    };
    let with_colon = parts_at(&|at| tokens.sign(at) == Some(':'));
    let with_h = parts_at(&|at| matches!(tokens.word(at), Some("h" | "時" | "时" | "시" | "点")));
    let dotted = parts_at(&|at| tokens.sign(at) == Some('.')).filter(|(_, _, end)| tokens.word(*end) == Some("uhr"));
    let (minute, second, mut end) = match with_colon.or(with_h).or(dotted) {
        Some(found) => found,
        // 2 pm, 14 Uhr
        None if am_pm(tokens, at + 1).is_some() || tokens.word(at + 1) == Some("uhr") => (0, 0, at + 1),
        None => return None,
    };
    // Fractions of a second, as in .123, are skipped.
    if tokens.sign(end) == Some('.') && end == at + 5 && tokens.number(end + 1).is_some_and(|(_, digits)| digits >= 3) {
        end += 2;
    }
    if matches!(tokens.word(end), Some("uhr" | "h" | "分" | "분" | "hrs")) {
        end += 1;
    }
    let mut hour = hour;
    if let Some((is_afternoon, behind)) = am_pm(tokens, end).filter(|_| (1..=12).contains(&hour)) {
        hour = hour % 12 + if is_afternoon { 12 } else { 0 };
        end = behind;
    }
    let hour = if hour == 24 && minute == 0 { 0 } else { hour };
    NaiveTime::from_hms_opt(hour, minute, second).map(|time| (time, end))
}

/// am, pm, a.m., p. m.
fn am_pm(tokens: &DateTokens, at: usize) -> Option<(bool, usize)> {
    match tokens.word(at)? {
        "am" => Some((false, at + 1)),
        "pm" => Some((true, at + 1)),
        first @ ("a" | "p") if tokens.sign(at + 1) == Some('.') && tokens.word(at + 2) == Some("m") => {
            let end = at + 3 + usize::from(tokens.sign(at + 3) == Some('.'));
            Some((first == "p", end))
        }
        _ => None,
    }
}

/// Z, +02:00, -0500, GMT+2, CEST: seconds east of UTC.
fn offset_at(tokens: &DateTokens, at: usize) -> Option<(i32, usize)> {
    let bracket = usize::from(tokens.sign(at) == Some('('));
    let named = tokens.word(at + bracket).and_then(zone_hours);
    let behind = if named.is_some() { at + bracket + 1 } else { at };
    let none = named.map(|hours| (hours * 3600, behind));
    let east = match tokens.sign(behind) {
        Some('+') => 1,
        Some('-') => -1,
        _ => return none,
    };
    let Some((value, digits)) = tokens.number(behind + 1) else { return none };
    let minutes =
        |hours: u32, minutes: u32| (hours <= 14 && minutes < 60).then(|| east * (hours * 60 + minutes) as i32 * 60);
    match (digits, tokens.sign(behind + 2), tokens.number(behind + 3)) {
        (4, ..) => minutes(value / 100, value % 100).map(|it| (it, behind + 2)),
        (1 | 2, Some(':'), Some((rest, 2))) => minutes(value, rest).map(|it| (it, behind + 4)),
        (1 | 2, ..) if named.is_some() => minutes(value, 0).map(|it| (it, behind + 2)),
        _ => none,
    }
}

/// Hours east of UTC of the unambiguous abbreviations of time zones. CST and IST are ambiguous and deliberately absent.
fn zone_hours(word: &str) -> Option<i32> {
    Some(match word {
        "pst" => -8,
        "mst" | "pdt" => -7,
        "mdt" => -6,
        "est" | "cdt" => -5,
        "edt" => -4,
        "z" | "utc" | "gmt" | "wet" => 0,
        "bst" | "west" | "cet" | "mez" => 1,
        "cest" | "mesz" | "eet" => 2,
        "eest" | "msk" => 3,
        "jst" | "kst" => 9,
        "aest" => 10,
        "aedt" => 11,
        "nzst" => 12,
        "nzdt" => 13,
        _ => return None,
    })
}
