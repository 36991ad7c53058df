//! Times for a reader: durations in short form, and the trace of a run with the time of each line since the start, so
//! that waits can be seen.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::model::TraceLine;

pub fn ago(time: TimeDelta) -> String {
    if time < TimeDelta::seconds(1) { "now".to_owned() } else { format!("{} ago", short(time)) }
}

pub fn ahead(time: TimeDelta) -> String {
    if time < TimeDelta::seconds(1) { "now".to_owned() } else { format!("in {}", short(time)) }
}

/// One unit: `45s`, `12m`, `5h`, `3d`.
pub fn short(time: TimeDelta) -> String {
    let seconds = time.num_seconds().abs();
    match seconds {
        0..100 => format!("{seconds}s"),
        100..6_000 => format!("{}m", seconds / 60),
        6_000..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

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
    fn times_are_short() {
        for (seconds, text) in
            [(0, "now"), (45, "45s ago"), (720, "12m ago"), (5 * 3_600, "5h ago"), (259_200, "3d ago")]
        {
            assert_eq!(ago(TimeDelta::seconds(seconds)), text);
        }
        assert_eq!(ahead(TimeDelta::seconds(-3)), "now");
        assert_eq!(ahead(TimeDelta::seconds(30)), "in 30s");
    }

    #[test]
    fn a_time_is_told_in_seconds() {
        let start = DateTime::from_timestamp(1_000, 0).expect("an instant");
        for (ms, text) in [(0, "+0.000s"), (34, "+0.034s"), (61_500, "+61.500s"), (-5, "+0.000s")] {
            assert_eq!(since(start, start + TimeDelta::milliseconds(ms)), text);
        }
    }
}
