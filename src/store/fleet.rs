//! Daemons that share a store: each has a name, a lease that it renews while it lives, and a number that only grows. What a
//! daemon writes under a number that is no longer its own is refused.
//!
//! A task belongs to one daemon at a time; only that one runs it, tells its people and looks after its past. A file of SQLite
//! has one writer: there every task is its own, which is what the words of this trait mean by default.

use std::time::Duration;

use super::StoreError;
use crate::model::{RunId, TaskName};

/// A daemon among those that share a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// Grows whenever a daemon takes this name, and when others have buried it.
    pub fence: i64,
    pub lease: Duration,
}

/// What a look round the fleet has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatReport {
    /// The tasks that are this daemon's, and whether they are paused.
    pub own_tasks: Vec<(TaskName, bool)>,
    /// Runs of daemons that are gone; they are recorded as crash, and their tasks are due.
    pub crashed_runs: Vec<(RunId, TaskName)>,
    /// Daemons that are there, this one among them.
    pub members: u64,
    /// Others had buried this one: from now on it is another.
    pub rejoined_as: Option<Member>,
    /// Differs when a shared folder does.
    pub folders: (i64, i64),
}

pub trait FleetMembership {
    /// Joins the daemons that share this store, under a name that no other living one has. `home` tells a daemon that starts again
    /// from another one of the same name.
    fn join(&mut self, _name: &str, _home: &str, _lease: Duration) -> Result<Option<Member>, StoreError> {
        Ok(None)
    }

    /// What is written from now on is this member's.
    fn set_member(&mut self, _member: Member) {}

    /// Renews the lease and buries the dead. If `shares`, takes a fair share of the tasks, and gives up what is more than that,
    /// but nothing that is `busy`.
    fn heartbeat(&mut self, _busy: &[TaskName], _shares: bool) -> Result<Option<HeartbeatReport>, StoreError> {
        Ok(None)
    }

    /// Takes a task over at a person's word, unless it is running. Says whether it is this daemon's now.
    fn claim(&mut self, _task: &TaskName) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Goes, and leaves its tasks to the others.
    fn leave(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Books the next turn at a host over the whole fleet, which is left alone for `delay` after it. Says how long to wait for it.
    fn reserve_host_turn(&mut self, _host: &str, _delay: Duration) -> Result<Duration, StoreError> {
        Ok(Duration::ZERO)
    }

    /// A host wants to be left alone for so long, by everybody.
    fn back_off_host(&mut self, _host: &str, _pause: Duration) -> Result<(), StoreError> {
        Ok(())
    }
}
