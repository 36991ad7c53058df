//! The egress proxy of the browser, on loopback: its connector resolves, checks and connects in one step, under the
//! guard. It requires a password that only the browser is given.

use std::collections::HashMap;
use std::io;
use std::net::{self, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::model::ConnectError;
use crate::robot::connector::Connector;
use crate::robot::manners::CONNECT_TIMEOUT;

pub const USER: &str = "pieme";

/// How many hosts' failures are remembered: a page may try hosts without end.
const MAX_RECORDED_FAILURES: usize = 1_000;

type ProxyBody = Either<Incoming, Empty<Bytes>>;

pub struct EgressProxy {
    pub address: SocketAddr,
    pub password: String,
    failures: Arc<Mutex<HashMap<String, ConnectError>>>,
    server_task: AbortHandle,
}

struct ProxyHandler {
    connector: Arc<dyn Connector>,
    /// The accepted `Proxy-Authorization` header.
    expected_auth: String,
    failures: Arc<Mutex<HashMap<String, ConnectError>>>,
}

/// Closes the connection without a response: the browser would take one of ours for the site's.
#[derive(Debug, thiserror::Error)]
#[error("no connection")]
struct DropConnection;

impl EgressProxy {
    pub fn start(listener: net::TcpListener, door: Arc<dyn Connector>) -> io::Result<EgressProxy> {
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let password = uuid::Uuid::now_v7().simple().to_string();
        let missed = Arc::new(Mutex::new(HashMap::new()));
        let key = format!("Basic {}", STANDARD.encode(format!("{USER}:{password}")));
        let gate = Arc::new(ProxyHandler { connector: door, expected_auth: key, failures: Arc::clone(&missed) });
        let serving = tokio::spawn(accept(listener, gate)).abort_handle();
        Ok(EgressProxy { address, password, failures: missed, server_task: serving })
    }

    /// Why the last connection to this host failed.
    pub fn failure_for(&self, host: &str) -> Option<ConnectError> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).get(host).cloned()
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.server_task.abort();
    }
}

async fn accept(listener: TcpListener, gate: Arc<ProxyHandler>) {
    while let Ok((stream, _)) = listener.accept().await {
        let gate = Arc::clone(&gate);
        tokio::spawn(async move {
            let answers = service_fn(move |request| {
                let gate = Arc::clone(&gate);
                async move { gate.handle(request).await }
            });
            let serving = hyper::server::conn::http1::Builder::new()
                .preserve_header_case(true)
                .serve_connection(TokioIo::new(stream), answers);
            // Errors are ignored: the browser reports what they mean for its page.
            let _ = serving.with_upgrades().await;
        });
    }
}

impl ProxyHandler {
    async fn handle(&self, request: Request<Incoming>) -> Result<Response<ProxyBody>, DropConnection> {
        let key = request.headers().get(header::PROXY_AUTHORIZATION);
        if key.is_none_or(|key| key.as_bytes() != self.expected_auth.as_bytes()) {
            let mut answer = empty(StatusCode::PROXY_AUTHENTICATION_REQUIRED);
            let how = HeaderValue::from_static("Basic realm=\"pieme\"");
            answer.headers_mut().insert(header::PROXY_AUTHENTICATE, how);
            return Ok(answer);
        }
        if request.method() == Method::CONNECT { Ok(self.tunnel(request).await) } else { self.relay(request).await }
    }

    /// CONNECT, for https and WebSockets: copies bytes in both directions.
    async fn tunnel(&self, request: Request<Incoming>) -> Response<ProxyBody> {
        let Some(mut there) = self.connect(request.uri(), 443).await else { return empty(StatusCode::BAD_GATEWAY) };
        tokio::spawn(async move {
            if let Ok(here) = hyper::upgrade::on(request).await {
                let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(here), &mut there).await;
            }
        });
        empty(StatusCode::OK)
    }

    /// Plain http: one request over a connection of its own, so that none is ever used for two hosts.
    async fn relay(&self, mut request: Request<Incoming>) -> Result<Response<ProxyBody>, DropConnection> {
        if request.uri().scheme_str() != Some("http") {
            return Err(DropConnection);
        }
        let there = self.connect(request.uri(), 80).await.ok_or(DropConnection)?;
        let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
        *request.uri_mut() = path.parse::<Uri>().map_err(|_| DropConnection)?;
        for name in [header::PROXY_AUTHORIZATION, header::CONNECTION] {
            request.headers_mut().remove(name);
        }
        request.headers_mut().remove("proxy-connection");
        let client =
            hyper::client::conn::http1::Builder::new().preserve_header_case(true).handshake(TokioIo::new(there));
        let (mut sender, connection) = client.await.map_err(|_| DropConnection)?;
        tokio::spawn(connection);
        let answer = sender.send_request(request).await.map_err(|_| DropConnection)?;
        Ok(answer.map(Either::Left))
    }

    async fn connect(&self, uri: &Uri, port: u16) -> Option<TcpStream> {
        let host = uri.host()?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let connected = self.connector.open(host, uri.port_u16().unwrap_or(port), CONNECT_TIMEOUT).await;
        let mut missed = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match connected {
            Ok(stream) => {
                missed.remove(bare);
                Some(stream)
            }
            Err(why) => {
                if missed.len() < MAX_RECORDED_FAILURES {
                    missed.insert(bare.to_owned(), why);
                }
                None
            }
        }
    }
}

fn empty(status: StatusCode) -> Response<ProxyBody> {
    let mut response = Response::new(Either::Right(Empty::new()));
    *response.status_mut() = status;
    response
}
