//! A daemon that hangs is detected: the watchdog is fed from the event loop, after a write to the store.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::report;
use crate::stage::Stage;

/// The watchdog timeout of the test.
const WATCHDOG: Duration = Duration::from_secs(3);

#[test]
fn promise_17_a_daemon_whose_store_hangs_is_not_alive() {
    let mut stage = Stage::new();
    let systemd = bound(&stage.path("notify.sock"));
    let socket = stage.path("notify.sock").display().to_string();
    stage.start_daemon_with(&[("NOTIFY_SOCKET", &socket), ("WATCHDOG_USEC", &WATCHDOG.as_micros().to_string())]);
    assert!(signs_of_life(&systemd, 10 * WATCHDOG) > 0, "a healthy daemon is alive");
    let hanging = Connection::open(stage.path("state/pieme.db")).expect("the store");
    hanging.busy_timeout(10 * WATCHDOG).expect("patience");
    hanging.execute_batch("BEGIN EXCLUSIVE").expect("others write for a moment only");
    // A message that was sent before may still arrive.
    signs_of_life(&systemd, WATCHDOG / 3);
    let while_it_hangs = signs_of_life(&systemd, WATCHDOG);
    hanging.execute_batch("COMMIT").expect("it was ours");
    let control = side_thread(&stage.path("control.sock"));
    assert!(signs_of_life(&systemd, 10 * WATCHDOG) > 0, "and is alive again");
    report(17, "store locked for WatchdogSec and a third: signs of life meanwhile", while_it_hangs, control);
}

fn bound(path: &Path) -> UnixDatagram {
    UnixDatagram::bind(path).expect("a socket")
}

/// Counts the watchdog messages within this time; for a long wait the first is enough.
fn signs_of_life(systemd: &UnixDatagram, time: Duration) -> usize {
    let until = Instant::now() + time;
    let mut heard = 0;
    let mut message = [0; 4096];
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        systemd.set_read_timeout(Some(left)).expect("a time-out");
        let Ok(length) = systemd.recv(&mut message) else { break };
        heard += usize::from(String::from_utf8_lossy(&message[..length]).contains("WATCHDOG=1"));
        if heard > 0 && time > WATCHDOG {
            break;
        }
    }
    heard
}

/// The control: a thread that feeds the watchdog, whatever the rest of the program does.
fn side_thread(path: &Path) -> usize {
    let systemd = bound(path);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let socket = UnixDatagram::unbound().expect("a socket");
            while !done.load(Ordering::Relaxed) {
                socket.send_to(b"WATCHDOG=1", path).expect("it listens");
                std::thread::park_timeout(Duration::from_millis(100));
            }
        });
        let heard = signs_of_life(&systemd, WATCHDOG / 3);
        done.store(true, Ordering::Relaxed);
        heard
    })
}
