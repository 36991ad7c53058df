//! The service: watch tasks/ → schedule → spawn child → collect report → publish or quarantine.
//!
//! One loop, one closed [`Event`], one match. The loop fetches nothing, parses no HTML and never waits for a run: whatever
//! takes time happens elsewhere and comes back as an event.

mod adopt;
pub mod agenda;
mod alerts;
mod chores;
pub mod clock;
pub mod collect;
pub mod control;
pub mod connections;
mod broker;
mod courier;
mod desk;
pub mod door;
mod figures;
mod fleet;
pub mod folders;
pub mod gc;
mod host_metrics;
pub mod indexer;
pub mod http;
pub mod keeper;
pub mod lock;
pub mod log;
mod opening;
pub mod overtime;
mod process;
pub mod progress;
pub mod runner;
mod mend;
pub mod still;
pub mod scratch;
pub mod spawn;
pub mod stepping;
pub mod threads;
pub mod turns;
mod service;
mod plan;
pub mod refused;
mod resort;
pub mod crashes;
mod intake;
mod pause;
pub mod watch;

pub use service::{DaemonError, run};

use crate::model::TaskName;

/// Everything that can happen to the daemon.
pub enum Event {
    /// A second has passed, more or less.
    Tick,
    /// The clock has been silent for a while, or a rescan is due.
    OwnTick,
    /// A fixed chore is due.
    Chore(chores::Chore, chores::ChoreGuard),
    /// The lease in the fleet is to be renewed, and the other daemons to be looked at.
    FleetRound,
    /// Something may have changed in tasks/.
    FolderHint,
    /// A person asks for something over the control socket.
    Request(control::Request, control::Replies),
    /// A run has ended, or could not even begin.
    Ended(TaskName, Option<runner::End>),
    /// Rows were accepted, dropped or brought back at a person's word.
    Resorted(TaskName),
    /// The other daemons that share the store were looked at.
    Fleet(Result<Option<crate::store::Look>, crate::store::StoreError>),
    /// SIGHUP: look at everything again.
    Reload,
    /// SIGTERM or SIGINT: take no new work, let the children finish for a while.
    Stop,
}
