//! Connections that strangers open to us: so many at a time, and none for longer than it is of use.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// A connection on which nothing was answered for so long is slow, or forgotten; who needs it opens another.
const LONGEST: Duration = Duration::from_secs(60);

/// Takes a connection only when there is room for it; whoever comes later waits.
pub struct Few<L> {
    listener: L,
    room: Arc<Semaphore>,
}

impl<L> Few<L> {
    pub fn new(listener: L, most: usize) -> Few<L> {
        Few { listener, room: Arc::new(Semaphore::new(most)) }
    }
}

impl<L: Listener> Listener for Few<L> {
    type Io = Brief<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Brief<L::Io>, L::Addr) {
        let permit = Arc::clone(&self.room).acquire_owned().await.expect("the room is never closed");
        // Waits by itself when no descriptors are left: later there may be.
        let (stream, address) = self.listener.accept().await;
        (Brief { stream, until: Box::pin(sleep(LONGEST)), _permit: permit }, address)
    }

    fn local_addr(&self) -> io::Result<L::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that ends when it has not been answered on for a while, however much the other side sends.
pub struct Brief<S> {
    stream: S,
    until: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl<S> Brief<S> {
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        self.until.as_mut().poll(context).is_ready()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Brief<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_over(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Brief<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_over(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.until.as_mut().reset(Instant::now() + LONGEST);
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

    fn brief(until: Duration) -> (Brief<tokio::io::DuplexStream>, tokio::io::DuplexStream) {
        let (stream, other) = duplex(64);
        let room = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("there is room");
        (Brief { stream, until: Box::pin(sleep(until)), _permit: room }, other)
    }

    #[tokio::test]
    async fn who_only_sends_is_cut_off_and_who_is_answered_is_not() {
        let (mut ours, mut theirs) = brief(LONGEST / 2);
        let ends = ours.until.deadline();
        let mut buffer = [0; 4];
        theirs.write_all(b"slow").await.expect("some bytes");
        ours.read_exact(&mut buffer).await.expect("they are read");
        assert_eq!(ours.until.deadline(), ends, "to be sent something is no reason to go on");
        ours.write_all(b"x").await.expect("an answer");
        assert!(ours.until.deadline() > ends);
        let (mut ours, mut theirs) = brief(Duration::ZERO);
        ours.until.as_mut().await;
        theirs.write_all(b"late").await.expect("some bytes");
        assert_eq!(ours.read_exact(&mut buffer).await.map_err(|it| it.kind()), Err(io::ErrorKind::TimedOut));
        assert_eq!(ours.write_all(b"x").await.map_err(|it| it.kind()), Err(io::ErrorKind::TimedOut));
    }
}
