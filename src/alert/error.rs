//! Errors of a delivery.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use super::target::TargetError;

/// Why a delivery failed. Contains no secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct DeliveryError {
    pub sentence: String,
    /// The pause that the server asked for.
    pub retry_after: Option<Duration>,
}

impl From<String> for DeliveryError {
    fn from(sentence: String) -> DeliveryError {
        DeliveryError { sentence, retry_after: None }
    }
}

/// Why an attempt failed. The sentence may contain a secret of the target's address.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttemptError {
    #[error("{}; {}", .0.message, .0.hint)]
    Target(#[from] TargetError),
    #[error(
        "the secret `{name}` must not be sent to {there}: config.toml grants it for {granted}; \
         if it belongs there, add \"{there}\" to `origins` under [secret.{name}]"
    )]
    SecretElsewhere { name: String, there: String, granted: String },
    #[error("a secret cannot be a part of a mail address or of a command's name")]
    SecretInName,
    #[error("the target is not a valid address")]
    NoAddress,
    #[error("config.toml lists no command `{0}` under [alert.exec]")]
    UnknownCommand(String),
    #[error("starting the command failed: {0}")]
    Spawn(io::Error),
    #[error("the command was killed after {} s", .0.as_secs())]
    Killed(Duration),
    #[error("the command ended with {status}{}", after_colon(stderr))]
    Exit { status: ExitStatus, stderr: String },
    #[error("config.toml names no mail server: write host and from under [smtp]")]
    NoMailServer,
    #[error("smtp.host is not a valid name for TLS")]
    MailServerName,
    #[error("smtp.from of config.toml is not a mail address")]
    Sender,
    #[error("the recipient is not a mail address")]
    Recipient,
    /// An error of the connection, the mail server or the machine, in its own words.
    #[error("{0}")]
    Transport(String),
    #[error("the server answered {status}{}{}", redirect_hint(*status), after_colon(body))]
    Answer { status: u16, body: String, retry_after: Option<Duration> },
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
}

impl AttemptError {
    pub(super) fn transport(error: impl ToString) -> AttemptError {
        AttemptError::Transport(error.to_string())
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            AttemptError::Answer { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn redirect_hint(status: u16) -> &'static str {
    match status {
        300..400 => " (redirects are not followed: write the final address)",
        _ => "",
    }
}
