//! The HTTP client of runs: hyper with reqwest's request and response types, over connections from a [`Connector`].
//!
//! reqwest's own client opens sockets by itself and cannot be given connections (reqwest issue 2633), so a sandboxed
//! run cannot use it. The daemon sends alerts with it (`robot/webhook.rs`).

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::header::HeaderValue;
use reqwest::{Body, Response, ResponseBuilderExt};
use rustls::ClientConfig;
use tower_http::decompression::Decompression;
use tower_service::Service;

use super::connector::Connector;
use super::proxy::{ProxyAuth, UpstreamProxy};
use crate::model::ConnectError;

pub type AnyError = Box<dyn StdError + Send + Sync>;

/// Loads the TLS configuration with the machine's root certificates, at the first https connection.
pub type TlsConfigLoader = Arc<dyn Fn() -> Result<ClientConfig, rustls::Error> + Send + Sync>;

pub struct Client {
    service: Decompression<legacy::Client<ClientConnector, Body>>,
    /// For plain http through a proxy: the proxy reads its own password from each request.
    proxy_auth: Option<HeaderValue>,
}

impl Client {
    pub fn new(
        door: Arc<dyn Connector>,
        patience: Duration,
        proxy: Option<UpstreamProxy>,
        trust: TlsConfigLoader,
    ) -> Client {
        let plain = PlainConnector { connector: door, timeout: patience };
        let proxy_auth =
            proxy.as_ref().filter(|it| !it.is_socks()).and_then(|it| it.auth.as_ref().map(ProxyAuth::header));
        let lines = ClientConnector {
            plain,
            proxy: proxy.map(Arc::new),
            tls: Arc::new(LazyTlsConfig { load: trust, config: OnceLock::new() }),
        };
        let client = legacy::Client::builder(TokioExecutor::new()).build(lines);
        Client { service: Decompression::new(client), proxy_auth }
    }

    /// Sends a request; returns the head of the response.
    pub async fn send(&self, request: reqwest::Request) -> Result<Response, AnyError> {
        let url = request.url().clone();
        let mut request: hyper::Request<Body> = request.try_into()?;
        if let Some(auth) = self.proxy_auth.as_ref().filter(|_| request.uri().scheme_str() == Some("http")) {
            request.headers_mut().insert(reqwest::header::PROXY_AUTHORIZATION, auth.clone());
        }
        // No `poll_ready`: this service is always ready.
        let answer = self.service.clone().call(request).await?;
        let mut answer = answer.map(Body::wrap);
        // Without the URL, reqwest would parse one for each response.
        let told = hyper::Response::builder().url(url).body(())?;
        answer.extensions_mut().extend(told.into_parts().0.extensions);
        Ok(Response::from(answer))
    }
}

/// A TLS configuration with the root certificates that this machine trusts.
pub fn system_tls_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&provider))?;
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(versions.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

struct LazyTlsConfig {
    load: TlsConfigLoader,
    config: OnceLock<Result<ClientConfig, rustls::Error>>,
}

/// Opens the connection for a URL: through the proxy if there is one, with TLS for https.
#[derive(Clone)]
struct ClientConnector {
    plain: PlainConnector,
    proxy: Option<Arc<UpstreamProxy>>,
    tls: Arc<LazyTlsConfig>,
}

impl ClientConnector {
    async fn connect(self, uri: Uri) -> Result<ClientStream, AnyError> {
        let is_safe = uri.scheme_str() == Some("https");
        let Some(proxy) = self.proxy.clone() else {
            return if is_safe {
                self.within_tls(self.plain.clone(), uri).await
            } else {
                self.plain.connect(&uri).await
            };
        };
        if proxy.is_socks() {
            let socks = proxy.socks(self.plain.clone());
            return if is_safe {
                self.within_tls(socks, uri).await
            } else {
                Ok(ClientStream::of(call_service(socks, uri).await?))
            };
        }
        let to_proxy = ClientConnector { proxy: None, ..self.clone() };
        if is_safe {
            return self.within_tls(proxy.tunnel(to_proxy), uri).await;
        }
        Ok(ClientStream { proxied: true, ..Box::pin(to_proxy.connect(proxy.uri.clone())).await? })
    }

    async fn within_tls<S>(&self, inner: S, uri: Uri) -> Result<ClientStream, AnyError>
    where
        S: Service<Uri> + Send,
        S::Response: Read + Write + Connection + Unpin + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<AnyError>,
    {
        let config = self.tls.config.get_or_init(|| (self.tls.load)()).clone()?;
        let safe = HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_all_versions();
        Ok(ClientStream::of(call_service(safe.wrap_connector(inner), uri).await?))
    }
}

impl Service<Uri> for ClientConnector {
    type Response = ClientStream;
    type Error = AnyError;
    type Future = Pin<Box<dyn Future<Output = Result<ClientStream, AnyError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), AnyError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// Connections from the [`Connector`].
#[derive(Clone)]
pub struct PlainConnector {
    connector: Arc<dyn Connector>,
    timeout: Duration,
}

impl PlainConnector {
    async fn connect(self, uri: &Uri) -> Result<ClientStream, AnyError> {
        let host = uri.host().ok_or(ConnectError::Name("the address has no host".to_owned()))?;
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        let stream = self.connector.open(host, port, self.timeout).await?;
        Ok(ClientStream::of(TokioIo::new(stream)))
    }
}

impl Service<Uri> for PlainConnector {
    type Response = ClientStream;
    type Error = AnyError;
    type Future = Pin<Box<dyn Future<Output = Result<ClientStream, AnyError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), AnyError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let plain = self.clone();
        Box::pin(async move { plain.connect(&uri).await })
    }
}

async fn call_service<S: Service<Uri>>(mut service: S, uri: Uri) -> Result<S::Response, AnyError>
where
    S::Error: Into<AnyError>,
{
    std::future::poll_fn(|context| service.poll_ready(context)).await.map_err(Into::into)?;
    service.call(uri).await.map_err(Into::into)
}

trait ByteStream: Read + Write + Connection + Send {}

impl<T: Read + Write + Connection + Send> ByteStream for T {}

/// A plain or TLS connection.
pub struct ClientStream {
    stream: Pin<Box<dyn ByteStream>>,
    /// For plain http: the peer is a proxy and needs absolute URLs in the request line.
    proxied: bool,
}

impl ClientStream {
    fn of(stream: impl ByteStream + 'static) -> ClientStream {
        ClientStream { stream: Box::pin(stream), proxied: false }
    }
}

impl Connection for ClientStream {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.proxied)
    }
}

impl Read for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(context, buffer)
    }
}

impl Write for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write_vectored(context, parts)
    }
}
