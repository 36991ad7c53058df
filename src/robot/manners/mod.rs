//! How the robot behaves towards a site: it waits for its turn, tries again with patience, heeds robots.txt, and does not
//! ask for what it has.
//!
//! Each file adds to [`super::session::Session`] what every request of a run goes through.

pub mod http_cache;
pub mod rate_limit;
pub mod meta_refresh;
pub mod retry;
pub mod robots;

use std::time::Duration;

/// How long the robot waits for what; tests are less patient.
#[derive(Clone, Debug)]
pub struct RequestTimeouts {
    pub connect: Duration,
    /// From the request to the head of its answer. What comes after is bounded by the run's deadline alone: a site may send
    /// a byte a second for ever, so only a total stops it (docs/design/safety.md 6.2).
    pub first_byte: Duration,
    /// Before the second try; each further one waits about twice as long.
    pub first_retry_delay: Duration,
}

/// A browser's patience is that of every run.
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
