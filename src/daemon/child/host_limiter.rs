//! The per-host rate limiter of all runs of this daemon, and of the fleet that shares its store. A child requests a
//! turn; the answer goes back over its stdin, at once or when another run has released the host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::daemon::store_handle::StoreHandle;
use crate::model::host_limiter::HostGrant;
use crate::model::{HostLimiter, RunId};
use crate::protocol::ParentAnswer;
use crate::protocol::bounds::MAX_HOST_BYTES;
use crate::store::StoreError;

use super::answers::{AnswerSender, ChildAnswer};

#[derive(Clone)]
pub struct SharedHostLimiter(Arc<Mutex<HostLimiterState>>);

struct HostLimiterState {
    calendar: HostLimiter,
    /// The channel to each run's child.
    answer_senders: HashMap<RunId, AnswerSender>,
    /// The last request of each run: host and delay.
    requests: HashMap<RunId, (String, Duration)>,
    /// Reserves turns over all daemons that share the store.
    fleet: Option<StoreHandle>,
}

impl SharedHostLimiter {
    pub fn new(per_host: u32, fleet: Option<StoreHandle>) -> SharedHostLimiter {
        let calendar = HostLimiter::new(usize::try_from(per_host).unwrap_or(usize::MAX));
        let book = HostLimiterState { calendar, answer_senders: HashMap::new(), requests: HashMap::new(), fleet };
        SharedHostLimiter(Arc::new(Mutex::new(book)))
    }

    pub fn register(&self, run: RunId, door: AnswerSender) {
        self.state().answer_senders.insert(run, door);
    }

    /// A new request gives up the previous turn: a child can hold one turn only, and cannot fill the queue.
    pub fn request_turn(&self, run: RunId, host: &str, delay: Duration) {
        let now = Instant::now();
        let mut book = self.state();
        let granted = book.calendar.remove_run(run, now);
        book.notify_granted(granted);
        let host = host.to_ascii_lowercase();
        // No host name is longer than that.
        if host.len() > MAX_HOST_BYTES {
            return;
        }
        book.requests.insert(run, (host.clone(), delay));
        if let Some(wait) = book.calendar.acquire(run, &host, delay, now) {
            book.notify_granted(vec![(run, wait)]);
        }
    }

    pub fn release_turn(&self, run: RunId, pause: Duration) {
        let mut book = self.state();
        let granted = book.calendar.release(run, pause, Instant::now());
        book.notify_granted(granted);
        book.pause_host_in_fleet(run, pause);
    }

    /// Releases what the run holds at a host while it makes no requests.
    pub fn release_while_idle(&self, run: RunId) {
        let mut book = self.state();
        let granted = book.calendar.remove_run(run, Instant::now());
        book.notify_granted(granted);
    }

    /// Forgets a run that has ended.
    pub fn unregister(&self, run: RunId) {
        let mut book = self.state();
        book.answer_senders.remove(&run);
        book.requests.remove(&run);
        let granted = book.calendar.remove_run(run, Instant::now());
        book.notify_granted(granted);
    }

    /// Waits until the turns that were requested are reserved with the other daemons.
    pub fn wait_for_fleet(&self) {
        let fleet = self.state().fleet.clone();
        if let Some(fleet) = fleet {
            // What fails is in the log; this daemon's own limits apply.
            let _ = fleet.call_blocking(|_| Ok::<_, StoreError>(()));
        }
    }

    fn state(&self) -> MutexGuard<'_, HostLimiterState> {
        // Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostLimiterState {
    fn notify_granted(&self, granted: Vec<HostGrant>) {
        for (run, wait) in granted {
            let Some(door) = self.answer_senders.get(&run).cloned() else { continue };
            match (&self.fleet, self.requests.get(&run).cloned()) {
                // Also reserves the turn in the fleet, in the background.
                (Some(fleet), Some((host, delay))) => fleet.post(move |store| {
                    // If the store fails, this daemon's own limits apply.
                    let booked = store.reserve_host_turn(&host, delay).unwrap_or_default();
                    send_turn(&door, wait.max(booked));
                }),
                (None, _) | (_, None) => send_turn(&door, wait),
            }
        }
    }

