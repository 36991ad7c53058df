//! Rate limit: every request waits for its turn at the host.

use std::time::{Duration, Instant};

use url::Url;

use crate::robot::error::SessionError;
use crate::robot::session::{RequestPurpose, Session, display_url};

impl Session {
    pub(in crate::robot) async fn wait_for_turn(
        &mut self,
        url: &Url,
        purpose: RequestPurpose,
    ) -> Result<(), SessionError> {
        let host = url.host_str().unwrap_or_default().to_owned();
        let delay = match purpose {
            RequestPurpose::Page => self.limits.delay.max(self.crawl_delay(url)),
            // The page for which robots.txt is fetched may follow at once.
            RequestPurpose::Robots => Duration::ZERO,
        };
        let asked = tokio::time::timeout_at(self.deadline.into(), self.run_host.acquire_turn(&host, delay)).await;
        let wait = asked.map_err(|_| SessionError::DeadlineWhileQueued(host.clone()))?;
        if wait.is_zero() {
            return Ok(());
        }
        if Instant::now() + wait >= self.deadline {
            // A wait that is no longer than our own delay was not asked for by the site.
            let is_ours = wait <= delay;
            return Err(if is_ours {
                SessionError::Deadline(display_url(url))
            } else {
                SessionError::HostBackoff { host, wait }
            });
        }
        self.before_deadline(tokio::time::sleep(wait), url).await
    }
}
