//! The fixed maintenance chores of the daemon, independent of the tasks. Each is a cron job of the scheduler, in UTC. A
//! job only sends [`Event::Chore`]; the event loop performs the chore.
//!
//! A job holds the chore's lock from the event until the chore is done. So a chore never waits in the inbox twice and
//! never runs twice at once. A fire that comes meanwhile, or meets a full inbox, is dropped: the next one does the
//! work.
//!
//! The renewal of a fleet's lease is no chore: it has a timer of its own (see `fleet/member.rs`).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard, mpsc};

use crate::daemon::Event;
use crate::daemon::tasks::rescan::RESCAN_UNWATCHED;

/// The first garbage collection comes this long after the start, when the rush is over. A machine that is never on at
/// the daily time collects then.
pub const COLLECT_FIRST: Duration = Duration::from_secs(15 * 60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Garbage collection of runs, pages and rows that are not kept any longer, once a day.
    Collect,
    /// A full scan of the task folders; finds what the watcher has missed.
    Rescan,
    /// Brings the search index up to date where indexing after a publication failed.
    Index,
    /// Looks for overdue tasks. An overdue run raises no event by itself.
    Overdue,
}

impl Chore {
    pub const ALL: [Chore; 4] = [Chore::Collect, Chore::Rescan, Chore::Index, Chore::Overdue];

    /// Its cron expression with seconds, in UTC. Most schedules of tasks start runs at second 0; chores keep away
    /// from it.
    pub fn cron(self, is_watched: bool) -> String {
        match self {
            Chore::Collect => "10 43 3 * * *".to_owned(),
            Chore::Rescan if is_watched => "40 * * * * *".to_owned(),
            Chore::Rescan => format!("*/{} * * * * *", RESCAN_UNWATCHED.as_secs()),
            Chore::Index => "35 */10 * * * *".to_owned(),
            Chore::Overdue => "20,50 * * * * *".to_owned(),
        }
    }
}

/// Held while a chore waits in the inbox or is under way.
pub struct ChoreGuard(#[expect(dead_code, reason = "it is held, and never read")] OwnedMutexGuard<()>);

/// Sends chores to the event loop, each only while it is not waiting or under way already. Outlives a scheduler that is
/// replaced.
#[derive(Clone)]
pub struct ChoreSender {
    events: mpsc::Sender<Event>,
    locks: [Arc<Mutex<()>>; Chore::ALL.len()],
}

impl ChoreSender {
    pub fn new(events: mpsc::Sender<Event>) -> ChoreSender {
        ChoreSender { events, locks: Default::default() }
    }

    /// Never waits. A fire that is dropped is made up by the next one.
    pub fn fire(&self, chore: Chore) {
        let Ok(lock) = Arc::clone(&self.locks[chore as usize]).try_lock_owned() else { return };
        let _ = self.events.try_send(Event::Chore(chore, ChoreGuard(lock)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::str::FromStr;

    use chrono::{DateTime, TimeDelta, Timelike, Utc};
    use croner::parser::{CronParser, Seconds};

    use super::*;

    fn fires_of_a_day(cron: &str) -> Vec<DateTime<Utc>> {
        // The day on which clocks in Europe go forward: UTC knows nothing of it.
        let midnight = DateTime::from_str("2026-03-29T00:00:00Z").expect("a time");
        let cron = CronParser::builder().seconds(Seconds::Required).build().parse(cron).expect("a chore's cron text");
        cron.iter_from(midnight, croner::Direction::Forward)
            .take_while(|at| *at < midnight + TimeDelta::days(1))
            .collect()
    }

    #[test]
    fn every_chore_comes_as_often_as_it_should_on_any_day() {
        for (chore, is_watched, times) in [
            (Chore::Collect, true, 1),
            (Chore::Rescan, true, 24 * 60),
            (Chore::Rescan, false, 24 * 3600 / 2),
            (Chore::Index, true, 24 * 6),
            (Chore::Overdue, true, 24 * 120),
        ] {
            let fires = fires_of_a_day(&chore.cron(is_watched));
            assert_eq!(fires.len(), times, "{chore:?}, watched: {is_watched}");
        }
    }

    #[test]
    fn no_chore_of_a_watched_folder_shares_its_second_with_another_or_with_the_runs() {
        let mut taken = BTreeSet::from([0]);
        for chore in Chore::ALL {
            let seconds: BTreeSet<u32> = fires_of_a_day(&chore.cron(true)).iter().map(Timelike::second).collect();
            assert!(taken.is_disjoint(&seconds), "{chore:?} at {seconds:?}, beside {taken:?}");
            taken.extend(seconds);
        }
    }

    #[test]
    fn a_chore_that_waits_or_is_under_way_is_not_sent_again() {
        let (events, mut inbox) = mpsc::channel(8);
        let chores = ChoreSender::new(events);
        chores.fire(Chore::Rescan);
        chores.fire(Chore::Rescan);
        chores.fire(Chore::Index);
        let Ok(Event::Chore(Chore::Rescan, under_way)) = inbox.try_recv() else { panic!("the rescan comes first") };
        assert!(matches!(inbox.try_recv(), Ok(Event::Chore(Chore::Index, _))), "chores do not hold each other up");
        chores.fire(Chore::Rescan);
        assert!(inbox.try_recv().is_err(), "it is under way");
        drop(under_way);
        chores.fire(Chore::Rescan);
        assert!(matches!(inbox.try_recv(), Ok(Event::Chore(Chore::Rescan, _))), "it is done, and comes again");
    }

    #[test]
    fn a_chore_that_meets_a_full_inbox_comes_at_the_next_time() {
        let (events, mut inbox) = mpsc::channel(1);
        let chores = ChoreSender::new(events.clone());
        events.try_send(Event::FolderHint).unwrap_or_else(|_| panic!("there is room for one"));
        chores.fire(Chore::Collect);
        assert!(matches!(inbox.try_recv(), Ok(Event::FolderHint)));
        assert!(inbox.try_recv().is_err(), "the fire was dropped");
        chores.fire(Chore::Collect);
        assert!(matches!(inbox.try_recv(), Ok(Event::Chore(Chore::Collect, _))), "and its lock with it");
    }
}
