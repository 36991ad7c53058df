//! `fetch.proxy`: the upstream HTTP or SOCKS proxy of a task. The proxy resolves host names, so the guard can only
//! check them against the task's list of hosts; the proxy's own address passes the guard like any other.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use hyper::Uri;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use reqwest::header::HeaderValue;
use url::{Host, Url};

use super::error::SessionError;
use super::variables::{self, TemplatePart, VariableScope};
use crate::guard::{Guard, is_global};

/// The proxy's address and credentials.
pub struct UpstreamProxy {
    pub uri: Uri,
    pub auth: Option<ProxyAuth>,
    socks: bool,
}

pub struct ProxyAuth {
    user: String,
    password: String,
}

impl ProxyAuth {
    pub fn header(&self) -> HeaderValue {
        basic_auth_header(&self.user, &self.password)
    }
}

/// The header value of HTTP basic authentication.
pub fn basic_auth_header(user: &str, password: &str) -> HeaderValue {
    let pair = STANDARD.encode(format!("{user}:{password}"));
    let mut value = HeaderValue::try_from(format!("Basic {pair}")).expect("base64 is plain letters");
    value.set_sensitive(true);
    value
}

impl UpstreamProxy {
    pub fn is_socks(&self) -> bool {
        self.socks
    }

    /// The proxy resolves host names, also for `socks5`: a sandboxed run cannot resolve any.
    pub fn socks<C>(&self, inner: C) -> SocksV5<C> {
        let socks = SocksV5::new(self.uri.clone(), inner);
        match &self.auth {
            Some(auth) => socks.with_auth(auth.user.clone(), auth.password.clone()),
            None => socks,
        }
    }

    pub fn tunnel<C>(&self, inner: C) -> Tunnel<C> {
        let tunnel = Tunnel::new(self.uri.clone(), inner);
        match &self.auth {
            Some(auth) => tunnel.with_auth(auth.header()),
            None => tunnel,
        }
    }
}

const SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

/// The proxy of a session. Its address is never part of an error: it may contain a password.
pub fn resolve_setting(
    text: &str,
    secrets: &BTreeMap<String, String>,
    guard: &Guard,
) -> Result<UpstreamProxy, SessionError> {
    let values = VariableScope { variables: &BTreeMap::new(), secrets, today: Utc::now().date_naive() };
    let mut text = text.to_owned();
    // A secret may contain characters that have a meaning in a URL.
    for part in variables::parse(&text.clone()).map_err(|error| SessionError::Proxy(error.to_string()))? {
        if let TemplatePart::Secret(name) = part {
            let spelled = format!("${{secret:{name}}}");
            let value = variables::expand(&spelled, &values).map_err(|error| SessionError::Proxy(error.to_string()))?;
            text = text.replace(
                &spelled,
                &url::form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20"),
            );
        }
    }
    let url = parse_url(&text).map_err(SessionError::Proxy)?;
    if let Some(address) = ip_literal(&url) {
        let host = address.to_string();
        guard
            .check_address(&host, address)
            .map_err(|refusal| SessionError::Refused { url: "the proxy".to_owned(), refusal })?;
    }
    from_url(&url).ok_or_else(|| SessionError::Proxy("it is not a URL".to_owned()))
}

fn from_url(url: &Url) -> Option<UpstreamProxy> {
    let socks = url.scheme().starts_with("socks");
    let port = url.port_or_known_default().unwrap_or(if socks { 1080 } else { 80 });
    let uri = format!("{}://{}:{port}", url.scheme(), url.host_str()?).parse().ok()?;
    let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let auth = (!url.username().is_empty())
        .then(|| ProxyAuth { user: plain(url.username()), password: plain(url.password().unwrap_or_default()) });
    Some(UpstreamProxy { uri, auth, socks })
}

/// Checks the setting when the task folder is read.
pub fn check_proxy(text: &str, allow_private: bool) -> Result<(), String> {
    let mut plain = String::new();
    for part in variables::parse(text).map_err(|error| error.to_string())? {
        match part {
            TemplatePart::Text(text) => plain.push_str(text),
            TemplatePart::Secret(_) => plain.push('x'),
            TemplatePart::Variable(_) | TemplatePart::Today(_) => {
                return Err("a proxy's address can contain secrets (`${secret:NAME}`), but no variables".to_owned());
            }
        }
    }
    let url = parse_url(&plain)?;
    match ip_literal(&url).filter(|address| !allow_private && !is_global(*address)) {
        Some(address) => Err(format!(
            "the proxy is at {address}, which is not a public address; set `fetch.allow_private = true` to allow it"
        )),
        None => Ok(()),
    }
}

fn parse_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("it is not a URL: {error}"))?;
    if !SCHEMES.contains(&url.scheme()) {
        return Err(format!("a proxy's URL begins with http, https or socks5, not {}", url.scheme()));
    }
    if url.host().is_none() {
        return Err("the address has no host".to_owned());
    }
    Ok(url)
}

/// The host if it is an IP address. The url crate recognises unusual spellings only in http and https URLs, so they are
/// parsed again.
fn ip_literal(url: &Url) -> Option<std::net::IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(name) => match Host::parse(name).ok()? {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(_) => None,
        },
    }
}
