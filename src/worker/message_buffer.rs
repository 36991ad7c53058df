//! Buffer of the messages to the parent. Trace lines are batched: sent one by one they woke the parent twice a page,
//! which cost a crawl more than its parsing.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::protocol;
use crate::protocol::Message;

static BUFFER: Mutex<MessageBuffer> = Mutex::new(MessageBuffer { bytes: Vec::new(), progress: None });

struct MessageBuffer {
    /// Complete frames only.
    bytes: Vec<u8>,
    /// The latest progress; earlier values need not be sent.
    progress: Option<(u32, u64)>,
}

/// No message waits longer than this, even if the run hangs.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
const FLUSH_BYTES: usize = 32 << 10;
/// Capacity kept between flushes; a batch of rows usually needs no more.
const MAX_CAPACITY: usize = 2 * protocol::BATCH_BYTES;

/// Sends a message: a trace line within [`FLUSH_INTERVAL`], everything else at once. Ends the process if the parent has
/// closed the pipe.
pub fn send(message: &Message, raw: &[u8]) {
    let mut waiting = lock();
    let can_wait = matches!(message, Message::Trace(_));
    if !can_wait {
        waiting.add_progress();
    }
    waiting.add(message, raw);
    if !can_wait || waiting.bytes.len() >= FLUSH_BYTES {
        waiting.flush();
    }
}

/// Reports the run's progress within [`FLUSH_INTERVAL`].
pub fn set_progress(pages: u32, rows: u64) {
    lock().progress = Some((pages, rows));
}

/// Starts the thread that flushes the buffer every [`FLUSH_INTERVAL`].
pub fn start_flusher() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(FLUSH_INTERVAL);
            lock().flush();
        }
    });
}

fn lock() -> MutexGuard<'static, MessageBuffer> {
    // A panic cannot leave it inconsistent: it only ever holds complete frames.
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MessageBuffer {
    fn add(&mut self, message: &Message, raw: &[u8]) {
        if protocol::append(&mut self.bytes, message, raw).is_err() {
            std::process::exit(1);
        }
    }

    fn add_progress(&mut self) {
        if let Some((pages, rows)) = self.progress.take() {
            self.add(&Message::Progress { pages, rows }, &[]);
        }
    }

    fn flush(&mut self) {
        self.add_progress();
        if self.bytes.is_empty() {
            return;
        }
        let mut stdout = io::stdout().lock();
        if stdout.write_all(&self.bytes).and_then(|()| stdout.flush()).is_err() {
            std::process::exit(1);
        }
        self.bytes.clear();
        self.bytes.shrink_to(MAX_CAPACITY);
    }
}
