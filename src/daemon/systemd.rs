//! Notifications to systemd, and when its watchdog is fed.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::Instant;

/// The watchdog is fed at least this often. Not more often than needed: each time is a write to the disk.
const WATCHDOG_INTERVAL: Duration = Duration::from_secs(10);

pub fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!("notifying systemd failed: {error}");
    }
}

/// How often the watchdog is fed; `None` if systemd has none for this daemon.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|patience| (patience / 3).min(WATCHDOG_INTERVAL))
}

/// When the systemd watchdog is fed. Pure: the time comes as an argument.
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
