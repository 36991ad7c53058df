//! Errors of requests and walks, each with the cause that it counts as and a sentence for a person.

use std::time::Duration;

use super::redirect::RedirectError;
use crate::guard::proxy::ProxyError;
use crate::model::{ByteSize, Failure, Page, Refusal, TimeSpan};

/// Why a walk ended early.
#[derive(Clone, Debug)]
pub struct WalkError {
    pub cause: Failure,
    /// One clear sentence with step, address and reason; no secret in it.
    pub sentence: String,
    /// The current page when it happened, for diagnostics.
    pub page: Option<Page>,
    /// A page of the list has no rows or too few. What was read may be right, so the run is quarantined, not failed.
    pub is_incomplete: bool,
}

/// Why a request brought no page.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SessionError {
    #[error("pieme does not connect to {url}: {refusal}")]
    Refused { url: String, refusal: Refusal },
    #[error(
        "the secret `{name}` must not be sent to {there}: config.toml grants it for {granted}; \
         if it belongs there, add \"{there}\" to `origins` under [secret.{name}]"
    )]
    SecretElsewhere { name: String, there: String, granted: String },
    #[error("{from} {error}")]
    Redirect { from: String, error: RedirectError },
    #[error("the site redirected more than {max} times, the last time to {0}", max = super::redirect::MAX_HOPS)]
    TooManyHops(String),
    #[error("the run reached its limit of requests ({0}); raise `limits.max_requests` in task.toml if it needs more")]
    TooManyRequests(u32),
    #[error(
        "{url} is larger than {size}; raise `limits.max_page_bytes` in task.toml to allow it",
        size = ByteSize(*max)
    )]
    TooLarge { url: String, max: u64 },
    #[error(
        "the run reached its time limit while fetching {0}; raise `limits.timeout` in task.toml if it needs longer"
    )]
    Deadline(String),
    #[error("the run reached its time limit while waiting; raise `limits.timeout` in task.toml if it needs longer")]
    DeadlineWhileWaiting,
    #[error("the run reached its time limit while other tasks used {0}; see `per_host` in config.toml")]
    DeadlineWhileQueued(String),
    #[error(
        "{host} must not be requested for another {}, longer than this run may take; the next run tries again",
        whole_seconds(*wait)
    )]
    HostBackoff { host: String, wait: Duration },
    #[error(
        "the robots.txt of {origin} disallows {path}: {rule}; \
         set `fetch.robots_txt = false` in task.toml if the site's owner permits it"
    )]
    RobotsTxt { origin: String, path: String, rule: String },
    #[error("{url} sent no response within {} s", waited.as_secs())]
    NoAnswer { url: String, waited: Duration },
    #[error("no connection to {url} within {} s", waited.as_secs())]
    NoConnection { url: String, waited: Duration },
    #[error("the host name of {url} could not be resolved: {reason}")]
    UnknownHost { url: String, reason: String },
    #[error("the TLS connection to {url} failed: {reason}")]
    Tls { url: String, reason: String },
    #[error("the connection to {url} failed: {reason}")]
    Connection { url: String, reason: String, loss: ConnectionLoss },
    #[error("the connection to {url} could not be opened: {reason}")]
    ResourceShortage { url: String, reason: String },
    #[error("the header `{0}` cannot be sent: its name or value has characters that HTTP does not allow")]
    Header(String),
    #[error("`fetch.proxy` in task.toml cannot be used: {0}")]
    Proxy(#[from] ProxyError),
    #[error(
        "Chromium was not found; install it (Debian: apt install chromium), or set `browser` in config.toml to its path"
    )]
    NoBrowser,
    #[error("`browser` in config.toml is {0}, which does not exist; install Chromium (Debian: apt install chromium)")]
    NoSuchBrowser(String),
    #[error(
        "a browser run is refused as root, where Chromium has no sandbox: run pieme as a user of its own, as the \
         package does"
    )]
    BrowserAsRoot,
    #[error("Chromium did not start: {0}")]
    BrowserStart(String),
    #[error("Chromium exited during the run, at {0}")]
    BrowserGone(String),
    #[error("the page {0} ran out of memory in the browser; raise `limits.memory` in task.toml if it needs more")]
    PageMemory(String),
    #[error("the page {0} crashed in the browser")]
    PageCrashed(String),
    #[error("the scripts of {url} kept the page busy for {} s", waited.as_secs())]
    PageBusy { url: String, waited: Duration },
    #[error("{0} is a file to be downloaded, not a web page")]
    Download(String),
    #[error("the browser failed on {url}: {reason}")]
    Script { url: String, reason: String },
    #[error("`{0}` is not supported yet")]
    Unsupported(&'static str),
}

/// When a connection was lost, which decides whether the request is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionLoss {
    /// Nothing of the request has been sent.
    BeforeSend,
    /// The site may have received the request, but its response is missing or incomplete.
    AfterSend,
    /// The response is malformed; a retry would bring the same.
    InvalidResponse,
}

impl SessionError {
    /// `None` where the connection itself was fine.
    pub fn connection_loss(&self) -> Option<ConnectionLoss> {
        match self {
            SessionError::NoConnection { .. } => Some(ConnectionLoss::BeforeSend),
            SessionError::NoAnswer { .. } => Some(ConnectionLoss::AfterSend),
            SessionError::Connection { loss: lost, .. } => Some(*lost),
            _ => None,
        }
    }

    pub fn cause(&self) -> Failure {
        match self {
            SessionError::Refused { .. }
            | SessionError::SecretElsewhere { .. }
            | SessionError::Redirect { .. }
            | SessionError::NoConnection { .. }
            | SessionError::UnknownHost { .. }
            | SessionError::Connection { .. } => Failure::Network,
            SessionError::TooManyHops(_) | SessionError::Download(_) => Failure::Http,
            SessionError::TooManyRequests(_) | SessionError::TooLarge { .. } => Failure::Limit,
            SessionError::HostBackoff { .. } => Failure::Blocked,
            SessionError::RobotsTxt { .. } => Failure::RobotsTxt,
            SessionError::Deadline(_)
            | SessionError::DeadlineWhileWaiting
            | SessionError::DeadlineWhileQueued(_)
            | SessionError::PageBusy { .. }
            | SessionError::NoAnswer { .. } => Failure::Timeout,
            SessionError::Tls { .. } => Failure::Tls,
            SessionError::Header(_)
            | SessionError::Proxy(_)
            | SessionError::Unsupported(_)
            | SessionError::NoBrowser
            | SessionError::BrowserAsRoot
            | SessionError::NoSuchBrowser(_) => Failure::Config,
            SessionError::PageMemory(_) => Failure::Memory,
            SessionError::PageCrashed(_) | SessionError::BrowserGone(_) => Failure::Crash,
            SessionError::Script { .. } => Failure::Robot,
            SessionError::BrowserStart(_) | SessionError::ResourceShortage { .. } => Failure::Internal,
        }
    }
}

fn whole_seconds(time: Duration) -> TimeSpan {
    TimeSpan::seconds(time.as_secs().max(1))
}
