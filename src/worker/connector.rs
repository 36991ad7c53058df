//! The child's `Connector`: the sandbox allows no new sockets, so the parent opens every connection and passes it on.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::model::ConnectError;
use crate::protocol::FetchRequest;
use crate::protocol::bounds::MAX_HOST_BYTES;
use crate::robot::{ConnectFuture, Connector};

use super::message_sender::RequestSender;

type PendingConnections = HashMap<u64, oneshot::Sender<Result<OwnedFd, ConnectError>>>;

/// Connection requests that wait for the parent's answer.
#[derive(Clone)]
pub struct ParentConnector {
    requests: RequestSender,
    pending: Arc<Mutex<PendingConnections>>,
    next_question: Arc<AtomicU64>,
}

impl ParentConnector {
    pub fn new(requests: RequestSender) -> ParentConnector {
        ParentConnector { requests, pending: Arc::default(), next_question: Arc::default() }
    }

    /// Delivers the parent's answer. If the request has timed out, the connection is closed.
    pub fn complete(&self, question: u64, answer: Result<OwnedFd, ConnectError>) {
        if let Some(asker) = self.pending().remove(&question) {
            drop(asker.send(answer));
        }
    }

    fn pending(&self) -> MutexGuard<'_, PendingConnections> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connector for ParentConnector {
    fn open(&self, host: &str, port: u16, patience: Duration) -> ConnectFuture {
        if host.len() > MAX_HOST_BYTES {
            let too_long = format!("the host name has {} bytes; a name can have {MAX_HOST_BYTES}", host.len());
            return Box::pin(std::future::ready(Err(ConnectError::Name(too_long))));
        }
        let question = self.next_question.fetch_add(1, Ordering::Relaxed);
        let (ask, answer) = oneshot::channel();
        self.pending().insert(question, ask);
        (self.requests)(FetchRequest::Connect { question, host: host.to_owned(), port });
        Box::pin(async move {
            let answered = tokio::time::timeout(patience, answer).await.map_err(|_| ConnectError::TooLong)?;
            let socket =
                answered.map_err(|_| ConnectError::Connection("the parent process does not answer".to_owned()))??;
            let stream = std::net::TcpStream::from(socket);
            let made = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            made.map_err(|error| ConnectError::Connection(error.to_string()))
        })
    }
}
