//! Timestamps as they are stored: sortable text in UTC with milliseconds, which SQLite's date functions read.

use chrono::{DateTime, SecondsFormat, SubsecRound, Utc};

use super::{StoreError, StoreResult};

pub(super) fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// As `text`, from milliseconds.
pub(super) fn text_of_millis(millis: i64) -> String {
    text(of_millis(millis))
}

/// An instant with the precision that both databases keep.
pub(super) fn to_millis(at: DateTime<Utc>) -> DateTime<Utc> {
    at.trunc_subsecs(3)
}

pub(super) fn of_millis(millis: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(millis).unwrap_or(DateTime::UNIX_EPOCH)
}

pub(super) fn parse(text: &str) -> StoreResult<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text)
        .map(|at| at.to_utc())
        .map_err(|_| StoreError::InvalidValue(format!("`{text}` is not a timestamp")))
}
