//! Exit codes of the commands (docs/commands.md).

use crate::model::{Failure, Outcome, Quarantine, Verdict};

pub(super) const DONE: u8 = 0;
pub(super) const FAILED: u8 = 1;
pub(super) const USAGE: u8 = 2;
pub(super) const NEEDS_PERSON: u8 = 3;
pub(super) const TEMPORARY: u8 = 75;
pub(super) const REFUSED: u8 = 77;
pub(super) const CONFIG: u8 = 78;
pub(super) const TIME_LIMIT: u8 = 124;
pub(super) const KILLED: u8 = 137;

/// The meaning of each code, for the manual. `pieme --help` has a short form.
pub(super) const MEANINGS: &[(u8, &str)] = &[
    (DONE, "The command succeeded."),
    (FAILED, "The command failed, or a run finished and was not published."),
    (USAGE, "The command line is wrong, or it names a task or a file that does not exist."),
    (NEEDS_PERSON, "A person must label the task: type pieme label TASK."),
    (TEMPORARY, "A temporary failure, for example of the network; try again later."),
    (REFUSED, "The site refused the login or blocked the robot, or the user may not use this installation."),
    (CONFIG, "There is a mistake in the configuration or in a task folder."),
    (TIME_LIMIT, "The run reached its time limit."),
    (KILLED, "The run was killed, or reached its memory limit."),
];

/// The codes of `pieme-daemon`.
pub(super) const MEANINGS_OF_DAEMON: &[(u8, &str)] = &[
    (DONE, "The daemon was stopped by a signal."),
    (FAILED, "The daemon could not start, or ended with an error; see the last line of the log."),
    (USAGE, "The command line is wrong."),
    (TEMPORARY, "Another daemon uses the state folder, the folder was moved, or the database cannot be reached."),
    (CONFIG, "There is a mistake in the configuration."),
];

pub(super) fn code_of(verdict: &Verdict) -> u8 {
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
