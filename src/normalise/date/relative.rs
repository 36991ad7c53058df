//! Dates relative to the time when the page was fetched: today, gestern, 3 hours ago, vor 2 Tagen, 5分前.

mod words;

use chrono::{Days, Duration, Months};

use super::super::Hints;
use super::tokens::{DateToken, DateTokens};
use super::{PartialDate, moment_text};
use words::{NOW, ONE, TimeUnit, day_distance, is_ago, unit};

/// A day named by a word, whose token is marked.
pub(crate) fn day(tokens: &mut DateTokens, hints: &Hints<'_>) -> Option<PartialDate> {
    let find = |at: usize| {
        let word = tokens.word(at)?;
        // i dag, i går
        let pair = (word == "i").then(|| tokens.word(at + 1)).flatten();
        let joined = pair.map(|second| format!("i{second}"));
        let ideographs = |word: &str| word.chars().count() == 1 && tokens.word(at + 1) != Some("日");
        let distance =
            joined.as_deref().and_then(day_distance).or_else(|| day_distance(word).filter(|_| !ideographs(word)))?;
        Some((at, at + 1 + usize::from(joined.is_some() || tokens.word(at + 1) == Some("日")), distance))
    };
    let (from, to, distance) = (0..tokens.len()).find_map(find)?;
    // aujourd'hui
    let to = if tokens.word(to + 1) == Some("hui") { to + 2 } else { to };
    tokens.mark(from, to);
    let today = hints.fetched_at.with_timezone(&hints.zone).date_naive();
    today.checked_add_signed(Duration::days(distance)).map(PartialDate::Day)
}

/// An instant in the past as ISO 8601: to the second for hours and less, otherwise a date.
pub(crate) fn moment(tokens: &mut DateTokens, text: &str, hints: &Hints<'_>) -> Option<String> {
    let lower = text.to_lowercase();
    if NOW.iter().any(|now| lower.contains(now)) {
        tokens.mark(0, tokens.len());
        return Some(moment_text(hints.fetched_at, hints));
    }
    let is_french = lower.contains("il y a ");
    let cue = tokens.list.iter().position(|token| matches!(token, DateToken::Word(word) if is_ago(word)));
    if cue.is_none() && !is_french {
        return None;
    }
    let (at, unit_at, unit, count) = (0..tokens.len()).find_map(|at| span_at(tokens, at))?;
    // Words further away belong to something else.
    let from = cue.map_or(at.saturating_sub(3), |cue| cue.min(at));
    let to = cue.map_or(unit_at, |cue| cue.max(unit_at)) + 1;
    if to - from > 6 {
        return None;
    }
    tokens.mark(from, to);
    let before = |seconds: i64| {
        let past = hints.fetched_at.checked_sub_signed(Duration::try_seconds(i64::from(count) * seconds)?)?;
        Some(moment_text(past, hints))
    };
    let today = hints.fetched_at.with_timezone(&hints.zone).date_naive();
    let day = match unit {
        TimeUnit::Second => return before(1),
        TimeUnit::Minute => return before(60),
        TimeUnit::Hour => return before(3600),
        TimeUnit::Day => today.checked_sub_days(Days::new(u64::from(count))),
        TimeUnit::Week => today.checked_sub_days(Days::new(u64::from(count) * 7)),
        TimeUnit::Month => today.checked_sub_months(Months::new(count)),
        TimeUnit::Year => today.checked_sub_months(Months::new(count.checked_mul(12)?)),
    };
    day.map(|day| day.format("%Y-%m-%d").to_string())
}

/// A count and its unit, with their positions: 3 hours, 30+ days, a day.
fn span_at(tokens: &DateTokens, at: usize) -> Option<(usize, usize, TimeUnit, u32)> {
    let count = match tokens.list.get(at)? {
        DateToken::Number { value, digits } if *digits <= 4 => *value,
        DateToken::Word(word) if ONE.contains(&word.as_str()) => 1,
        _ => return None,
    };
    let unit_at = at + 1 + usize::from(tokens.sign(at + 1) == Some('+'));
    unit(tokens.word(unit_at)?).map(|unit| (at, unit_at, unit, count))
}
