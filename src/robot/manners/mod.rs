//! How the robot behaves towards a site: it waits for its turn, tries again with patience, heeds robots.txt, and does not
//! ask for what it has.
//!
//! Each file adds to [`super::session::Session`] what every request of a run goes through.

pub mod turn;
pub mod retry;
pub mod robots;
pub mod unchanged;
pub mod refresh;

use std::time::Duration;

/// How long the robot waits for what; tests are less patient.
#[derive(Clone, Debug)]
pub struct Patience {
    pub connect: Duration,
    /// From the request to the head of its answer. What comes after is bounded by the run's deadline alone: a site may send
    /// a byte a second for ever, so only a total stops it (safety.md input 2).
    pub first_byte: Duration,
    /// Before the second try; each further one waits about twice as long.
    pub first_pause: Duration,
}

/// A browser's patience is that of every run.
pub const CONNECT: Duration = Duration::from_secs(15);
pub const FIRST_BYTE: Duration = Duration::from_secs(30);

impl Default for Patience {
    fn default() -> Patience {
        Patience { connect: CONNECT, first_byte: FIRST_BYTE, first_pause: Duration::from_secs(1) }
    }
}
