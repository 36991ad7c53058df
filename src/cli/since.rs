//! Parses `--since`: a duration before now, a date, or a timestamp.

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::model::TimeSpan;

pub(super) fn parse(text: &str) -> Result<DateTime<Utc>, String> {
    before(text, Utc::now())
}

fn before(text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, String> {
    if let Ok(day) = text.parse::<NaiveDate>() {
        return Ok(day.and_time(NaiveTime::MIN).and_utc());
    }
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Ok(at.to_utc());
    }
    let usage = |_| "write for example 7d, 12h, 2026-11-01 or 2026-11-01T06:00:00Z".to_owned();
    let span: TimeSpan = text.parse().map_err(usage)?;
    let ago = TimeDelta::from_std(span.0).ok().and_then(|span| now.checked_sub_signed(span));
    Ok(ago.unwrap_or(DateTime::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_before_now_a_day_or_an_instant() {
        let now: DateTime<Utc> = "2026-11-17T06:00:00Z".parse().expect("a moment");
        for (text, expected) in [
            ("7d", "2026-11-10T06:00:00Z"),
            ("90m", "2026-11-17T04:30:00Z"),
            ("2026-11-01", "2026-11-01T00:00:00Z"),
            ("2026-11-01T08:00:00+02:00", "2026-11-01T06:00:00Z"),
        ] {
            let at = before(text, now);
            assert_eq!(at, Ok(expected.parse().expect("a moment")), "{text}");
        }
        assert!(before("yesterday", now).is_err());
    }
}
