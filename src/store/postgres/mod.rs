//! PostgreSQL, and the databases that speak as it does; any number of daemons.
//!
//! Rows stand in one table for each set of columns that a task has had (`_rows_N`, N is the shape), under the number of their
//! generation; the view named as the task shows those of the published one. Publishing is a change of two rows in
//! `_generation`: tables are made only when the columns change.

mod error;
mod artifacts;
mod import;
mod connection;
mod export;
mod unchanged_prefix;
mod review;
mod maintenance;
mod outbox;
mod tls;
mod session;
mod open;
mod schema;
mod view;
mod shape;
mod generation;
mod stage;
mod publish;
mod runs;
mod tasks;
mod gc;
mod rows;
mod browse;
mod reader;
mod changes;
mod history;
mod index;
mod search;
mod fleet;
mod folders;
mod verify;

use std::collections::HashMap;

use session::PgSession;

pub(super) use self::import::Importer;

use super::pending_ends::PendingEnds;
use super::{Member, RetentionLimits, StoreError, compare, decode, digest, names, record_diff, run_end, timestamp};
use crate::model::RunId;

/// The database, opened for writing or for reading.
pub struct Postgres {
    session: PgSession,
    retention: RetentionLimits,
    /// Whom this store acts for, among daemons that share it; none: a person's command.
    member: Option<Member>,
    /// The rows of the runs that are going.
    staged: HashMap<RunId, stage::StagedRows>,
    /// Ends of runs that could not be written down yet.
    pending_ends: PendingEnds,
    /// Tells a run of before a reboot from one whose process id was given out again.
    boot: Option<String>,
}
