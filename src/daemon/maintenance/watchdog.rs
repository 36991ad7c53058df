//! When the systemd watchdog is fed. Pure: the time comes as an argument.

use std::time::Duration;

use tokio::time::Instant;

pub struct Watchdog {
    /// `None` if systemd has no watchdog for this daemon.
    interval: Option<Duration>,
    fed_at: Instant,
}

impl Watchdog {
    pub fn new(interval: Option<Duration>, now: Instant) -> Watchdog {
        Watchdog { interval, fed_at: now }
    }

    /// Whether it is time; the next time is counted from now.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.interval.is_some_and(|interval| now - self.fed_at >= interval);
        if is_due {
            self.fed_at = now;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_fed_once_an_interval_and_never_where_there_is_none() {
        let (start, interval) = (Instant::now(), Duration::from_secs(10));
        let mut watchdog = Watchdog::new(Some(interval), start);
        let fed = (1..=60).filter(|&second| watchdog.is_due(start + Duration::from_secs(second)));
        assert_eq!(fed.collect::<Vec<_>>(), [10, 20, 30, 40, 50, 60]);
        assert!(!Watchdog::new(None, start).is_due(start + interval * 9));
    }
}
