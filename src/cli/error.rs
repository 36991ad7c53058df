//! The error of a command.

use std::fmt::Display;
use std::io;
use std::path::Path;

use crate::daemon::http::control::ControlReply;
use crate::daemon::lock::LockError;
use crate::store::StoreError;
use crate::tasks::Problem;

use super::exit;

/// A command ends with an exit code, or with an error that has a message and an exit code.
pub(super) type VerbResult = Result<u8, CliError>;

/// Why a command failed: one sentence for the person, and the exit code.
pub(super) struct CliError {
    pub(super) sentence: String,
    pub(super) code: u8,
}

impl CliError {
    pub(super) fn new(code: u8, sentence: impl Display) -> CliError {
        CliError { sentence: sentence.to_string(), code }
    }

    pub(super) fn failed(sentence: impl Display) -> CliError {
        CliError::new(exit::FAILED, sentence)
    }

    pub(super) fn usage(sentence: impl Display) -> CliError {
        CliError::new(exit::USAGE, sentence)
    }

    pub(super) fn config(sentence: impl Display) -> CliError {
        CliError::new(exit::CONFIG, sentence)
    }

    pub(super) fn temporary(sentence: impl Display) -> CliError {
        CliError::new(exit::TEMPORARY, sentence)
    }

    pub(super) fn needs_person(sentence: impl Display) -> CliError {
        CliError::new(exit::NEEDS_PERSON, sentence)
    }

    pub(super) fn runtime(error: io::Error) -> CliError {
        CliError::failed(format!("cannot start the runtime: {error}"))
    }

    pub(super) fn unwritable(path: &Path) -> impl Fn(io::Error) -> CliError {
        move |error| CliError::failed(format!("cannot write {}: {error}", path.display()))
    }

    /// The daemon holds the lock, and does not answer.
    pub(super) fn unanswered(socket: &Path, error: impl Display) -> CliError {
        CliError::temporary(format!("the daemon does not answer at {}: {error}", socket.display()))
    }

    /// The error for a request that the daemon refused; none where it accepted.
    pub(super) fn refusal(reply: &ControlReply) -> Option<CliError> {
        let code = if matches!(reply, ControlReply::Busy { .. }) { exit::TEMPORARY } else { exit::FAILED };
        reply.refusal().map(|sentence| CliError::new(code, sentence))
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> CliError {
        let code = match &error {
            StoreError::Occupied(_) => exit::USAGE,
            error if error.is_transient() => exit::TEMPORARY,
            _ => exit::FAILED,
        };
        CliError::new(code, error)
    }
}

impl From<LockError> for CliError {
    fn from(error: LockError) -> CliError {
        let code = match &error {
            LockError::Taken(_) => exit::TEMPORARY,
            LockError::Io { .. } => exit::FAILED,
        };
        CliError::new(code, error)
    }
}

impl From<Problem> for CliError {
    fn from(problem: Problem) -> CliError {
        CliError::config(problem)
    }
}
