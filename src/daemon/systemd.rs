//! Notifications to systemd.

use std::time::Duration;

use sd_notify::NotifyState;

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
