//! Sends the messages of one job to the parent. Trace lines are batched: sent one by one they woke the parent twice a
//! page, which cost a crawl more than its parsing.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::protocol;
use crate::protocol::FetchRequest;
use crate::protocol::bounds::BATCH_BYTES;

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
}

impl<M> Clone for MessageSender<M> {
    fn clone(&self) -> MessageSender<M> {
        MessageSender(Arc::clone(&self.0))
    }
}

impl<M: Serialize + Send + 'static> MessageSender<M> {
    /// Starts the thread that flushes the buffer every [`FLUSH_INTERVAL`].
    pub fn start() -> MessageSender<M> {
        let sender = MessageSender(Arc::new(Mutex::new(MessageBuffer { frames: Vec::new(), progress: None })));
        let flusher = sender.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(FLUSH_INTERVAL);
                flusher.lock().flush();
            }
        });
        sender
    }

    /// Sends a message at once. Ends the process if the parent has closed the pipe.
    pub fn send(&self, message: &M, raw: &[u8]) {
        let mut buffer = self.lock();
        buffer.add_progress();
        buffer.add(message, raw);
        buffer.flush();
    }

    /// Sends a message within [`FLUSH_INTERVAL`].
    pub fn send_soon(&self, message: &M) {
        let mut buffer = self.lock();
        buffer.add(message, &[]);
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
        Arc::new(move |request| sender.send(&request.into(), &[]))
    }

    fn lock(&self) -> MutexGuard<'_, MessageBuffer<M>> {
        // A panic cannot leave it inconsistent: it only ever holds complete frames.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Serialize> MessageBuffer<M> {
    fn add(&mut self, message: &M, raw: &[u8]) {
        if protocol::append(&mut self.frames, message, raw).is_err() {
            std::process::exit(1);
        }
    }

    fn add_progress(&mut self) {
        if let Some(progress) = self.progress.take() {
            self.add(&progress, &[]);
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
