//! Whose turn it is at which host, over all runs of this daemon, and of those that share its store. A child asks; the answer goes back over its stdin, at once
//! or when another run is done with the host.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::calendar::Granted;
use crate::model::{Calendar, RunId};
use crate::wire::Answer;

use super::keeper::Keeper;

/// An answer on its way to a child.
pub enum Given {
    /// With the raw bytes that go with it.
    Said(Answer, Vec<u8>),
    /// With a connection that is the child's from now on.
    Connection(Answer, OwnedFd),
}

pub type Answers = Sender<Given>;

/// The longest name that DNS knows; a child that asks for more is not answered.
const MAX_HOST_BYTES: usize = 255;

#[derive(Clone)]
pub struct Turns(Arc<Mutex<Book>>);

struct Book {
    calendar: Calendar,
    /// Where the answers of each run go.
    doors: HashMap<RunId, Answers>,
    /// What each run has asked for last.
    asked: HashMap<RunId, (String, Duration)>,
    /// Books turns over all daemons that share the store.
    fleet: Option<Keeper>,
}

impl Turns {
    pub fn new(per_host: u32, fleet: Option<Keeper>) -> Turns {
        let calendar = Calendar::new(usize::try_from(per_host).unwrap_or(usize::MAX));
        let book = Book { calendar, doors: HashMap::new(), asked: HashMap::new(), fleet };
        Turns(Arc::new(Mutex::new(book)))
    }

    pub fn enter(&self, run: RunId, door: Answers) {
        self.book().doors.insert(run, door);
    }

    /// Asking again gives up what one had: a child can hold one turn, and fill no line.
    pub fn ask(&self, run: RunId, host: &str, delay: Duration) {
        let now = Instant::now();
        let mut book = self.book();
        let granted = book.calendar.leave(run, now);
        book.call(granted);
        let host = host.to_ascii_lowercase();
        if host.len() > MAX_HOST_BYTES {
            return;
        }
        book.asked.insert(run, (host.clone(), delay));
        if let Some(wait) = book.calendar.ask(run, &host, delay, now) {
            book.call(vec![(run, wait)]);
        }
    }

    pub fn over(&self, run: RunId, pause: Duration) {
        let mut book = self.book();
        let granted = book.calendar.over(run, pause, Instant::now());
        book.call(granted);
        book.rest(run, pause);
    }

    /// No request is under way, and none will be for a while: what the run has at a host is given back.
    pub fn rest(&self, run: RunId) {
        let mut book = self.book();
        let granted = book.calendar.leave(run, Instant::now());
        book.call(granted);
    }

    /// The run has ended; nothing of it stays.
    pub fn leave(&self, run: RunId) {
        let mut book = self.book();
        book.doors.remove(&run);
        book.asked.remove(&run);
        let granted = book.calendar.leave(run, Instant::now());
        book.call(granted);
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn call(&self, granted: Vec<Granted>) {
        for (run, wait) in granted {
            let Some(door) = self.doors.get(&run).cloned() else { continue };
            match (&self.fleet, self.asked.get(&run).cloned()) {
                // Its turn among the others as well, beside everything else.
                (Some(fleet), Some((host, delay))) => fleet.tell(move |store| {
                    // Without the store the calendar of this daemon holds.
                    let booked = store.next_turn(&host, delay).unwrap_or_default();
                    say(&door, wait.max(booked));
                }),
                (None, _) | (_, None) => say(&door, wait),
            }
        }
    }

    /// A host that wants peace wants it from all daemons.
    fn rest(&self, run: RunId, pause: Duration) {
        if let (Some(fleet), Some((host, _)), false) = (&self.fleet, self.asked.get(&run).cloned(), pause.is_zero()) {
            // Who cannot be told finds out by asking.
            fleet.tell(move |store| drop(store.rest(&host, pause)));
        }
    }
}

fn say(door: &Answers, wait: Duration) {
    let wait_ms = u64::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
    // A child that has gone meanwhile leaves by itself.
    let _ = door.send(Given::Said(Answer::Turn { wait_ms }, Vec::new()));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    fn enter(turns: &Turns) -> (RunId, Receiver<Given>) {
        let (door, answers) = channel();
        let run = RunId::new();
        turns.enter(run, door);
        (run, answers)
    }

    fn turn(answers: &Receiver<Given>) -> Option<u64> {
        match answers.try_recv() {
            Ok(Given::Said(Answer::Turn { wait_ms }, _)) => Some(wait_ms),
            Ok(_) | Err(_) => None,
        }
    }

    #[test]
    fn two_runs_at_one_host_take_turns() {
        let turns = Turns::new(1, None);
        let ((a, to_a), (b, to_b)) = (enter(&turns), enter(&turns));
        turns.ask(a, "shop.test", Duration::ZERO);
        turns.ask(b, "SHOP.test", Duration::ZERO);
        assert_eq!((turn(&to_a), turn(&to_b)), (Some(0), None), "the second stands in line");
        turns.over(a, Duration::from_secs(3_600));
        assert!(turn(&to_b).is_some_and(|wait| wait > 3_000_000), "and is told of the peace the host wants");
    }

    #[test]
    fn a_run_that_crashes_makes_room() {
        let turns = Turns::new(1, None);
        let ((a, _to_a), (b, to_b)) = (enter(&turns), enter(&turns));
        turns.ask(a, "shop.test", Duration::ZERO);
        turns.ask(b, "shop.test", Duration::ZERO);
        turns.leave(a);
        assert_eq!(turn(&to_b), Some(0));
    }

    #[test]
    fn a_run_that_rests_makes_room_and_can_ask_again() {
        let turns = Turns::new(1, None);
        let ((a, to_a), (b, to_b)) = (enter(&turns), enter(&turns));
        turns.ask(a, "shop.test", Duration::ZERO);
        turns.ask(b, "shop.test", Duration::ZERO);
        turns.rest(a);
        assert_eq!((turn(&to_a), turn(&to_b)), (Some(0), Some(0)));
        turns.ask(a, "shop.test", Duration::ZERO);
        assert_eq!(turn(&to_a), None, "it stands in line again");
        turns.over(b, Duration::ZERO);
        assert_eq!(turn(&to_a), Some(0));
    }

    #[test]
    fn a_child_that_asks_and_asks_fills_no_line() {
        let turns = Turns::new(1, None);
        let ((a, _to_a), (b, to_b), (c, to_c)) = (enter(&turns), enter(&turns), enter(&turns));
        turns.ask(a, "shop.test", Duration::ZERO);
        for _ in 0..1_000 {
            turns.ask(b, "shop.test", Duration::ZERO);
        }
        turns.ask(c, "shop.test", Duration::ZERO);
        turns.leave(a);
        turns.ask(b, &"x".repeat(1_000), Duration::ZERO);
        assert_eq!((turn(&to_b), turn(&to_b)), (Some(0), None), "one turn, and no answer to nonsense");
        assert_eq!(turn(&to_c), Some(0), "which it gave up by asking for another");
    }
}
