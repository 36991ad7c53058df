//! Decodes stored texts and numbers into model types. Stored values are not trusted: each is validated.

use std::fs;

use chrono::{DateTime, TimeDelta, Utc};

use super::{StoreError, StoreResult};
use crate::model::{Outcome, RunId, RunStatistics, TaskName, TimeSpan, Verdict};

/// Size limit of a run's statistics; 500 columns come to half of it. They come from the child, which is not trusted.
const MAX_STATISTICS_BYTES: usize = 128 << 10;

pub(super) fn run_id(text: &str) -> StoreResult<RunId> {
    text.parse().map_err(|_| StoreError::InvalidValue(format!("`{text}` is not a run id")))
}

pub(super) fn task_name(text: &str) -> StoreResult<TaskName> {
    TaskName::new(text).map_err(StoreError::invalid_value)
}

pub(super) fn outcome(outcome: &str, cause: &str) -> StoreResult<Outcome> {
    Outcome::from_words(outcome, cause)
        .ok_or_else(|| StoreError::InvalidValue(format!("outcome `{outcome}` with cause `{cause}`")))
}

/// Converts a stored count; databases have no unsigned numbers.
pub(super) fn count(stored: Option<i64>) -> Option<u64> {
    stored.and_then(|count| u64::try_from(count).ok())
}

/// Empty for runs of an earlier version, and where the stored text is invalid; the next good run measures again.
pub(super) fn statistics(stored: Option<&str>) -> RunStatistics {
    stored.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

pub(super) fn statistics_json(verdict: &Verdict) -> Option<String> {
    serde_json::to_string(&verdict.statistics).ok().filter(|json| json.len() <= MAX_STATISTICS_BYTES)
}

/// None for NaN and infinities, which the database cannot store.
pub(super) fn similarity(verdict: &Verdict) -> Option<f64> {
    verdict.similarity.filter(|similarity| similarity.is_finite())
}

/// The instant `span` before `now`, at the earliest 1970.
pub(super) fn instant_before(now: DateTime<Utc>, span: TimeSpan) -> DateTime<Utc> {
    let span = TimeDelta::from_std(span.0).unwrap_or(TimeDelta::MAX);
    now.checked_sub_signed(span).unwrap_or(DateTime::UNIX_EPOCH).max(DateTime::UNIX_EPOCH)
}

/// The kernel's boot id. It distinguishes a run from before a reboot from one whose process id was reused. None where
/// the kernel provides none.
pub(super) fn boot_id() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}
