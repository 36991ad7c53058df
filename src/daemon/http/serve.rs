//! Serves a router: one task per connection, with limits for slow and greedy clients.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tower_service::Service;

use super::connections::{IdleTimeout, LimitedListener, Socket};
use super::peer::PeerLimit;

/// How long a client may take to send the head of a request, and to begin the next one.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client that is refused may take to read why.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\
                         content-type: text/plain\r\ncontent-length: 40\r\n\r\n\
                         Too many connections from your address.\n";

/// Serves until the daemon ends. One peer has at most half of the listener's connections.
pub async fn serve<L: Socket>(mut listener: LimitedListener<L>, router: Router) {
    let peers = PeerLimit::new(listener.most() / 2);
    loop {
        let (stream, address, permit) = listener.next_connection().await;
        let peer = L::peer(&address);
        let mut stream = IdleTimeout::new(stream, permit);
        let Some(place) = peers.enter(&peer) else {
            tokio::spawn(async move {
                // The request is read first: closing a connection with unread bytes would discard the answer.
                let _ = timeout(REFUSAL_TIMEOUT, stream.read(&mut [0; 8 << 10])).await;
                let _ = timeout(REFUSAL_TIMEOUT, stream.write_all(REFUSAL)).await;
                let _ = timeout(REFUSAL_TIMEOUT, stream.shutdown()).await;
            });
            continue;
        };
        let router = router.clone();
        let answer = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer.clone()));
            router.clone().call(request.map(Body::new))
        });
        tokio::spawn(async move {
            let _place = place;
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
            // An error is the client's: it left, or it was too slow.
            let _ = server.serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}
