//! Crawling manners: rate limit, retries with backoff, robots.txt, conditional requests. Every request of a run passes
//! them; the session applies them in order.

pub mod http_cache;
pub mod rate_limit;
pub mod retry;
pub mod robots;

use std::time::Duration;

/// Timeouts of a request; tests use shorter ones.
#[derive(Clone, Debug)]
pub struct RequestTimeouts {
    pub connect: Duration,
    /// From the request to the head of the response. The body is bounded by the run's deadline alone: a site may send a
    /// byte a second for ever, so only a total time stops it (docs/design/safety.md 6.2).
    pub first_byte: Duration,
    /// The pause before the first retry; it doubles with each further one.
    pub first_retry_delay: Duration,
}

pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
pub const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(30);

impl Default for RequestTimeouts {
    fn default() -> RequestTimeouts {
        RequestTimeouts {
            connect: CONNECT_TIMEOUT,
            first_byte: FIRST_BYTE_TIMEOUT,
            first_retry_delay: Duration::from_secs(1),
        }
    }
}
