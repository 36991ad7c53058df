//! The guard against SSRF: decides which addresses a task may reach, and is the only place that decides it.
//!
//! Every URL passes [`Guard::check_url`] before it is requested. Every connection is made by [`Guard::connect`], which
//! resolves, checks and connects in one step. Only the client of alerts (`robot/webhook.rs`) connects by itself, to
//! addresses that [`Guard::resolve`] has resolved and checked.

pub mod proxy;
mod public;
#[cfg(test)]
pub mod test_overrides;
#[cfg(test)]
pub mod tests;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use url::{Host, Url};

use crate::model::address::MAX_URL_BYTES;
use crate::model::shortage::{in_words, shortage};
use crate::model::task::Engine;
use crate::model::{ConnectError, Refusal, Script, ScriptStep, Task};

pub use public::is_global;

/// How many addresses of one host name are tried; further ones are ignored.
const MAX_ADDRESSES: usize = 16;

const NO_ADDRESS: &str = "the name has no address";

#[derive(Clone, Debug)]
pub struct Guard {
    /// The hosts of the task, in lower case; `*.example.org` stands for all names under it.
    hosts: BTreeSet<String>,
    allow_private: bool,
    /// Whether connections to other public hosts are allowed: a browser's pages load scripts and data from them.
    allow_subresources: bool,
    /// The host of `fetch.proxy`.
    proxy: Option<String>,
    /// Host names that a test resolves itself, and addresses that it counts as public.
    #[cfg(test)]
    pub test_overrides: test_overrides::TestOverrides,
}

impl Guard {
    /// The hosts are those of `fetch.allow_hosts`, or else those named in the task's URL and in its script.
    pub fn new(task: &Task, script: &Script) -> Guard {
        let named = || task.url.iter().filter_map(|url| url.host_str().map(str::to_owned)).chain(hosts_of(script));
        let hosts = match &task.fetch.allow_hosts {
            Some(hosts) => hosts.iter().map(|host| canonical(host)).collect(),
            None => named().collect(),
        };
        Guard {
            hosts,
            allow_private: task.fetch.allow_private,
            allow_subresources: task.fetch.engine == Engine::Browser,
            proxy: task.fetch.proxy.as_deref().and_then(proxy::host),
            #[cfg(test)]
            test_overrides: Default::default(),
        }
    }

    /// For one host that the configuration names, such as an alert's hook.
    pub fn for_host(host: &str, allow_private: bool) -> Guard {
        Guard {
            hosts: BTreeSet::from([canonical(host)]),
            allow_private,
            allow_subresources: false,
            proxy: None,
            #[cfg(test)]
            test_overrides: Default::default(),
        }
    }

    /// Checks scheme, length and host of a URL. What a host name resolves to is checked by [`Guard::connect`].
    pub fn check_url(&self, url: &Url) -> Result<(), Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme(url.scheme().to_owned()));
        }
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(Refusal::TooLong(url.as_str().len()));
        }
        let host = url.host().ok_or(Refusal::NoHost)?;
        let name = host.to_string();
        // The url crate has turned every spelling of an address (0x7f.1, 2130706433, full-width dots) into the address.
        match host {
            Host::Ipv4(address) => self.check_address(&name, address.into())?,
            Host::Ipv6(address) => self.check_address(&name, address.into())?,
            Host::Domain(_) => {}
        }
        if self.is_task_host(&name) { Ok(()) } else { Err(Refusal::Host(name)) }
    }

    pub fn check_address(&self, host: &str, address: IpAddr) -> Result<(), Refusal> {
        if self.allow_private || self.is_public(address) {
            Ok(())
        } else {
            Err(Refusal::Private { host: host.to_owned(), address })
        }
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

    /// Checks a subresource of a page in the browser engine. It may come from any public host; `allow_private` holds
    /// for the task's own hosts only.
    pub fn check_subresource(&self, url: &Url) -> Result<(), Refusal> {
        if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
            return Err(Refusal::Scheme(url.scheme().to_owned()));
        }
        let host = url.host().ok_or(Refusal::NoHost)?;
        let name = host.to_string();
        match host {
            Host::Ipv4(address) => self.check_host_address(&name, address.into()),
            Host::Ipv6(address) => self.check_host_address(&name, address.into()),
            Host::Domain(_) => Ok(()),
        }
    }

    /// Resolves, checks and connects in one step, so that DNS rebinding cannot change the address in between. A host
    /// that the task may not reach is not even resolved.
    pub async fn connect(&self, host: &str, port: u16, patience: Duration) -> Result<TcpStream, ConnectError> {
        if !self.allow_subresources && !self.is_task_host(host) && self.proxy.as_deref() != Some(host) {
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
        // One private address rejects the host name: a mixed DNS answer is how a rebinding attack begins.
        for address in &found {
            self.check_host_address(host, address.ip()).map_err(ConnectError::Refused)?;
        }
        Ok(found)
    }

    /// `allow_private` holds for the task's own hosts and its proxy; all other hosts must be public.
    fn check_host_address(&self, host: &str, address: IpAddr) -> Result<(), Refusal> {
        let public = || Refusal::Private { host: host.to_owned(), address };
        if self.is_task_host(host) || self.proxy.as_deref() == Some(host) {
            self.check_address(host, address)
        } else {
            self.is_public(address).then_some(()).ok_or_else(public)
        }
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

/// The hosts of the URLs in the script; a URL whose host comes from a variable is left out.
fn hosts_of(script: &Script) -> impl Iterator<Item = String> {
    let address = |step: &ScriptStep| match step {
        ScriptStep::Get(ask) | ScriptStep::Post(ask) => Some(ask.url.clone()),
        ScriptStep::Login(login) => login.url.clone(),
        ScriptStep::Paginate(paginate) => paginate.url.clone(),
        _ => None,
    };
    let addresses = script.every_step().into_iter().filter_map(address).collect::<Vec<String>>();
    addresses.into_iter().filter_map(|text| Url::parse(&text).ok()?.host_str().map(str::to_owned))
}

/// A host as the url crate would spell it: lower case, punycode, addresses normalised.
fn canonical(host: &str) -> String {
    let (star, rest) = host.strip_prefix("*.").map_or(("", host), |rest| ("*.", rest));
    let name = Host::parse(rest).map_or_else(|_| rest.to_ascii_lowercase(), |host| host.to_string());
    format!("{star}{name}")
}
