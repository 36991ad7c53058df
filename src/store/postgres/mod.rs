//! PostgreSQL, and the databases that speak as it does; any number of daemons.
//!
//! Rows stand in one table for each set of columns that a task has had (`_rows_N`, N is the shape), under the number of their
//! generation; the view named as the task shows those of the published one. Publishing is a change of two rows in
//! `_generation`: tables are made only when the columns change.

mod trouble;
mod tls;
mod line;
mod session;
mod open;
mod schema;
mod view;
mod shape;
mod generation;
mod stage;
mod follow;
mod publish;
mod runs;
mod trace;
mod tasks;
mod alerts;
mod gc;
mod rows;
mod browse;
mod reader;
mod changes;
mod history;
mod index;
mod search;
mod aside;
mod fleet;
mod folders;
mod verify;
mod giving;
mod taking;
mod alive;

use std::collections::HashMap;

use session::Session;

pub(super) use taking::Taker;

use super::owed::Owings;
use super::{Keep, Member, StoreError, compare, digest, names, record, settle, stamp, stored};
use crate::model::RunId;

/// The database, opened for writing or for reading.
pub struct Postgres {
    session: Session,
    keep: Keep,
    /// Whom this store acts for, among daemons that share it; none: a person's command.
    member: Option<Member>,
    /// The rows of the runs that are going.
    staged: HashMap<RunId, stage::Staged>,
    /// Ends of runs that could not be written down yet.
    owed: Owings,
    /// Tells a run of before a reboot from one whose process id was given out again.
    boot: Option<String>,
}
