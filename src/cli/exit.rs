//! Exit codes: what a script learns from a verb (docs/commands.md).

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

/// What each code means, for the manual. `pieme --help` has the same in one sentence.
pub const MEANINGS: &[(u8, &str)] = &[
    (DONE, "The command did what it was asked to do."),
    (FAILED, "It finished without the wanted result, for example a run that was not published."),
    (USAGE, "The command line is wrong, or it names a task or a file that does not exist."),
    (NEEDS_PERSON, "A person must look: type pieme label TASK."),
    (TEMPORARY, "A temporary failure, for example of the network; try again later."),
    (REFUSED, "The site refused the log-in or blocked the robot."),
    (CONFIG, "A file of the configuration or of the task is wrong."),
    (TIME_LIMIT, "The run reached its time limit."),
    (KILLED, "The run was killed, or reached its memory limit."),
];

/// The codes of `pieme-daemon`.
pub const MEANINGS_OF_DAEMON: &[(u8, &str)] = &[
    (DONE, "It was asked to stop, and did."),
    (FAILED, "It could not start, or could not go on; the last line of the log says why."),
    (USAGE, "The command line is wrong."),
    (TEMPORARY, "Another daemon holds the state folder, the folder was moved away, or the store is not reachable."),
    (CONFIG, "The configuration is wrong."),
];

pub fn code_of(verdict: &Verdict) -> u8 {
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
