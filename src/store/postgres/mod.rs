//! PostgreSQL, and databases that are compatible with it; any number of daemons.
//!
//! Rows are stored in one table for each set of columns that a task has had (`_rows_N`, N is the shape), under the
//! number of their generation; the view named as the task shows those of the published one. Publishing updates two rows
//! of `_generation`: tables are created only when the columns change.

mod changes;
mod connection;
mod error;
mod export;
mod fleet;
mod folders;
mod gc;
mod generation;
mod history;
mod import;
mod index;
mod maintenance;
mod open;
mod publish;
mod review;
mod rows;
mod runs;
mod schema;
mod search;
mod session;
mod shape;
mod sql;
mod stage;
mod tls;
mod unchanged_prefix;
mod verify;
mod view;

use std::collections::HashMap;

use session::PgSession;

pub(super) use import::Importer;

use super::pending_ends::PendingEnds;
use super::sql::SqlSession;
use super::{Member, RetentionLimits, StoreError, StoreResult, decode, digest, names, record_diff, run_end, timestamp};
use crate::model::RunId;

/// The database, opened for writing or for reading.
pub struct Postgres {
    session: PgSession,
    retention: RetentionLimits,
    /// The fleet member that this store acts for; none for a person's command.
    member: Option<Member>,
    /// The staged rows of the runs that are running.
    staged: HashMap<RunId, stage::StagedRows>,
    /// Ends of runs that could not be recorded yet.
    pending_ends: PendingEnds,
    /// Boot id: distinguishes a run from before a reboot from one whose process id was reused.
    boot: Option<String>,
}
