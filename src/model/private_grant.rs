//! The non-public addresses that config.toml grants to a task.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Host;

/// Part of every sentence about a missing grant.
pub const PRIVATE_TABLE: &str = "under [private] in config.toml";

/// One entry of `[private]`: a host name, an address or a network, always with its port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PrivateGrant {
    target: GrantTarget,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GrantTarget {
    /// Whatever the name resolves to.
    Name(String),
    /// `base` has no bits behind the prefix.
    Network { base: IpAddr, prefix: u8 },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrivateGrantError {
    #[error("`{0}` names no port; a grant is for one port of a host or network")]
    Port(String),
    #[error("`{0}` is not a host, an address or a network with a port")]
    Target(String),
}

impl PrivateGrantError {
    pub const HINT: &str = "write \"127.0.0.1:8643\", \"shop.internal:80\", \"10.1.0.0/16:443\" or \"[fd00::/8]:443\"";
}

/// What config.toml says about the addresses of one task. The parent of a run decides by its own copy, so that the
/// child cannot widen it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressGrants {
    /// The task's name, for the line that an error tells to add.
    pub task: String,
    pub granted: Vec<PrivateGrant>,
    /// The ports on which the daemon itself listens; no task reaches them.
    pub daemon_ports: BTreeSet<u16>,
}

impl AddressGrants {
    pub fn allow(&self, host: &str, address: IpAddr, port: u16) -> bool {
        self.granted.iter().any(|grant| grant.allows(host, address, port))
    }
}

impl PrivateGrant {
    /// Loopback is reached only by a grant that names loopback itself: neither by a name that resolves to it nor by a
    /// network around it.
    fn allows(&self, host: &str, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        let names_loopback = match &self.target {
            GrantTarget::Name(name) => is_local_name(name),
            GrantTarget::Network { base, .. } => base.is_loopback(),
        };
        let matches = match &self.target {
            GrantTarget::Name(name) => name == host.trim_end_matches('.'),
            GrantTarget::Network { base, prefix } => masked(address, *prefix) == Some(*base),
        };
        self.port == port && matches && (names_loopback || !address.is_loopback())
    }

    /// The grant that allows this host at this port, where it resolves to this address.
    pub fn needed_for(host: &str, address: IpAddr, port: u16) -> String {
        let names_itself = is_local_name(host) || !address.to_canonical().is_loopback() || is_literal(host);
        match address {
            _ if names_itself => format!("{host}:{port}"),
            IpAddr::V4(address) => format!("{address}:{port}"),
            IpAddr::V6(address) => format!("[{address}]:{port}"),
        }
    }
}

/// The line of `[private]` that grants these entries to a task.
pub fn private_line(task: &str, entries: &[String]) -> String {
    let quoted: Vec<String> = entries.iter().map(|entry| format!("\"{entry}\"")).collect();
    let task = if task.is_empty() { "TASK" } else { task };
    format!("\"{task}\" = [{}]", quoted.join(", "))
}

/// `localhost` and the names under it always mean this machine.
pub fn is_local_name(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host == "localhost" || host.ends_with(".localhost")
}

fn is_literal(host: &str) -> bool {
    matches!(Host::parse(host), Ok(Host::Ipv4(_) | Host::Ipv6(_)))
}

/// The first `prefix` bits of the address; `None` if it has fewer.
fn masked(address: IpAddr, prefix: u8) -> Option<IpAddr> {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(address) => {
            let rest = 32_u32.checked_sub(prefix)?;
            Some(Ipv4Addr::from(u32::from(address) & u32::MAX.checked_shl(rest).unwrap_or(0)).into())
        }
        IpAddr::V6(address) => {
            let rest = 128_u32.checked_sub(prefix)?;
            Some(Ipv6Addr::from(u128::from(address) & u128::MAX.checked_shl(rest).unwrap_or(0)).into())
        }
    }
}

fn network(text: &str) -> Option<GrantTarget> {
    let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.map_or(Some(most), |prefix| prefix.parse().ok())?;
    // ::ffff:127.0.0.1 is compared as 127.0.0.1.
    let address = if prefix == most { address.to_canonical() } else { address };
    let prefix = if prefix == most && address.is_ipv4() { 32 } else { prefix };
    Some(GrantTarget::Network { base: masked(address, prefix)?, prefix })
}

fn target(text: &str) -> Option<GrantTarget> {
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.contains(':').then(|| network(inner)).flatten();
    }
    if text.contains(':') {
        return None;
    }
    if text.contains('/') {
        return network(text);
    }
    match Host::parse(text).ok()? {
        Host::Ipv4(address) => Some(GrantTarget::Network { base: address.into(), prefix: 32 }),
        Host::Ipv6(_) => None,
        Host::Domain(name) if name.contains('*') => None,
        Host::Domain(name) => Some(GrantTarget::Name(name.trim_end_matches('.').to_owned())),
    }
}

impl FromStr for PrivateGrant {
    type Err = PrivateGrantError;

