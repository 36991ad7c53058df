//! The address of a task's upstream proxy (`fetch.proxy`). Pure.

use std::net::IpAddr;

use url::{Host, Url};

use crate::model::script::variables::{self, TemplatePart, VariableError};

const SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

/// Why a proxy's address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    #[error(transparent)]
    Variable(#[from] VariableError),
    #[error("a proxy's address can contain secrets (`${{secret:NAME}}`), but no variables")]
    HasVariables,
    #[error("it is not a URL: {0}")]
    Malformed(#[from] url::ParseError),
    #[error("it is not a URL")]
    NotAUri,
    #[error("a proxy's URL begins with http, https or socks5, not {0}")]
    Scheme(String),
    #[error("the address has no host")]
    NoHost,
}

/// Parses the setting with a letter in place of each secret.
pub fn without_secrets(text: &str) -> Result<Url, ProxyError> {
    let mut plain = String::new();
    for part in variables::parse(text)? {
        match part {
            TemplatePart::Text(text) => plain.push_str(text),
            TemplatePart::Secret(_) => plain.push('x'),
            TemplatePart::Variable(_) | TemplatePart::Today(_) => return Err(ProxyError::HasVariables),
        }
    }
    parse_url(&plain)
}

/// Parses the address, in which secrets are filled in.
pub fn parse_url(text: &str) -> Result<Url, ProxyError> {
    let url = Url::parse(text)?;
    if !SCHEMES.contains(&url.scheme()) {
        return Err(ProxyError::Scheme(url.scheme().to_owned()));
    }
    if url.host().is_none() {
        return Err(ProxyError::NoHost);
    }
    Ok(url)
}

/// The host if it is an IP address. The url crate recognises unusual spellings only in http and https URLs, so they are
/// parsed again.
pub(super) fn ip_literal(url: &Url) -> Option<IpAddr> {
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

/// The port of a URL, or the default of its scheme.
pub fn port_of(url: &Url) -> u16 {
    url.port_or_known_default().unwrap_or(if url.scheme().starts_with("socks") { 1080 } else { 80 })
}

/// Host and port of a proxy's address. Its user and password may be secrets (`${secret:NAME}`), its host may not.
pub(super) fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (scheme, rest) = text.split_once("://")?;
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let url = Url::parse(&format!("{scheme}://{place}")).ok()?;
    // As the url crate spells the host of an http URL, and as the run asks for it.
    let host = Host::parse(url.host_str()?).ok()?.to_string();
    Some((host, port_of(&url)))
}
