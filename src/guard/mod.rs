//! The guard against SSRF: decides which addresses a task may reach, and is the only place that decides it.
//!
//! Every URL passes [`Guard::check_url`] before it is requested. Every connection is made by [`Guard::connect`], which
//! resolves, checks and connects in one step. Only the client of alerts (`robot/webhook.rs`) connects by itself, to
//! addresses that [`Guard::resolve`] has resolved and checked.

mod never;
pub mod proxy;
mod public;
#[cfg(test)]
pub mod test_overrides;
#[cfg(test)]
pub mod tests;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use url::{Host, Url};

use crate::model::address::MAX_URL_BYTES;
use crate::model::private_grant::is_local_name;
use crate::model::shortage::{in_words, shortage};
use crate::model::task::Engine;
use crate::model::{AddressGrants, ConnectError, Refusal, Script, Task};
use never::{is_loopback, is_metadata, is_one_of, is_unspecified};

pub use public::is_global;

/// How many addresses of one host name are tried; further ones are ignored.
const MAX_ADDRESSES: usize = 16;

const NO_ADDRESS: &str = "the name has no address";

#[derive(Clone, Debug)]
pub struct Guard {
    /// The hosts of the task, in lower case; `*.example.org` stands for all names under it.
    hosts: BTreeSet<String>,
    /// Of config.toml; they hold for the hosts of the task and for its proxy.
    grants: AddressGrants,
    /// Whether every private address is allowed: for targets that config.toml itself names or allows.
    allow_private: bool,
    /// Whether connections to other public hosts are allowed: a browser's pages load scripts and data from them.
    allow_subresources: bool,
    /// Host and port of `fetch.proxy`.
    proxy: Option<(String, u16)>,
    /// Host names that a test resolves itself, and addresses that it counts as public.
    #[cfg(test)]
    pub test_overrides: test_overrides::TestOverrides,
}

impl Guard {
    /// The hosts are those of `fetch.allow_hosts`, or else those named in the task's URL and in its script.
    pub fn new(task: &Task, script: &Script, grants: &AddressGrants) -> Guard {
        let in_script = || script.addresses().into_iter().filter_map(|text| Url::parse(&text).ok());
        let named = || task.url.iter().cloned().chain(in_script());
        let hosts = match &task.fetch.allow_hosts {
            Some(hosts) => hosts.iter().map(|host| canonical(host)).collect(),
            None => named().filter_map(|url| url.host_str().map(str::to_owned)).collect(),
        };
        Guard {
            hosts,
            grants: grants.clone(),
            allow_private: false,
            allow_subresources: task.fetch.engine == Engine::Browser,
            proxy: task.fetch.proxy.as_deref().and_then(proxy::host_and_port),
            #[cfg(test)]
            test_overrides: Default::default(),
        }
    }

    /// For one host that the configuration names, such as an alert's hook.
    pub fn for_host(host: &str, allow_private: bool, daemon_ports: &BTreeSet<u16>) -> Guard {
        Guard {
            hosts: BTreeSet::from([canonical(host)]),
            grants: AddressGrants { daemon_ports: daemon_ports.clone(), ..AddressGrants::default() },
            allow_private,
            allow_subresources: false,
            proxy: None,
            #[cfg(test)]
            test_overrides: Default::default(),
        }
    }

    /// Checks scheme, length, host and, where the host is an address, that address. What a host name resolves to, and
    /// whether that is an address of this machine, is checked by [`Guard::connect`].
    pub fn check_url(&self, url: &Url) -> Result<(), Refusal> {
        self.check_host_of(url)?;
        self.check_literal(url)
    }

