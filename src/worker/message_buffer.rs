//! What waits to be said to the parent. A trace line can wait a moment: said one by one they wake the parent twice a page,
//! which cost a crawl more than its parsing.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::protocol;
use crate::protocol::Message;

static BUFFER: Mutex<MessageBuffer> = Mutex::new(MessageBuffer { bytes: Vec::new(), progress: None });

struct MessageBuffer {
    /// Whole messages.
    bytes: Vec<u8>,
    /// How far the run is. The last word of many says it all.
    progress: Option<(u32, u64)>,
}

/// No line waits longer than this, also when the run hangs.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
const FLUSH_BYTES: usize = 32 << 10;
/// Room that is kept for the next messages: as a rule a batch of rows needs no more.
const MAX_CAPACITY: usize = 2 * protocol::BATCH_BYTES;

/// Says a message: a trace line within a moment, and everything else at once. With nobody listening there is nothing left to
/// do, and the process ends.
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

/// Says within a moment how far the run is.
pub fn set_progress(pages: u32, rows: u64) {
    lock().progress = Some((pages, rows));
}

/// Sees to it that nothing waits too long.
pub fn start_flusher() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(FLUSH_INTERVAL);
            lock().flush();
        }
    });
}

fn lock() -> MutexGuard<'static, MessageBuffer> {
    // Only whole messages are ever in it, whoever panicked.
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
