//! Answers on their way to a child. The queue is bounded: a child that asks and does not read its answers waits.

use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::protocol::{FrameError, ParentAnswer, ParentSocket};

/// Answers that may wait for a child that does not read: a connection is a descriptor of the daemon.
const MAX_QUEUED: usize = 64;
/// The bytes that count as one more answer, so that no more than one large body waits.
const BYTES_PER_ANSWER: usize = 32 << 10;

pub enum ChildAnswer {
    /// With the raw bytes that go with it.
    Reply(ParentAnswer, Vec<u8>),
    /// With a connection that is the child's from now on.
    Connection(ParentAnswer, OwnedFd),
}

impl ChildAnswer {
    fn write(self, socket: &mut ParentSocket) -> Result<(), FrameError> {
        match self {
            ChildAnswer::Reply(answer, raw) => socket.write(&answer, &raw),
            ChildAnswer::Connection(answer, connection) => socket.write_with_connection(&answer, connection),
        }
    }

    fn weight(&self) -> usize {
        match self {
            ChildAnswer::Reply(_, raw) => 1 + raw.len() / BYTES_PER_ANSWER,
            ChildAnswer::Connection(..) => 1,
        }
    }
}

pub fn channel() -> (AnswerSender, AnswerReceiver) {
    let (sender, receiver) = mpsc::channel();
    let load = Arc::new(QueueLoad::default());
    (AnswerSender { queue: sender, load: Arc::clone(&load) }, AnswerReceiver { queue: receiver, load })
}

/// Never blocks, since other runs wait for whoever sends; [`AnswerSender::wait_for_room`] bounds the queue.
#[derive(Clone)]
pub struct AnswerSender {
    queue: mpsc::Sender<ChildAnswer>,
    load: Arc<QueueLoad>,
}

impl AnswerSender {
    /// Returns false if the child has ended.
    pub fn send(&self, answer: ChildAnswer) -> bool {
        self.load.state().weight += answer.weight();
        self.queue.send(answer).is_ok()
    }

    /// Blocks while too many answers wait for the child; until it reads them, or ends. The thread that reads the
    /// child's requests calls this before each, so that a child that reads nothing waits with its next request.
    pub fn wait_for_room(&self) {
        let state = self.load.state();
        let is_full = |state: &mut QueueState| state.weight >= MAX_QUEUED && !state.is_closed;
        drop(self.load.fell.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner));
    }
}

pub struct AnswerReceiver {
    queue: mpsc::Receiver<ChildAnswer>,
    load: Arc<QueueLoad>,
}

impl AnswerReceiver {
    /// Writes answers as they come, until no sender is left or the child has ended.
    pub fn write_all(self, socket: &mut ParentSocket) -> Result<(), FrameError> {
        while let Ok(answer) = self.queue.recv() {
            let weight = answer.weight();
            answer.write(socket)?;
            self.load.state().weight -= weight;
            self.load.fell.notify_all();
        }
        Ok(())
    }

    #[cfg(test)]
    pub fn try_recv(&self) -> Option<ChildAnswer> {
        let answer = self.queue.try_recv().ok()?;
        self.load.state().weight -= answer.weight();
        self.load.fell.notify_all();
        Some(answer)
    }
}

impl Drop for AnswerReceiver {
    fn drop(&mut self) {
        self.load.state().is_closed = true;
        self.load.fell.notify_all();
    }
}

/// How much waits for the child.
#[derive(Default)]
struct QueueLoad {
    state: Mutex<QueueState>,
    fell: Condvar,
}

#[derive(Default)]
struct QueueState {
    weight: usize,
    is_closed: bool,
}

impl QueueLoad {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        // Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn turn() -> ChildAnswer {
        ChildAnswer::Reply(ParentAnswer::Turn { wait_ms: 0 }, Vec::new())
    }

    #[test]
    fn whoever_asks_without_reading_waits_until_answers_are_read_or_the_child_ends() {
        let (sender, receiver) = channel();
        (1..MAX_QUEUED).for_each(|_| assert!(sender.send(turn())));
        sender.wait_for_room();
        sender.send(turn());
        let (done, is_done) = mpsc::channel();
        let wait = |sender: &AnswerSender| {
            let (sender, done) = (sender.clone(), done.clone());
            std::thread::spawn(move || {
                sender.wait_for_room();
                done.send(()).expect("the test waits");
            });
        };
        wait(&sender);
        let soon = Duration::from_millis(50);
        assert!(is_done.recv_timeout(soon).is_err(), "the queue is full");
        receiver.try_recv().expect("an answer");
        is_done.recv().expect("it was woken");
        sender.send(ChildAnswer::Reply(ParentAnswer::Body { found: true }, vec![0; 2 << 20]));
        wait(&sender);
        assert!(is_done.recv_timeout(soon).is_err(), "a large body counts as many answers");
        drop(receiver);
        is_done.recv().expect("nobody waits for a child that has ended");
        assert!(!sender.send(turn()));
    }
}
