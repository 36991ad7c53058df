//! Rate limit: every request waits for its turn at the host.

use std::time::{Duration, Instant};

use url::Url;

use crate::model::address::{display_url, rate_limit_key};
use crate::robot::error::SessionError;
use crate::robot::run_host::RunHost;

/// Waits for the turn at the URL's server; the next turn there comes at least `delay` later.
pub async fn wait_for_turn(
    run_host: &mut dyn RunHost,
    url: &Url,
    delay: Duration,
    deadline: Instant,
) -> Result<(), SessionError> {
    let host = rate_limit_key(url);
    let asked = tokio::time::timeout_at(deadline.into(), run_host.acquire_turn(&host, delay)).await;
    let wait = asked.map_err(|_| SessionError::DeadlineWhileQueued(host.clone()))?;
    if wait.is_zero() {
        return Ok(());
    }
    let too_late = || SessionError::Deadline(display_url(url));
    if Instant::now() + wait >= deadline {
        // A wait that is no longer than our own delay was not asked for by the site.
        let is_ours = wait <= delay;
        return Err(if is_ours { too_late() } else { SessionError::HostBackoff { host, wait } });
    }
    tokio::time::timeout_at(deadline.into(), tokio::time::sleep(wait)).await.map_err(|_| too_late())
}
