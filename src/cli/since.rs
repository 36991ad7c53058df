//! Parses `--since`: a duration before now, a date, or a timestamp.

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::model::TimeSpan;

/// A duration before now, or a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    Ago(TimeSpan),
    At(DateTime<Utc>),
}

impl Since {
    pub fn parse(text: &str) -> Result<Since, String> {
        if let Ok(day) = text.parse::<NaiveDate>() {
            return Ok(Since::At(day.and_time(NaiveTime::MIN).and_utc()));
        }
        if let Ok(at) = DateTime::parse_from_rfc3339(text) {
            return Ok(Since::At(at.to_utc()));
        }
        text.parse()
            .map(Since::Ago)
            .map_err(|_| "write for example 7d, 12h, 2026-11-01 or 2026-11-01T06:00:00Z".to_owned())
    }

    pub fn before(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Since::At(at) => at,
            Since::Ago(span) => TimeDelta::from_std(span.0)
                .ok()
                .and_then(|span| now.checked_sub_signed(span))
                .unwrap_or(DateTime::UNIX_EPOCH),
        }
    }
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
            let at = Since::parse(text).map(|since| since.before(now));
            assert_eq!(at, Ok(expected.parse().expect("a moment")), "{text}");
        }
        assert!(Since::parse("yesterday").is_err());
    }
}
