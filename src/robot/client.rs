//! The HTTP client of runs: reqwest's requests and answers and the engine underneath it, over connections that come through a
//! [`Door`]. reqwest's own client opens sockets by itself, and no connection can be given to it (reqwest issue 2633): a
//! sandboxed run cannot use it. Alerts are sent with it, by the daemon (`robot/post.rs`).

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

/// What the certificates of this machine's authorities are read for, once it is needed.
pub type TlsConfigLoader = Arc<dyn Fn() -> Result<ClientConfig, rustls::Error> + Send + Sync>;

pub struct Client {
    service: Decompression<legacy::Client<ClientConnector, Body>>,
    /// A proxy for plain http reads the request itself, and its own password from it.
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

    /// Sends a request; comes back with the head of its answer.
    pub async fn send(&self, request: reqwest::Request) -> Result<Response, AnyError> {
        let url = request.url().clone();
        let mut request: hyper::Request<Body> = request.try_into()?;
        if let Some(auth) = self.proxy_auth.as_ref().filter(|_| request.uri().scheme_str() == Some("http")) {
            request.headers_mut().insert(reqwest::header::PROXY_AUTHORIZATION, auth.clone());
        }
        // This service is always ready.
        let answer = self.service.clone().call(request).await?;
        let mut answer = answer.map(Body::wrap);
        // Not told of the address, reqwest parses one of its own for each answer.
        let told = hyper::Response::builder().url(url).body(())?;
        answer.extensions_mut().extend(told.into_parts().0.extensions);
        Ok(Response::from(answer))
    }
}

/// The certificates that this machine trusts.
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

/// Opens a connection for an address: through the proxy if there is one, within TLS if the address wants it.
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

/// Connections as the door gives them.
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

/// A connection, whatever it is made of.
pub struct ClientStream {
    stream: Pin<Box<dyn ByteStream>>,
    /// Whoever is at the other end of plain http is a proxy, and wants whole addresses.
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
