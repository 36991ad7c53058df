//! Instants as they stand in the database: text that sorts, that SQLite's date functions read, in UTC to the
//! millisecond.

use chrono::{DateTime, SecondsFormat, SubsecRound, Utc};

use super::StoreError;

pub(super) fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// As `text`, from the milliseconds of an instant.
pub(super) fn text_of_millis(millis: i64) -> String {
    text(of_millis(millis))
}

/// An instant as exact as both databases keep it.
pub(super) fn to_millis(at: DateTime<Utc>) -> DateTime<Utc> {
    at.trunc_subsecs(3)
}

pub(super) fn of_millis(millis: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(millis).unwrap_or(DateTime::UNIX_EPOCH)
}

pub(super) fn parse(text: &str) -> Result<DateTime<Utc>, StoreError> {
    DateTime::parse_from_rfc3339(text)
        .map(|at| at.to_utc())
        .map_err(|_| StoreError::InvalidValue(format!("`{text}` is not an instant")))
}

pub(super) fn parse_if_any(text: Option<String>) -> Result<Option<DateTime<Utc>>, StoreError> {
    text.as_deref().map(parse).transpose()
}
