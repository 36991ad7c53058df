//! What stands in the database as text and numbers, read back into what it is. Nothing that stands there is trusted.

use std::fs;

use chrono::{DateTime, TimeDelta, Utc};

use super::{StoreError, Trigger};
use crate::model::{Outcome, RunId, RunStatistics, TaskName, TimeSpan, Verdict};

/// What a run's figures may take up; 500 columns come to half of it. They come from the child, so nobody is trusted.
const MAX_STATISTICS_BYTES: usize = 128 << 10;

pub(super) fn run_id(text: &str) -> Result<RunId, StoreError> {
    text.parse().map_err(|_| StoreError::InvalidValue(format!("`{text}` is not a run's id")))
}

pub(super) fn task_name(text: &str) -> Result<TaskName, StoreError> {
    TaskName::new(text).map_err(StoreError::invalid_value)
}

pub(super) fn trigger(word: &str) -> Result<Trigger, StoreError> {
    Trigger::from_word(word).ok_or_else(|| StoreError::InvalidValue("a run's trigger".to_owned()))
}

pub(super) fn outcome(outcome: &str, cause: &str) -> Result<Outcome, StoreError> {
    Outcome::from_words(outcome, cause)
        .ok_or_else(|| StoreError::InvalidValue(format!("outcome {outcome}, cause {cause}")))
}

/// A count as the database has it; it has no unsigned numbers.
pub(super) fn count(stored: Option<i64>) -> Option<u64> {
    stored.and_then(|count| u64::try_from(count).ok())
}

/// Runs of an earlier program have none; what cannot be read is measured anew by the next good run.
pub(super) fn statistics(stored: Option<&str>) -> RunStatistics {
    stored.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

pub(super) fn statistics_json(verdict: &Verdict) -> Option<String> {
    serde_json::to_string(&verdict.statistics).ok().filter(|json| json.len() <= MAX_STATISTICS_BYTES)
}

/// The database has no word for “not a number”.
pub(super) fn similarity(verdict: &Verdict) -> Option<f64> {
    verdict.similarity.filter(|similarity| similarity.is_finite())
}

/// The instant so long ago.
pub(super) fn instant_before(now: DateTime<Utc>, span: TimeSpan) -> DateTime<Utc> {
    let span = TimeDelta::from_std(span.0).unwrap_or(TimeDelta::MAX);
    // Before there were computers there were no runs.
    now.checked_sub_signed(span).unwrap_or(DateTime::UNIX_EPOCH).max(DateTime::UNIX_EPOCH)
}

/// Tells a run of before a reboot from one whose process id was given out again. Absent where the kernel has none to tell.
pub(super) fn boot_id() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}
