//! Sends one webhook request to a URL from the configuration: no cookies, no redirects, no robots.txt, and the same
//! guard as every other request.
//!
//! The daemon sends it with reqwest's own client, which connects by itself, but only to addresses that the guard has
//! resolved and checked. An IP address as host is never resolved; the guard checks it as part of the URL. A run cannot
//! use this client: its sandbox allows no sockets (`robot/client.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::client::system_tls_config;
use super::connection_error::{causes, connect_failure, root_cause};
use super::transport::USER_AGENT;
use crate::guard::Guard;
use crate::model::shortage::in_words;
use crate::model::{ConnectError, Refusal};

/// How much of a response's body is reported.
const MAX_EXCERPT: usize = 200;

/// Has no `Debug`, since it contains tokens.
pub struct WebhookRequest {
    pub url: Url,
    /// PUT instead of POST.
    pub put: bool,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

pub struct WebhookResponse {
    pub status: u16,
    /// The `Retry-After` header, in seconds.
    pub retry_after: Option<Duration>,
    /// The beginning of the body, on one line.
    pub body_excerpt: String,
}

impl WebhookRequest {
    pub fn post(url: Url, json: serde_json::Value) -> WebhookRequest {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        WebhookRequest { url, put: false, headers, body: json.to_string().into_bytes() }
    }

    pub fn put(url: Url, json: serde_json::Value) -> WebhookRequest {
        WebhookRequest { put: true, ..WebhookRequest::post(url, json) }
    }

    pub fn header(&mut self, name: &str, value: String) {
        self.headers.push((name.to_owned(), value));
    }
}

/// Why a webhook request got no response.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("{}", refusal_message(.0))]
    Refused(Refusal),
    #[error(transparent)]
    Connection(ConnectError),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    #[error("the header {0} cannot be sent: it has characters that HTTP does not allow")]
    Header(String),
    #[error("{0}")]
    Exchange(String),
}

impl From<ConnectError> for WebhookError {
    fn from(error: ConnectError) -> WebhookError {
        match error {
            ConnectError::Refused(refusal) => WebhookError::Refused(refusal),
            other => WebhookError::Connection(other),
        }
    }
}

/// Sends the request and reads the beginning of the response. The caller limits the total time.
pub async fn send_webhook(
    webhook_request: WebhookRequest,
    allow_private: bool,
    daemon_ports: &BTreeSet<u16>,
    patience: Duration,
) -> Result<WebhookResponse, WebhookError> {
    let host = webhook_request.url.host_str().unwrap_or_default().to_owned();
    let guard = Guard::for_host(&host, allow_private, daemon_ports);
    guard.check_url(&webhook_request.url).map_err(WebhookError::Refused)?;
    let client = client(&guard, &webhook_request.url, patience).await?;
    let method = if webhook_request.put { reqwest::Method::PUT } else { reqwest::Method::POST };
    let mut request = reqwest::Request::new(method, webhook_request.url);
    *request.headers_mut() = headers(&webhook_request.headers)?;
    *request.body_mut() = Some(webhook_request.body.into());
    let mut answer = client.execute(request).await.map_err(|error| send_error(&error))?;
    let mut said = Vec::new();
    while said.len() < MAX_EXCERPT
        && let Ok(Some(bytes)) = answer.chunk().await
    {
        said.extend_from_slice(&bytes);
    }
    let seconds = answer.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.trim().parse().ok());
    Ok(WebhookResponse {
        status: answer.status().as_u16(),
        retry_after: seconds.map(Duration::from_secs),
        body_excerpt: one_line(&said),
    })
}

/// A client for this one request: it resolves its host to the checked addresses, and no other host.
pub(super) async fn client(guard: &Guard, url: &Url, patience: Duration) -> Result<reqwest::Client, WebhookError> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let addresses = guard.resolve(host, port, patience).await?;
    let mut tls = if url.scheme() == "https" { system_tls_config() } else { empty_tls_config() }?;
    // One request over one connection: HTTP/2 would gain nothing.
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let client = reqwest::Client::builder()
        .dns_resolver(NoLookup)
        .resolve_to_addrs(host, &addresses)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .pool_max_idle_per_host(0)
        .connect_timeout(patience)
        .timeout(patience)
        .user_agent(USER_AGENT)
        .tls_backend_preconfigured(tls);
    client.build().map_err(|error| WebhookError::Exchange(root_cause(&error)))
}

/// For plain http: the machine's root certificates need not be loaded.
fn empty_tls_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(versions.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// Rejects every host name that the guard has not resolved: reqwest must not resolve any by itself.
struct NoLookup;

impl Resolve for NoLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let refusal = ConnectError::Refused(Refusal::Host(name.as_str().to_owned()));
        Box::pin(std::future::ready(Err(refusal.into())))
    }
}

fn send_error(error: &reqwest::Error) -> WebhookError {
    if let Some(missed) = connect_failure(error) {
        return missed.into();
    }
    if error.is_timeout() {
        return ConnectError::TooLong.into();
    }
    let failed =
        causes(error).filter_map(|it| it.downcast_ref::<std::io::Error>()).find(|it| it.raw_os_error().is_some());
    WebhookError::Exchange(failed.map_or_else(|| root_cause(error), in_words))
}

fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim().chars().take(MAX_EXCERPT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// As [`Refusal`]'s own text, but with the setting of config.toml: no task.toml is involved here.
fn refusal_message(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Private { host, address, .. } | Refusal::OwnAddress { host, address } => format!(
            "{host} is at {address}, which is not a public address; \
             set `allow_private = true` under [alert] of config.toml to allow it"
        ),
        Refusal::Scheme(_)
        | Refusal::NoHost
        | Refusal::TooLong(_)
        | Refusal::Host(_)
        | Refusal::Metadata { .. }
        | Refusal::DaemonPort { .. } => refusal.to_string(),
    }
}

fn headers(named: &[(String, String)]) -> Result<HeaderMap, WebhookError> {
    let mut headers = HeaderMap::new();
    for (name, value) in named {
        let bad = || WebhookError::Header(name.clone());
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
