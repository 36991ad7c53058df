//! The child's door: it has no sockets, and asks its parent for every connection.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::model::Missed;
use crate::robot::{Door, Opening};
use crate::wire::Message;

use super::report;

type Waiting = HashMap<u64, oneshot::Sender<Result<OwnedFd, Missed>>>;

/// Questions that wait for their answers.
#[derive(Clone, Default)]
pub struct ParentDoor {
    waiting: Arc<Mutex<Waiting>>,
    asked: Arc<AtomicU64>,
}

impl ParentDoor {
    /// What the parent has said to a question. One that nobody waits for any more is closed.
    pub fn answered(&self, question: u64, answer: Result<OwnedFd, Missed>) {
        if let Some(asker) = self.waiting().remove(&question) {
            drop(asker.send(answer));
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Door for ParentDoor {
    fn open(&self, host: &str, port: u16, patience: Duration) -> Opening {
        let question = self.asked.fetch_add(1, Ordering::Relaxed);
        let (ask, answer) = oneshot::channel();
        self.waiting().insert(question, ask);
        report(&Message::Connect { question, host: host.to_owned(), port });
        Box::pin(async move {
            let answered = tokio::time::timeout(patience, answer).await.map_err(|_| Missed::TooLong)?;
            let socket = answered.map_err(|_| Missed::Connection("nobody connects for this run".to_owned()))??;
            let stream = std::net::TcpStream::from(socket);
            let made = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            made.map_err(|error| Missed::Connection(error.to_string()))
        })
    }
}
