//! When tasks/ is scanned next, besides the chore. Pure: the time comes as an argument.

use std::time::Duration;

use tokio::time::Instant;

/// Folder hints within this time lead to one rescan.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// How often tasks/ is scanned where it cannot be watched, and when a failed scan is retried.
pub const RESCAN_UNWATCHED: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub struct RescanTimer {
    at: Option<Instant>,
}

impl RescanTimer {
    /// Something may have changed. Later hints do not postpone the scan.
    pub fn hint(&mut self, now: Instant) {
        let soon = now + DEBOUNCE;
        self.at = Some(self.at.map_or(soon, |at| at.min(soon)));
    }

    /// Something has changed.
    pub fn request(&mut self, now: Instant) {
        self.at = Some(now);
    }

    /// A scan starts, which sees everything up to now.
    pub fn start(&mut self) {
        self.at = None;
    }

    /// A scan has failed.
    pub fn retry(&mut self, now: Instant) {
        self.at = Some(now + RESCAN_UNWATCHED);
    }

    /// How long until the next scan, if one is requested; zero when it is due.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.at.map(|at| at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_due(timer: &RescanTimer, now: Instant) -> bool {
        timer.wait(now) == Some(Duration::ZERO)
    }

    #[test]
    fn a_stream_of_hints_makes_one_scan_and_does_not_postpone_it() {
        let (mut timer, start) = (RescanTimer::default(), Instant::now());
        assert_eq!(timer.wait(start), None, "nobody has asked for one");
        for step in 0..10 {
            timer.hint(start + DEBOUNCE / 10 * step);
        }
        assert_eq!(timer.wait(start + DEBOUNCE / 2), Some(DEBOUNCE / 2));
        assert!(is_due(&timer, start + DEBOUNCE), "counted from the first hint");
        timer.start();
        assert_eq!(timer.wait(start + DEBOUNCE * 10), None, "one scan sees all of them");
    }

    #[test]
    fn a_failed_scan_is_retried_and_a_hint_brings_that_forward() {
        let (mut timer, start) = (RescanTimer::default(), Instant::now());
        timer.retry(start);
        assert!(!is_due(&timer, start + DEBOUNCE) && is_due(&timer, start + RESCAN_UNWATCHED));
        timer.hint(start);
        assert!(is_due(&timer, start + DEBOUNCE));
        timer.request(start);
        assert!(is_due(&timer, start), "a folder that has changed elsewhere waits for nothing");
    }
}
