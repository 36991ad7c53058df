//! The service: watch tasks/ → schedule → spawn child → collect report → publish or quarantine.
//!
//! One event loop over one closed [`Event`] enum. The loop fetches nothing, parses no HTML and never waits for a run:
//! whatever takes time runs in the background and comes back as an event.

mod adopt;
pub mod alerts;
pub mod child;
mod chores;
pub mod collect;
pub mod connections;
pub mod control;
mod fleet;
pub mod folder_sync;
pub mod gc;
pub mod handle;
pub mod host_limiter;
mod host_metrics;
pub mod http;
pub mod indexer;
mod intake;
pub mod lock;
pub mod log;
mod metrics;
mod open_store;
pub mod overtime;
mod process;
pub mod progress;
mod review;
pub mod runner;
pub mod schedule;
pub mod scratch;
mod service;
pub mod spawn;
pub mod stepping;
pub mod store_handle;
pub mod threads;
pub mod watch;

pub use service::{DaemonError, run};

use crate::model::TaskName;

/// Everything that can happen to the daemon.
pub enum Event {
    /// A second has passed, more or less.
    Tick,
    /// The loop's own timeout: no event came in time, a rescan is due, or a planned run is.
    Wakeup,
    /// A fixed chore is due.
    Chore(chores::Chore, chores::ChoreGuard),
    /// The fleet lease is due for renewal; the heartbeat also reads what the other daemons do.
    RenewLease,
    /// Something may have changed in tasks/.
    FolderHint,
    /// A request from the control socket or the dashboard.
    Request(control::ControlRequest, control::ReplySender),
    /// A run has ended. `None`: its slot was taken, or another daemon owns the task.
    RunEnded(TaskName, Option<runner::RunEnd>),
    /// A person has accepted, dropped or rolled back rows.
    Resorted(TaskName),
    /// The result of a lease renewal.
    LeaseRenewed(Result<Option<crate::store::HeartbeatReport>, crate::store::StoreError>),
    /// SIGHUP: rescan the task folders.
    Reload,
    /// SIGTERM or SIGINT: start no new run, and give the children `stop_grace` to finish.
    Stop,
}
