//! Limits for incoming connections: a maximum at a time, and an idle timeout. A listener lives as long as the daemon: a
//! failed `accept` is retried with backoff and reported by `/healthz` and `pieme_listener_up`.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::model::shortage;

use super::peer::Peer;

/// A connection is closed when nothing was written to it for this long; the client can open another.
const IDLE_LIMIT: Duration = Duration::from_secs(60);
/// Backoff after a failed `accept`: the first pause, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The health of all listeners of the daemon, by name.
#[derive(Clone, Default)]
pub struct Listeners(Arc<Mutex<BTreeMap<&'static str, Option<String>>>>);

impl Listeners {
    /// Adds a listener, healthy at first. Replaces an earlier one of the same name.
    pub fn register(&self, name: &'static str) -> ListenerHealth {
        self.lock().insert(name, None);
        ListenerHealth { listeners: self.clone(), name, is_failing: false }
    }

    /// Each listener's name with its error, if it has one.
    pub fn all(&self) -> Vec<(&'static str, Option<String>)> {
        self.lock().iter().map(|(name, trouble)| (*name, trouble.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Option<String>>> {
        // Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One listener's entry. Dropping it reports that the listener has ended, which none should before the daemon.
pub struct ListenerHealth {
    listeners: Listeners,
    name: &'static str,
    is_failing: bool,
}

impl ListenerHealth {
    /// Reports whether its address could be bound. The caller, which retries, writes the log line.
    pub fn report_open(&mut self, opened: Result<(), &io::Error>) {
        self.listeners.lock().insert(self.name, opened.err().map(shortage::in_words));
    }

    fn report_failure(&mut self, error: &io::Error) {
        let why = shortage::in_words(error);
        if !self.is_failing {
            tracing::error!("accept failed on the {} listener: {why}; retrying", self.name);
        }
        self.is_failing = true;
        self.listeners.lock().insert(self.name, Some(why));
    }

    fn report_recovery(&mut self) {
        if self.is_failing {
            tracing::info!("the {} listener accepts connections again", self.name);
            self.is_failing = false;
            self.listeners.lock().insert(self.name, None);
        }
    }
}

impl Drop for ListenerHealth {
    fn drop(&mut self) {
        self.listeners.lock().insert(self.name, Some("it has ended; restart the daemon".to_owned()));
    }
}

/// A listening socket, TCP or Unix.
pub trait Socket: Send + Sync + 'static {
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    type Addr: Send;

    fn accept_connection(&self) -> impl Future<Output = io::Result<(Self::Io, Self::Addr)>> + Send;

    fn peer(address: &Self::Addr) -> Peer;
}

impl Socket for TcpListener {
    type Io = TcpStream;
    type Addr = std::net::SocketAddr;

    async fn accept_connection(&self) -> io::Result<(TcpStream, Self::Addr)> {
        self.accept().await
    }

    fn peer(address: &Self::Addr) -> Peer {
        Peer::at(address.ip())
    }
}

impl Socket for UnixListener {
    type Io = UnixStream;
    type Addr = tokio::net::unix::SocketAddr;

    async fn accept_connection(&self) -> io::Result<(UnixStream, Self::Addr)> {
        self.accept().await
    }

    fn peer(_: &Self::Addr) -> Peer {
        Peer::Socket
    }
}

/// A listener with a maximum number of connections; further clients wait in the kernel's backlog.
pub struct LimitedListener<L> {
    listener: L,
    health: ListenerHealth,
    most: usize,
    permits: Arc<Semaphore>,
}

impl<L: Socket> LimitedListener<L> {
    pub fn new(listener: L, most: usize, listening: ListenerHealth) -> LimitedListener<L> {
        LimitedListener { listener, health: listening, most, permits: Arc::new(Semaphore::new(most)) }
    }

    /// The maximum number of connections.
    pub fn most(&self) -> usize {
        self.most
    }

    /// The next connection, with the permit that it occupies until dropped.
    pub async fn next_connection(&mut self) -> (L::Io, L::Addr, OwnedSemaphorePermit) {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the room is never closed");
        let mut pause = FIRST_PAUSE;
        loop {
            let taken = match self.health.is_failing {
                false => self.listener.accept_connection().await,
                true => match timeout(pause, self.listener.accept_connection()).await {
                    Ok(taken) => taken,
                    // `accept` waits without an error, so descriptors are available again.
                    Err(_) => {
                        self.health.report_recovery();
                        continue;
                    }
                },
            };
            match taken {
                Ok((stream, address)) => {
                    self.health.report_recovery();
                    return (stream, address, permit);
                }
                // The client gave up before it was accepted.
                Err(error) if is_peer_error(&error) => {}
                Err(error) => {
                    self.health.report_failure(&error);
                    sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
    }
}

fn is_peer_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// A connection that is closed when nothing was written to it for [`IDLE_LIMIT`], however much the client sends.
pub struct IdleTimeout<S> {
    stream: S,
    deadline: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl<S> IdleTimeout<S> {
    pub fn new(stream: S, permit: OwnedSemaphorePermit) -> IdleTimeout<S> {
        IdleTimeout { stream, deadline: Box::pin(sleep(IDLE_LIMIT)), _permit: permit }
    }

    fn is_expired(&mut self, context: &mut Context<'_>) -> bool {
        self.deadline.as_mut().poll(context).is_ready()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_expired(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_expired(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.deadline.as_mut().reset(Instant::now() + IDLE_LIMIT);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    fn brief(until: Duration) -> (IdleTimeout<tokio::io::DuplexStream>, tokio::io::DuplexStream) {
        let (stream, other) = duplex(64);
        let room = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("there is room");
        (IdleTimeout { stream, deadline: Box::pin(sleep(until)), _permit: room }, other)
    }

    #[tokio::test]
    async fn who_only_sends_is_cut_off_and_who_is_answered_is_not() {
        let (mut ours, mut theirs) = brief(IDLE_LIMIT / 2);
        let ends = ours.deadline.deadline();
        let mut buffer = [0; 4];
        theirs.write_all(b"slow").await.expect("some bytes");
        ours.read_exact(&mut buffer).await.expect("they are read");
        assert_eq!(ours.deadline.deadline(), ends, "to be sent something is no reason to go on");
        ours.write_all(b"x").await.expect("an answer");
        assert!(ours.deadline.deadline() > ends);
        let (mut ours, mut theirs) = brief(Duration::ZERO);
        ours.deadline.as_mut().await;
        theirs.write_all(b"late").await.expect("some bytes");
        assert_eq!(ours.read_exact(&mut buffer).await.map_err(|it| it.kind()), Err(io::ErrorKind::TimedOut));
        assert_eq!(ours.write_all(b"x").await.map_err(|it| it.kind()), Err(io::ErrorKind::TimedOut));
    }

    /// Fails a given number of times; after that no client connects.
    struct Short(Mutex<usize>);

    impl Socket for Short {
        type Io = tokio::io::DuplexStream;
        type Addr = ();

        async fn accept_connection(&self) -> io::Result<(Self::Io, ())> {
            let left = {
                let mut left = self.0.lock().expect("nobody panics");
                *left = left.saturating_sub(1);
                *left
            };
            match left {
                0 => std::future::pending().await,
                _ => Err(nix::errno::Errno::EMFILE.into()),
            }
        }

        fn peer((): &()) -> Peer {
            Peer::Other
        }
    }

    #[tokio::test]
    async fn a_listener_without_descriptors_is_noticed_until_it_has_some_and_when_it_ends() {
        let listeners = Listeners::default();
        let mut few = LimitedListener::new(Short(Mutex::new(4)), 1, listeners.register("control"));
        assert_eq!(listeners.all(), [("control", None)]);
        let going = tokio::spawn(async move { few.next_connection().await });
        while listeners.all()[0].1.is_none() {
            tokio::task::yield_now().await;
        }
        assert!(listeners.all()[0].1.as_ref().is_some_and(|it| it.contains("LimitNOFILE")), "{:?}", listeners.all());
        while listeners.all()[0].1.is_some() {
            sleep(FIRST_PAUSE).await;
        }
        going.abort();
        assert!(going.await.is_err());
        assert!(listeners.all()[0].1.as_ref().is_some_and(|it| it.contains("ended")), "{:?}", listeners.all());
    }
}
