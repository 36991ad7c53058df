//! The trace of a run with the time of each line since the start, so that waits can be seen.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::model::TraceLine;

/// A trace line with its time since the start of the run.
#[derive(Serialize)]
pub struct TimedLine {
    #[serde(flatten)]
    pub line: TraceLine,
    pub since_start_ms: u64,
}

pub fn timed(lines: Vec<TraceLine>, start: DateTime<Utc>) -> Vec<TimedLine> {
    lines.into_iter().map(|line| TimedLine { since_start_ms: since_ms(start, line.at), line }).collect()
}

/// Zero where the clock was set back.
fn since_ms(start: DateTime<Utc>, at: DateTime<Utc>) -> u64 {
    u64::try_from((at - start).num_milliseconds()).unwrap_or(0)
}

pub fn since(start: DateTime<Utc>, at: DateTime<Utc>) -> String {
    after(since_ms(start, at))
}

/// `+12.345s`
pub fn after(ms: u64) -> String {
    format!("+{}.{:03}s", ms / 1_000, ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_seconds() {
        let start = DateTime::from_timestamp(1_000, 0).expect("an instant");
        for (ms, text) in [(0, "+0.000s"), (34, "+0.034s"), (61_500, "+61.500s"), (-5, "+0.000s")] {
            assert_eq!(since(start, start + chrono::TimeDelta::milliseconds(ms)), text);
        }
    }
}
