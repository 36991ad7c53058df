//! Sends the messages of one job to the parent. Trace lines are batched: sent one by one they woke the parent twice a
//! page, which cost a crawl more than its parsing.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::protocol::bounds::BATCH_BYTES;
use crate::protocol::{self, Budget, FetchRequest, FrameError, FrameMessage};

/// No message waits longer than this, even if the run hangs.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
const FLUSH_BYTES: usize = 32 << 10;
/// Capacity kept between flushes; a batch of rows usually needs no more.
const MAX_CAPACITY: usize = 2 * BATCH_BYTES;

/// Sends a request to the parent, in a message of the job.
pub type RequestSender = Arc<dyn Fn(FetchRequest) + Send + Sync>;

/// The only way to stdout of a child that sends more than one message: `M` is what its job may send.
pub struct MessageSender<M>(Arc<Mutex<MessageBuffer<M>>>);

struct MessageBuffer<M> {
    /// Complete frames only.
    frames: Vec<u8>,
    /// The latest progress; earlier ones need not be sent.
    progress: Option<M>,
    /// What may still be sent: the parent ends a child that sends more.
    budget: Budget,
}

impl<M> Clone for MessageSender<M> {
    fn clone(&self) -> MessageSender<M> {
        MessageSender(Arc::clone(&self.0))
    }
}

impl<M: Serialize + FrameMessage + Send + 'static> MessageSender<M> {
    /// Starts the thread that flushes the buffer every [`FLUSH_INTERVAL`].
    pub fn start(budget: Budget) -> MessageSender<M> {
        let buffer = MessageBuffer { frames: Vec::new(), progress: None, budget };
        let sender = MessageSender(Arc::new(Mutex::new(buffer)));
        let flusher = sender.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(FLUSH_INTERVAL);
                flusher.lock().flush();
            }
        });
        sender
    }

    /// Sends a message at once. Ends the process if the parent has closed the pipe. An error means that the message is
    /// over its budget and was not sent.
    pub fn send(&self, message: &M, raw: &[u8]) -> Result<(), FrameError> {
        let mut buffer = self.lock();
        buffer.add_progress();
        let added = buffer.add(message, raw);
        buffer.flush();
        added
    }

    /// Sends a message within [`FLUSH_INTERVAL`], unless it is over its budget.
    pub fn send_soon(&self, message: &M) {
        let mut buffer = self.lock();
        // A trace ends where its budget ends.
        let _ = buffer.add(message, &[]);
        if buffer.frames.len() >= FLUSH_BYTES {
            buffer.flush();
        }
    }

    /// Reports the progress within [`FLUSH_INTERVAL`], unless a newer one replaces it.
    pub fn set_progress(&self, message: M) {
        self.lock().progress = Some(message);
    }

    pub fn requests(&self) -> RequestSender
    where
        M: From<FetchRequest>,
    {
        let sender = self.clone();
        Arc::new(move |request| {
            // No run makes so many requests.
            if sender.send(&request.into(), &[]).is_err() {
                std::process::exit(1);
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, MessageBuffer<M>> {
        // A panic cannot leave it inconsistent: it only ever holds complete frames.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Serialize + FrameMessage> MessageBuffer<M> {
    fn add(&mut self, message: &M, raw: &[u8]) -> Result<(), FrameError> {
        protocol::append(&mut self.frames, message, raw, &mut self.budget)
    }

    fn add_progress(&mut self) {
        if let Some(progress) = self.progress.take() {
            // Progress is only shown.
            let _ = self.add(&progress, &[]);
        }
    }

    fn flush(&mut self) {
        self.add_progress();
        if self.frames.is_empty() {
            return;
        }
        let mut stdout = io::stdout().lock();
        if stdout.write_all(&self.frames).and_then(|()| stdout.flush()).is_err() {
            std::process::exit(1);
        }
        self.frames.clear();
        self.frames.shrink_to(MAX_CAPACITY);
    }
}