    /// A pause that a host asks for applies to all daemons.
    fn pause_host_in_fleet(&self, run: RunId, pause: Duration) {
        if let (Some(fleet), Some((host, _)), false) = (&self.fleet, self.requests.get(&run).cloned(), pause.is_zero())
        {
            // If this fails, the other daemons learn of the pause from the host itself.
            fleet.post(move |store| drop(store.back_off_host(&host, pause)));
        }
    }
}

fn send_turn(door: &AnswerSender, wait: Duration) {
    let wait_ms = u64::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
    // A child that has ended needs no answer.
    door.send(ChildAnswer::Reply(ParentAnswer::Turn { wait_ms }, Vec::new()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::child::answers::{AnswerReceiver, channel};

    fn enter(turns: &SharedHostLimiter) -> (RunId, AnswerReceiver) {
        let (door, answers) = channel();
        let run = RunId::new();
        turns.register(run, door);
        (run, answers)
    }

    fn turn(answers: &AnswerReceiver) -> Option<u64> {
        match answers.try_recv() {
            Some(ChildAnswer::Reply(ParentAnswer::Turn { wait_ms }, _)) => Some(wait_ms),
            Some(_) | None => None,
        }
    }

    #[test]
    fn two_runs_at_one_host_take_turns() {
        let turns = SharedHostLimiter::new(1, None);
        let ((a, to_a), (b, to_b)) = (enter(&turns), enter(&turns));
        turns.request_turn(a, "shop.test", Duration::ZERO);
        turns.request_turn(b, "SHOP.test", Duration::ZERO);
        assert_eq!((turn(&to_a), turn(&to_b)), (Some(0), None), "the second stands in line");
        turns.release_turn(a, Duration::from_secs(3_600));
        assert!(turn(&to_b).is_some_and(|wait| wait > 3_000_000), "and is told of the peace the host wants");
    }

    #[test]
    fn a_run_that_crashes_makes_room() {
        let turns = SharedHostLimiter::new(1, None);
        let ((a, _to_a), (b, to_b)) = (enter(&turns), enter(&turns));
        turns.request_turn(a, "shop.test", Duration::ZERO);
        turns.request_turn(b, "shop.test", Duration::ZERO);
        turns.unregister(a);
        assert_eq!(turn(&to_b), Some(0));
    }

    #[test]
    fn a_run_that_rests_makes_room_and_can_ask_again() {
        let turns = SharedHostLimiter::new(1, None);
        let ((a, to_a), (b, to_b)) = (enter(&turns), enter(&turns));
        turns.request_turn(a, "shop.test", Duration::ZERO);
        turns.request_turn(b, "shop.test", Duration::ZERO);
        turns.release_while_idle(a);
        assert_eq!((turn(&to_a), turn(&to_b)), (Some(0), Some(0)));
        turns.request_turn(a, "shop.test", Duration::ZERO);
        assert_eq!(turn(&to_a), None, "it stands in line again");
        turns.release_turn(b, Duration::ZERO);
        assert_eq!(turn(&to_a), Some(0));
    }

    #[test]
    fn a_child_that_asks_and_asks_fills_no_line() {
        let turns = SharedHostLimiter::new(1, None);
        let ((a, _to_a), (b, to_b), (c, to_c)) = (enter(&turns), enter(&turns), enter(&turns));
        turns.request_turn(a, "shop.test", Duration::ZERO);
        for _ in 0..1_000 {
            turns.request_turn(b, "shop.test", Duration::ZERO);
        }
        turns.request_turn(c, "shop.test", Duration::ZERO);
        turns.unregister(a);
        turns.request_turn(b, &"x".repeat(1_000), Duration::ZERO);
        assert_eq!((turn(&to_b), turn(&to_b)), (Some(0), None), "one turn, and no answer to nonsense");
        assert_eq!(turn(&to_c), Some(0), "which it gave up by asking for another");
    }
}
