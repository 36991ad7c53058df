//! Fleet membership: several daemons on one store. Each daemon has a name, a lease that it renews while it is alive,
//! and a fencing token, a number that only grows. A write with an old fencing token is refused.
//!
//! A task is owned by one daemon at a time; only the owner runs it, sends its alerts and maintains its history. A
//! SQLite file has one writer, which owns every task: that is what the default methods of this trait implement.

use std::time::Duration;

use super::StoreResult;
use crate::model::{RunId, TaskName};

/// A daemon of the fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// Fencing token. Grows whenever a daemon takes this name, and when other daemons have declared it dead.
    pub fence: i64,
    pub lease: Duration,
}

/// What a heartbeat reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatReport {
    /// The tasks that this daemon owns, and whether they are paused.
    pub own_tasks: Vec<(TaskName, bool)>,
    /// Runs of dead daemons; they are recorded as `crash`, and their tasks are due.
    pub crashed_runs: Vec<(RunId, TaskName)>,
    /// Living daemons, including this one.
    pub members: u64,
    /// Set where other daemons had declared this one dead: it has joined again with a new fencing token.
    pub rejoined_as: Option<Member>,
    /// Differs when a shared folder has changed.
    pub folders: (i64, i64),
}

pub trait FleetMembership {
    /// Joins the fleet under a name that no other living daemon has. `home` distinguishes a restarted daemon from
    /// another one of the same name.
    fn join(&mut self, _name: &str, _home: &str, _lease: Duration) -> StoreResult<Option<Member>> {
        Ok(None)
    }

    /// From now on this store writes as this member.
    fn set_member(&mut self, _member: Member) {}

    /// Renews the lease and fences daemons whose lease has expired. If `shares`, claims a fair share of the tasks, and
    /// releases the excess, but nothing that is `busy`.
    fn heartbeat(&mut self, _busy: &[TaskName], _shares: bool) -> StoreResult<Option<HeartbeatReport>> {
        Ok(None)
    }

    /// Takes a task over at a person's request, unless it is running. Returns whether this daemon owns it now.
    fn claim(&mut self, _task: &TaskName) -> StoreResult<bool> {
        Ok(true)
    }

    /// Leaves the fleet and releases its tasks.
    fn leave(&mut self) -> StoreResult<()> {
        Ok(())
    }

    /// Reserves the next request slot of a host for the whole fleet; the host then rests for `delay`. Returns how long
    /// to wait for the slot.
    fn reserve_host_turn(&mut self, _host: &str, _delay: Duration) -> StoreResult<Duration> {
        Ok(Duration::ZERO)
    }

    /// Blocks a host for `pause`, for the whole fleet.
    fn back_off_host(&mut self, _host: &str, _pause: Duration) -> StoreResult<()> {
        Ok(())
    }
}
