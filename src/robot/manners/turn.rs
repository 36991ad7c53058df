//! Waiting for one's turn at a host: no request goes out before it.

use std::time::{Duration, Instant};

use url::Url;

use crate::robot::session::{Purpose, Session, shown};
use crate::robot::trouble::SessionError;

impl Session {
    pub(in crate::robot) async fn wait_for_turn(&mut self, url: &Url, purpose: Purpose) -> Result<(), SessionError> {
        let host = url.host_str().unwrap_or_default().to_owned();
        let delay = match purpose {
            Purpose::Page => self.limits.delay.max(self.crawl_delay(url)),
            // The page that it is asked for may follow at once.
            Purpose::Robots => Duration::ZERO,
        };
        let asked = tokio::time::timeout_at(self.deadline.into(), self.home.turn(&host, delay)).await;
        let wait = asked.map_err(|_| SessionError::Busy(host.clone()))?;
        if wait.is_zero() {
            return Ok(());
        }
        if Instant::now() + wait >= self.deadline {
            // A wait that is no longer than our own delay is ours, not the site's.
            let is_ours = wait <= delay;
            return Err(if is_ours {
                SessionError::Deadline(shown(url))
            } else {
                SessionError::Resting { host, wait }
            });
        }
        self.in_time(tokio::time::sleep(wait), url).await
    }
}
