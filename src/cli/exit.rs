//! Exit codes: what a script learns from a verb (SPEC section 5).

use crate::model::{Failure, Outcome, Quarantine, Verdict};

pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
pub const USAGE: u8 = 2;
pub const NEEDS_PERSON: u8 = 3;
pub const TEMPORARY: u8 = 75;
pub const REFUSED: u8 = 77;
pub const CONFIG: u8 = 78;
pub const TIME_LIMIT: u8 = 124;
pub const KILLED: u8 = 137;

pub fn of(verdict: &Verdict) -> u8 {
    match verdict.outcome {
        Outcome::Published(_) if verdict.provisional => NEEDS_PERSON,
        Outcome::Published(_) => DONE,
        Outcome::Quarantined(Quarantine::Layout | Quarantine::Provisional) => NEEDS_PERSON,
        Outcome::Quarantined(Quarantine::Rows | Quarantine::Columns) | Outcome::Empty(_) => FAILED,
        Outcome::Failed(cause) => match cause {
            Failure::Config => CONFIG,
            Failure::Network => TEMPORARY,
            Failure::Login | Failure::Blocked => REFUSED,
            Failure::Timeout => TIME_LIMIT,
            Failure::Crash | Failure::Memory => KILLED,
            Failure::Tls | Failure::Http | Failure::Robot | Failure::RobotsTxt | Failure::Limit | Failure::Internal => {
                FAILED
            }
        },
    }
}
