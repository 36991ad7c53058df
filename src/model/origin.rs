//! Scheme, host and port of an address. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// With the schemes of `fetch.proxy`, whose address may contain a secret.
const SCHEMES: [&str; 4] = ["https", "http", "socks5", "socks5h"];

/// `https://shop.example` or `http://127.0.0.1:8643`: the only place that a secret may be sent to. A port that is the
/// scheme's default is not written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    #[error("`{0}` has no scheme, or is not an address")]
    Malformed(String),
    #[error("`{0}` does not start with https:// or http:// (or socks5://, for a proxy)")]
    Scheme(String),
    #[error("`{0}` is more than an origin: an origin has no path and no query")]
    Path(String),
    #[error("an origin has no user and no password")]
    Login,
    #[error("`{0}` has a `*`: each origin is written in full")]
    Wildcard(String),
}

impl OriginError {
    pub const HINT: &str = "write scheme, host and, if it is not the usual one, port: \"https://shop.example\" or \
                            \"http://127.0.0.1:8643\"";
}

impl Origin {
    pub fn parse(text: &str) -> Result<Origin, OriginError> {
        let shown = || text.chars().take(80).collect::<String>();
        let url = Url::parse(text).map_err(|_| OriginError::Malformed(shown()))?;
        if !SCHEMES.contains(&url.scheme()) {
            // `shop.example:443` is read as an address with the scheme `shop.example`.
            return Err(if text.contains("://") {
                OriginError::Scheme(shown())
            } else {
                OriginError::Malformed(shown())
            });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OriginError::Login);
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(OriginError::Path(shown()));
        }
        if url.host_str().is_some_and(|host| host.contains('*')) {
            return Err(OriginError::Wildcard(shown()));
        }
        Origin::of(&url).ok_or_else(|| OriginError::Malformed(shown()))
    }

    /// The origin of an address; `None` for one of another scheme, or without a host.
    pub fn of(url: &Url) -> Option<Origin> {
        let scheme = SCHEMES.into_iter().find(|scheme| *scheme == url.scheme())?;
        let (host, default) = match scheme {
            "http" => (url.host_str()?.to_owned(), 80),
            "https" => (url.host_str()?.to_owned(), 443),
            // The url crate normalises the hosts of http and https only.
            _ => (Host::parse(url.host_str()?).ok()?.to_string(), 1080),
        };
        match url.port().filter(|port| *port != default) {
            Some(port) => Some(Origin(format!("{scheme}://{host}:{port}"))),
            None => Some(Origin(format!("{scheme}://{host}"))),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Origin {
    type Error = OriginError;

    fn try_from(text: String) -> Result<Origin, OriginError> {
        Origin::parse(&text)
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> String {
        origin.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_host_and_port_are_an_origin_and_nothing_else_is() {
        for (text, origin) in [
            ("https://shop.example", "https://shop.example"),
            ("https://SHOP.example:443/", "https://shop.example"),
            ("http://127.0.0.1:8643", "http://127.0.0.1:8643"),
            ("http://0x7f.1:80", "http://127.0.0.1"),
            ("http://[::1]:81", "http://[::1]:81"),
            ("socks5://Proxy.example:1080", "socks5://proxy.example"),
            ("socks5h://proxy.example:9", "socks5h://proxy.example:9"),
        ] {
            assert_eq!(Origin::parse(text).as_ref().map(Origin::as_str), Ok(origin), "{text}");
        }
        for text in [
            "",
            "shop.example",
            "shop.example:443",
            "//shop.example",
            "ftp://shop.example",
            "https://",
            "https://shop.example/a",
            "https://shop.example?a",
            "https://shop.example#a",
            "https://me@shop.example",
            "https://:pw@shop.example",
            "https://*.shop.example",
            "https://*",
            "file:///etc/passwd",
        ] {
            assert!(Origin::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn scheme_and_port_tell_origins_apart() {
        let of = |text: &str| Origin::of(&Url::parse(text).expect("a URL")).expect("an origin");
        assert_eq!(of("https://u:p@shop.example/a?b#c"), of("https://shop.example:443/"));
        for other in
            ["http://shop.example/", "https://shop.example:8443/", "https://a.shop.example/", "https://shop.example./"]
        {
            assert_ne!(of("https://shop.example/"), of(other), "{other}");
        }
    }
}
