//! What waits to be said to the parent. A trace line can wait a moment: said one by one they wake the parent twice a page,
//! which cost a crawl more than its parsing.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::wire::{self, Message};

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { bytes: Vec::new(), so_far: None });

struct Waiting {
    /// Whole messages.
    bytes: Vec<u8>,
    /// How far the run is. The last word of many says it all.
    so_far: Option<(u32, u64)>,
}

/// No line waits longer than this, also when the run hangs.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
const MOST_BYTES: usize = 32 << 10;
/// Room that is kept for the next messages: as a rule a batch of rows needs no more.
const MOST_ROOM: usize = 2 * wire::BATCH_BYTES;

/// Says a message: a trace line within a moment, and everything else at once. With nobody listening there is nothing left to
/// do, and the process ends.
pub fn say(message: &Message, raw: &[u8]) {
    let mut waiting = lock();
    let can_wait = matches!(message, Message::Trace(_));
    if !can_wait {
        waiting.add_so_far();
    }
    waiting.add(message, raw);
    if !can_wait || waiting.bytes.len() >= MOST_BYTES {
        waiting.send();
    }
}

/// Says within a moment how far the run is.
pub fn say_so_far(pages: u32, rows: u64) {
    lock().so_far = Some((pages, rows));
}

/// Sees to it that nothing waits too long.
pub fn keep_going() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(LONGEST_WAIT);
            lock().send();
        }
    });
}

fn lock() -> MutexGuard<'static, Waiting> {
    // Only whole messages are ever in it, whoever panicked.
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiting {
    fn add(&mut self, message: &Message, raw: &[u8]) {
        if wire::append(&mut self.bytes, message, raw).is_err() {
            std::process::exit(1);
        }
    }

    fn add_so_far(&mut self) {
        if let Some((pages, rows)) = self.so_far.take() {
            self.add(&Message::SoFar { pages, rows }, &[]);
        }
    }

    fn send(&mut self) {
        self.add_so_far();
        if self.bytes.is_empty() {
            return;
        }
        let mut stdout = io::stdout().lock();
        if stdout.write_all(&self.bytes).and_then(|()| stdout.flush()).is_err() {
            std::process::exit(1);
        }
        self.bytes.clear();
        self.bytes.shrink_to(MOST_ROOM);
    }
}
