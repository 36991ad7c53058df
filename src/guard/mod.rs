//! The guard against SSRF: decides which addresses a task may reach, and is the only place that decides it.
//!
//! Every URL passes [`Guard::check_url`] before it is requested. Every connection is made by [`Guard::connect`], which
//! resolves, checks and connects in one step. Only the client of alerts (`robot/webhook.rs`) connects by itself, to
//! addresses that [`Guard::resolve`] has resolved and checked.

#[cfg(test)]
pub mod test_overrides;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use url::{Host, Url};

use crate::model::shortage::{in_words, shortage};
use crate::model::task::Engine;
use crate::model::{ConnectError, Refusal, Script, ScriptStep, Task};

/// Longer than any real URL and short enough to print.
pub const MAX_URL_BYTES: usize = 8 << 10;

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
            proxy: task.fetch.proxy.as_deref().and_then(host_of_proxy),
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

/// The host of a proxy's address. Its user and password may be secrets (`${secret:NAME}`), its host may not.
fn host_of_proxy(text: &str) -> Option<String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let url = Url::parse(&format!("http://{place}")).ok()?;
    url.host_str().map(str::to_owned)
}

/// A host as the url crate would spell it: lower case, punycode, addresses normalised.
fn canonical(host: &str) -> String {
    let (star, rest) = host.strip_prefix("*.").map_or(("", host), |rest| ("*.", rest));
    let name = Host::parse(rest).map_or_else(|_| rest.to_ascii_lowercase(), |host| host.to_string());
    format!("{star}{name}")
}

/// Whether the address belongs to the public Internet, by the IANA special-purpose registries.
pub fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_global_v4(v4),
        IpAddr::V6(v6) => is_global_v6(v6),
    }
}

fn is_global_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = matches!(
        (a, b, c),
        (0 | 10 | 127, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            | (224.., _, _)
    );
    !special
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let last_two = Ipv4Addr::from((u32::from(g) << 16) | u32::from(h));
    match (a, b) {
        // Embedded IPv4: ::ffff:a.b.c.d, and NAT64, by which IPv6-only networks reach the IPv4 Internet.
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0xffff) => is_global_v4(last_two),
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => is_global_v4(last_two),
        // Teredo and other protocol assignments, documentation, 6to4.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x2002, _) | (0x3fff, 0..=0xfff) => false,
        _ => (0x2000..=0x3fff).contains(&a),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn guard(hosts: &[&str], allow_private: bool) -> Guard {
        let hosts = hosts.iter().map(|host| canonical(host)).collect();
        Guard { hosts, allow_private, allow_subresources: false, proxy: None, test_overrides: Default::default() }
    }

    pub const SPELLINGS: &[&str] = &[
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7F.0x0.0x0.0x1",
        "017700000001",
        "0177.0.0.1",
        "0177.1",
        "127.0.0.1.",
        "127.000.000.001",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "１２７.０.０.１",
        "%31%32%37.0.0.1",
        "0",
        "0.0.0.0",
        "0x0",
        "10.0.0.1",
        "10.1",
        "167772161",
        "100.64.0.1",
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "192.168.257",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:10.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::1]",
        "[2002:7f00:1::]",
        "[2001::1]",
        "[2001:db8::1]",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[100::1]",
        "[3fff::1]",
        "[2001:10::1]",
        "[::ffff:0:127.0.0.1]",
    ];

    #[test]
    fn no_spelling_of_a_private_address_passes() {
        assert!(SPELLINGS.len() >= 40);
        for host in SPELLINGS {
            let url = Url::parse(&format!("http://{host}/")).expect("a spelling that browsers accept");
            let host = url.host_str().expect("it has a host").to_owned();
            let refused = guard(&[&host], false).check_url(&url);
            assert!(matches!(refused, Err(Refusal::Private { .. })), "{url}: {refused:?}");
            assert_eq!(guard(&[&host], true).check_url(&url), Ok(()), "{url}: allow_private");
        }
    }

    #[test]
    fn public_addresses_pass_in_every_spelling() {
        for host in
            ["93.184.216.34", "1572395042", "8.8.8.8", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "[64:ff9b::808:808]"]
        {
            let url = Url::parse(&format!("http://{host}/")).expect("an address");
            let host = url.host_str().expect("it has a host").to_owned();
            assert_eq!(guard(&[&host], false).check_url(&url), Ok(()), "{url}");
        }
    }

    #[test]
    fn only_the_hosts_of_the_task_may_be_reached() {
        let guard = guard(&["example.org", "*.shop.test", "BÜCHER.example"], false);
        for (url, allowed) in [
            ("https://example.org/a", true),
            ("https://EXAMPLE.org:8443/a", true),
            ("https://www.example.org/", true),
            ("https://example.org./", true),
            ("https://eu.shop.test/", true),
            ("https://a.b.shop.test/", true),
            ("https://xn--bcher-kva.example/", true),
            ("https://shop.test/", false),
            ("https://notexample.org/", false),
            ("https://example.org.evil.test/", false),
            ("https://sub.example.org/", false),
            ("https://evil.test/?example.org", false),
            ("https://example.org@evil.test/", false),
        ] {
            let url = Url::parse(url).expect("a URL of the table");
            assert_eq!(guard.check_url(&url).is_ok(), allowed, "{url}");
        }
    }

    #[test]
    fn schemes_other_than_http_are_never_fetched() {
        for url in [
            "file:///etc/passwd",
            "ftp://example.org/",
            "data:text/html,x",
            "javascript:alert(1)",
            "gopher://example.org/",
        ] {
            let refused = guard(&["example.org"], true).check_url(&Url::parse(url).expect("a URL of the table"));
            assert!(matches!(refused, Err(Refusal::Scheme(_))), "{url}: {refused:?}");
        }
    }
}
