//! The service: watch tasks/ → schedule → spawn child → collect report → publish or quarantine.
//!
//! One event loop over one closed [`Event`] enum. The loop fetches nothing, parses no HTML and never waits for a run:
//! whatever takes time runs in the background and comes back as an event.

pub mod alerts;
pub mod child;
mod error;
mod event_loop;
pub mod fleet;
pub mod http;
pub mod lock;
pub mod log;
pub mod maintenance;
mod planner;
pub mod runs;
pub mod schedule;
mod startup;
pub mod store_handle;
mod systemd;
mod tasks;
pub mod threads;

pub use error::DaemonError;
pub use startup::run;

use std::time::Duration;

use crate::model::TaskName;

/// Everything that can happen to the daemon.
pub enum Event {
    /// A second has passed, more or less.
    Tick,
    /// The loop's own timeout: no event came in time, a rescan is due, or a planned run is.
    Wakeup,
    /// A fixed chore is due.
    Chore(maintenance::chores::Chore, maintenance::chores::ChoreGuard),
    /// The fleet lease is due for renewal; the heartbeat also reads what the other daemons do.
    RenewLease,
    /// Something may have changed in tasks/.
    FolderHint,
    /// A request from the control socket or the dashboard.
    Request(http::control::ControlRequest, http::control::ReplySender),
    /// A run has ended. `None`: its slot was taken, or another daemon owns the task.
    RunEnded { task: TaskName, end: Option<Box<runs::runner::RunEnd>>, took: Duration },
    /// A person has accepted, dropped or rolled back rows.
    Resorted(TaskName),
    /// The result of a lease renewal.
    LeaseRenewed(Result<Option<crate::store::HeartbeatReport>, crate::store::StoreError>),
    /// SIGHUP: rescan the task folders.
    Reload,
    /// SIGTERM or SIGINT: start no new run, and give the children `stop_grace` to finish.
    Stop,
}
