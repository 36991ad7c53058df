//! What waits to be said to the parent. A trace line can wait a moment: said one by one they wake the parent twice a page,
//! which cost a crawl more than its parsing.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::wire::{self, Message};

static WAITING: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// No line waits longer than this, also when the run hangs.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
const MOST_BYTES: usize = 32 << 10;
/// Room that is kept for the next messages: as a rule a batch of rows needs no more.
const MOST_ROOM: usize = 2 * wire::BATCH_BYTES;

/// Says a message: how far the run is within a moment, and everything else at once. With nobody listening there is nothing left to do,
/// and the process ends.
pub fn say(message: &Message, raw: &[u8]) {
    let mut waiting = lock();
    if wire::append(&mut waiting, message, raw).is_err() {
        std::process::exit(1);
    }
    let can_wait = matches!(message, Message::Trace(_) | Message::SoFar { .. });
    if !can_wait || waiting.len() >= MOST_BYTES {
        send(&mut waiting);
    }
}

/// Sees to it that nothing waits too long.
pub fn keep_going() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(LONGEST_WAIT);
            send(&mut lock());
        }
    });
}

fn lock() -> MutexGuard<'static, Vec<u8>> {
    // Only whole messages are ever in it, whoever panicked.
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send(waiting: &mut Vec<u8>) {
    if waiting.is_empty() {
        return;
    }
    let mut stdout = io::stdout().lock();
    if stdout.write_all(waiting).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(1);
    }
    waiting.clear();
    waiting.shrink_to(MOST_ROOM);
}
