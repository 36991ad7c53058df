//! The service: watch tasks/ → schedule → spawn child → collect report → publish or quarantine.
//!
//! One loop, one closed [`Event`], one match. The loop fetches nothing, parses no HTML and never waits for a run: whatever
//! takes time happens elsewhere and comes back as an event.

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
    /// The clock has been silent for a while, or a rescan is due.
    Wakeup,
    /// A fixed chore is due.
    Chore(chores::Chore, chores::ChoreGuard),
    /// The lease in the fleet is to be renewed, and the other daemons to be looked at.
    RenewLease,
    /// Something may have changed in tasks/.
    FolderHint,
    /// A person asks for something over the control socket.
    Request(control::ControlRequest, control::ReplySender),
    /// A run has ended, or could not even begin.
    RunEnded(TaskName, Option<runner::RunEnd>),
    /// Rows were accepted, dropped or brought back at a person's word.
    Resorted(TaskName),
    /// The other daemons that share the store were looked at.
    LeaseRenewed(Result<Option<crate::store::HeartbeatReport>, crate::store::StoreError>),
    /// SIGHUP: look at everything again.
    Reload,
    /// SIGTERM or SIGINT: take no new work, let the children finish for a while.
    Stop,
}
