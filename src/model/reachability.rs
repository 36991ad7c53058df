//! Why an address cannot be reached.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::private_grant::{PRIVATE_TABLE, PrivateGrant, private_line};

/// Why the guard refuses an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    #[error("`{0}:` addresses are never fetched; only http and https are allowed")]
    Scheme(String),
    #[error("the address has no host")]
    NoHost,
    #[error("the address is too long ({0} bytes)")]
    TooLong(usize),
    #[error(
        "the host {0} is not allowed for this task; add it to `fetch.allow_hosts` in task.toml if it belongs to the \
         site"
    )]
    Host(String),
    #[error(
        "{host} is at {address}, which is not a public address; to allow it, add `{line}` {table}",
        table = PRIVATE_TABLE,
        line = private_line(.task, &[PrivateGrant::needed_for(.host, *.address, *.port)])
    )]
    Private { host: String, address: IpAddr, port: u16, task: String },
    #[error("{host} is at {address}, a cloud metadata address, which is never reached")]
    Metadata { host: String, address: IpAddr },
    #[error(
        "{host} is at {address}, an address of this machine itself, which is never reached; a site on this machine is \
         reached at a loopback address that is granted {table}",
        table = PRIVATE_TABLE
    )]
    OwnAddress { host: String, address: IpAddr },
    #[error("{host}:{port} is a port of pieme's own daemon, which is never reached")]
    DaemonPort { host: String, port: u16 },
}

/// Why no connection was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ConnectError {
    #[error("{0}")]
    Refused(Refusal),
    #[error("{0}")]
    Name(String),
    /// The host refused the connection: nothing has been sent.
    #[error("{0}")]
    Declined(String),
    #[error("{0}")]
    Connection(String),
    #[error("the connection timed out")]
    TooLong,
    /// The connecting process has no file descriptor left; not the host's fault.
    #[error("{0}")]
    Shortage(String),
}
