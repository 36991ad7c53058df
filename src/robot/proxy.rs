//! `fetch.proxy`: the upstream HTTP or SOCKS proxy of a task. The proxy resolves host names, so the guard can only
//! check them against the task's list of hosts; the proxy's own address passes the guard like any other.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use hyper::Uri;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use reqwest::header::HeaderValue;
use url::Url;

use super::error::SessionError;
use super::request::SecretNames;
use super::secret_rules::SecretRules;
use crate::guard::Guard;
use crate::guard::proxy::{ProxyError, parse_url, port_of};
use crate::model::GrantedSecret;
use crate::model::script::variables::{self, TemplatePart, VariableScope};

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

/// The proxy of a session. Its address is never part of an error: it may contain a password.
pub fn resolve_setting(
    text: &str,
    secrets: &BTreeMap<String, GrantedSecret>,
    guard: &Guard,
) -> Result<UpstreamProxy, SessionError> {
    let values = VariableScope { variables: &BTreeMap::new(), secrets, today: Utc::now().date_naive() };
    let (mut text, mut used) = (text.to_owned(), SecretNames::new());
    // A secret may contain characters that have a meaning in a URL.
    for part in variables::parse(&text.clone()).map_err(ProxyError::from)? {
        if let TemplatePart::Secret(name) = part {
            used.insert(name.to_owned());
            let spelled = format!("${{secret:{name}}}");
            let value = variables::expand(&spelled, &values).map_err(ProxyError::from)?;
            text = text.replace(
                &spelled,
                &url::form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20"),
            );
        }
    }
    let url = parse_url(&text)?;
    SecretRules::new(secrets).check_names(&used, &url)?;
    guard.check_literal(&url).map_err(|refusal| SessionError::Refused { url: "the proxy".to_owned(), refusal })?;
    from_url(&url).ok_or(SessionError::Proxy(ProxyError::NotAUri))
}

fn from_url(url: &Url) -> Option<UpstreamProxy> {
    let socks = url.scheme().starts_with("socks");
    let uri = format!("{}://{}:{}", url.scheme(), url.host_str()?, port_of(url)).parse().ok()?;
    let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let auth = (!url.username().is_empty())
        .then(|| ProxyAuth { user: plain(url.username()), password: plain(url.password().unwrap_or_default()) });
    Some(UpstreamProxy { uri, auth, socks })
}
