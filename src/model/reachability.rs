//! Why an address is not reached.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// What the guard says no to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    #[error("`{0}:` addresses are never fetched, only http and https")]
    Scheme(String),
    #[error("the address has no host")]
    NoHost,
    #[error("the address has {0} bytes; none of a site's own is so long")]
    TooLong(usize),
    #[error(
        "the host {0} is not one of this task's; add it to `fetch.allow_hosts` in task.toml if it belongs to the site"
    )]
    Host(String),
    #[error(
        "{host} is at {address}, which is not a public address; set `fetch.allow_private = true` in task.toml if that is meant"
    )]
    Private { host: String, address: IpAddr },
}

/// Why no connection was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ConnectError {
    #[error("{0}")]
    Refused(Refusal),
    #[error("{0}")]
    Name(String),
    /// The host is there and wants no connection: nothing has been sent.
    #[error("{0}")]
    Declined(String),
    #[error("{0}")]
    Connection(String),
    #[error("it takes too long")]
    TooLong,
    /// Whoever connects has no descriptor left: no fault of the host's.
    #[error("{0}")]
    Shortage(String),
}