    fn from_str(text: &str) -> Result<PrivateGrant, PrivateGrantError> {
        let shown = || text.chars().take(80).collect();
        // The colons of an IPv6 address are in brackets.
        let split = text.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        let (before, port) = split.ok_or_else(|| PrivateGrantError::Port(shown()))?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(|| PrivateGrantError::Port(shown()))?;
        let target = target(before).ok_or_else(|| PrivateGrantError::Target(shown()))?;
        Ok(PrivateGrant { target, port })
    }
}

impl fmt::Display for PrivateGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        match &self.target {
            GrantTarget::Name(name) => write!(f, "{name}:{port}"),
            GrantTarget::Network { base: IpAddr::V4(base), prefix: 32 } => write!(f, "{base}:{port}"),
            GrantTarget::Network { base: IpAddr::V4(base), prefix } => write!(f, "{base}/{prefix}:{port}"),
            GrantTarget::Network { base: IpAddr::V6(base), prefix: 128 } => write!(f, "[{base}]:{port}"),
            GrantTarget::Network { base: IpAddr::V6(base), prefix } => write!(f, "[{base}/{prefix}]:{port}"),
        }
    }
}

impl TryFrom<String> for PrivateGrant {
    type Error = PrivateGrantError;

    fn try_from(text: String) -> Result<PrivateGrant, PrivateGrantError> {
        text.parse()
    }
}

impl From<PrivateGrant> for String {
    fn from(grant: PrivateGrant) -> String {
        grant.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_allows_its_own_host_and_port_and_nothing_else() {
        for (grant, host, address, port, expected) in [
            ("127.0.0.1:8643", "127.0.0.1", "127.0.0.1", 8643, true),
            ("127.0.0.1:8643", "127.0.0.1", "127.0.0.1", 8642, false),
            ("127.0.0.1:8643", "shop.test", "127.0.0.1", 8643, true),
            ("127.0.0.1:8643", "127.0.0.2", "127.0.0.2", 8643, false),
            ("127.0.0.1:8643", "[::ffff:7f00:1]", "::ffff:127.0.0.1", 8643, true),
            ("localhost:80", "localhost", "127.0.0.1", 80, true),
            ("localhost:80", "localhost", "::1", 80, true),
            ("localhost:80", "127.0.0.1", "127.0.0.1", 80, false),
            ("127.0.0.0/8:80", "a.test", "127.3.0.1", 80, true),
            ("0.0.0.0/0:80", "a.test", "10.0.0.1", 80, true),
            ("0.0.0.0/0:80", "a.test", "127.0.0.1", 80, false),
            ("[::/0]:80", "a.test", "::1", 80, false),
            ("[::1]:80", "[::1]", "::1", 80, true),
            ("a.internal:80", "a.internal", "10.0.0.1", 80, true),
            ("a.internal:80", "a.internal.", "10.0.0.1", 80, true),
            ("A.Internal:80", "a.internal", "10.0.0.1", 80, true),
            ("a.internal:80", "b.internal", "10.0.0.1", 80, false),
            ("a.internal:80", "a.internal", "127.0.0.1", 80, false),
            ("10.1.2.3/16:443", "x.test", "10.1.9.9", 443, true),
            ("10.1.2.3/16:443", "x.test", "10.2.0.0", 443, false),
            ("[fd00::/8]:80", "x.test", "fd12::1", 80, true),
            ("[fd00::/8]:80", "x.test", "fe80::1", 80, false),
            ("[fd00::/8]:80", "x.test", "10.0.0.1", 80, false),
        ] {
            let read: PrivateGrant = grant.parse().expect(grant);
            let address: IpAddr = address.parse().expect("an address");
            assert_eq!(read.allows(host, address, port), expected, "{grant}: {host} {address}:{port}");
            assert_eq!(read.to_string().parse(), Ok(read), "{grant}");
        }
    }

    #[test]
    fn what_names_no_port_or_no_host_is_an_error() {
        for text in ["127.0.0.1", "[::1]", "shop.internal", "a:0", "a:*", "a:99999", "", "10.0.0.0/8"] {
            assert_eq!(text.parse::<PrivateGrant>(), Err(PrivateGrantError::Port(text.to_owned())), "{text}");
        }
        for text in ["::1:80", "*:80", "*.internal:80", ":80", "10.0.0.0/33:80", "http://a:80", "[a]:80", "a/8:80"] {
            assert_eq!(text.parse::<PrivateGrant>(), Err(PrivateGrantError::Target(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn the_entry_that_an_error_names_is_the_one_that_helps() {
        for (host, address, entry) in [
            ("127.0.0.1", "127.0.0.1", "127.0.0.1:80"),
            ("[::1]", "::1", "[::1]:80"),
            ("localhost", "127.0.0.1", "localhost:80"),
            ("a.internal", "10.0.0.1", "a.internal:80"),
            ("a.internal", "127.0.1.1", "127.0.1.1:80"),
            ("a.internal", "::1", "[::1]:80"),
        ] {
            let address: IpAddr = address.parse().expect("an address");
            let needed = PrivateGrant::needed_for(host, address, 80);
            assert_eq!(needed, entry);
            assert!(needed.parse::<PrivateGrant>().is_ok_and(|grant| grant.allows(host, address, 80)), "{entry}");
        }
        assert_eq!(private_line("shop", &["a:1".to_owned(), "b:2".to_owned()]), "\"shop\" = [\"a:1\", \"b:2\"]");
    }
}