    /// Checks scheme, length and host of a URL, but no address: what is granted may change after a folder was read.
    pub fn check_host_of(&self, url: &Url) -> Result<(), Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme(url.scheme().to_owned()));
        }
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(Refusal::TooLong(url.as_str().len()));
        }
        let host = url.host().ok_or(Refusal::NoHost)?.to_string();
        if self.is_task_host(&host) { Ok(()) } else { Err(Refusal::Host(host)) }
    }

    /// Checks an address that a URL itself names, without a lookup.
    pub fn check_literal(&self, url: &Url) -> Result<(), Refusal> {
        let host = url.host().ok_or(Refusal::NoHost)?;
        let (name, port) = (host.to_string(), proxy::port_of(url));
        // The url crate has turned every spelling of an address (0x7f.1, 2130706433, full-width dots) into the address.
        let address = match host {
            Host::Ipv4(address) => address.into(),
            Host::Ipv6(address) => address.into(),
            Host::Domain(domain) if is_local_name(domain) => Ipv4Addr::LOCALHOST.into(),
            // Other schemes than http leave an address as a name (`proxy::ip_literal`).
            Host::Domain(_) => match proxy::ip_literal(url) {
                Some(address) => address,
                None => return Ok(()),
            },
        };
        self.check_address(&name, address, port, &BTreeSet::new())
    }

    /// `own` are the addresses of this machine. A sandboxed run cannot list them; its parent, which connects, does.
    fn check_address(&self, host: &str, address: IpAddr, port: u16, own: &BTreeSet<IpAddr>) -> Result<(), Refusal> {
        let host = || host.to_owned();
        if is_metadata(address) {
            return Err(Refusal::Metadata { host: host(), address });
        }
        let is_own = is_unspecified(address) || is_one_of(address, own);
        if (is_own || is_loopback(address)) && self.grants.daemon_ports.contains(&port) {
            return Err(Refusal::DaemonPort { host: host(), port });
        }
        if self.allow_private {
            return Ok(());
        }
        if is_own {
            return Err(Refusal::OwnAddress { host: host(), address });
        }
        let has_grants = self.is_task_host(&host()) || self.is_proxy(&host(), port);
        if self.is_public(address) || has_grants && self.grants.allow(&host(), address, port) {
            return Ok(());
        }
        Err(Refusal::Private { host: host(), address, port, task: self.grants.task.clone() })
    }

    fn is_proxy(&self, host: &str, port: u16) -> bool {
        self.proxy.as_ref().is_some_and(|(name, at)| name == host && *at == port)
    }

    fn is_public(&self, address: IpAddr) -> bool {
        #[cfg(test)]
        if self.test_overrides.public.contains(&address) {
            return true;
        }
        is_global(address)
    }

    async fn lookup(&self, host: &str) -> std::io::Result<Vec<SocketAddr>> {
        #[cfg(test)]
        if let Some(answer) = self.test_overrides.next_resolution(host) {
            return Ok(answer);
        }
        Ok(tokio::net::lookup_host((host, 0)).await?.collect())
    }

    /// Checks a subresource of a page in the browser engine. It may come from any public host; grants hold for the
    /// task's own hosts only.
    pub fn check_subresource(&self, url: &Url) -> Result<(), Refusal> {
        if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
            return Err(Refusal::Scheme(url.scheme().to_owned()));
        }
        self.check_literal(url)
    }

    /// Resolves, checks and connects in one step, so that DNS rebinding cannot change the address in between. A host
    /// that the task may not reach is not even resolved.
    pub async fn connect(&self, host: &str, port: u16, patience: Duration) -> Result<TcpStream, ConnectError> {
        if !self.allow_subresources && !self.is_task_host(host) && !self.is_proxy(host, port) {
            return Err(ConnectError::Refused(Refusal::Host(host.to_owned())));
        }
        tokio::time::timeout(patience, self.try_each(host, port)).await.unwrap_or(Err(ConnectError::TooLong))
    }

    /// Resolves and checks, for a client that connects by itself. It must connect to these addresses only.
    pub async fn resolve(&self, host: &str, port: u16, patience: Duration) -> Result<Vec<SocketAddr>, ConnectError> {
        if !self.is_task_host(host) {
            return Err(ConnectError::Refused(Refusal::Host(host.to_owned())));
        }
        let found =
            tokio::time::timeout(patience, self.addresses(host, port)).await.unwrap_or(Err(ConnectError::TooLong))?;
        if found.is_empty() { Err(ConnectError::Name(NO_ADDRESS.to_owned())) } else { Ok(found) }
    }

    async fn try_each(&self, host: &str, port: u16) -> Result<TcpStream, ConnectError> {
        let mut last = ConnectError::Name(NO_ADDRESS.to_owned());
        for address in self.addresses(host, port).await? {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // Without Nagle's algorithm; if the option cannot be set, sending is slower but works.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    last = ConnectError::Declined(error.to_string())
                }
                Err(error) if shortage(&error).is_some() => return Err(ConnectError::Shortage(in_words(&error))),
                Err(error) => last = ConnectError::Connection(error.to_string()),
            }
        }
        Err(last)
    }

    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, ConnectError> {
        #[cfg(test)]
        if let Some(server) = self.test_overrides.server_for(host) {
            return Ok(vec![server]);
        }
        let found: Vec<SocketAddr> = match Host::parse(host) {
            Ok(Host::Ipv4(address)) => vec![(address, port).into()],
            Ok(Host::Ipv6(address)) => vec![(address, port).into()],
            Ok(Host::Domain(name)) => {
                let found = self.lookup(&name).await.map_err(|error| ConnectError::Name(error.to_string()))?;
                found.into_iter().take(MAX_ADDRESSES).map(|it| SocketAddr::new(it.ip(), port)).collect()
            }
            Err(error) => return Err(ConnectError::Name(error.to_string())),
        };
        let own = self.own_addresses(&found)?;
        // One private address rejects the host name: a mixed DNS answer is how a rebinding attack begins.
        for address in &found {
            self.check_address(host, address.ip(), port, &own).map_err(ConnectError::Refused)?;
        }
        Ok(found)
    }

    /// The addresses of this machine; not needed where all addresses found are loopback. If they cannot be listed,
    /// nothing is reached.
    fn own_addresses(&self, found: &[SocketAddr]) -> Result<BTreeSet<IpAddr>, ConnectError> {
        #[cfg(test)]
        if !self.test_overrides.own.is_empty() {
            return Ok(self.test_overrides.own.clone());
        }
        if found.iter().all(|it| is_loopback(it.ip())) {
            return Ok(BTreeSet::new());
        }
        never::own_addresses().map_err(|error| match shortage(&error) {
            Some(_) => ConnectError::Shortage(in_words(&error)),
            None => ConnectError::Connection(format!("listing the addresses of this machine failed: {error}")),
        })
    }

    /// Whether one of the task's hosts is a subdomain of `domain`, and so receives its cookies.
    pub fn has_task_host_under(&self, domain: &str) -> bool {
        self.hosts.iter().any(|host| host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')))
    }

    /// Whether the task's list of hosts contains this one, exactly, by a `*.` pattern, or with or without `www.`.
    pub fn is_task_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        // example.org and www.example.org often redirect to each other.
        let twin = host.strip_prefix("www.").map_or_else(|| format!("www.{host}"), str::to_owned);
        let mut parents = host.match_indices('.').map(|(dot, _)| &host[dot..]);
        self.hosts.contains(host)
            || self.hosts.contains(&twin)
            || parents.any(|parent| self.hosts.contains(&format!("*{parent}")))
    }
}

/// A host as the url crate would spell it: lower case, punycode, addresses normalised.
fn canonical(host: &str) -> String {
    let (star, rest) = host.strip_prefix("*.").map_or(("", host), |rest| ("*.", rest));
    let name = Host::parse(rest).map_or_else(|_| rest.to_ascii_lowercase(), |host| host.to_string());
    format!("{star}{name}")
}
