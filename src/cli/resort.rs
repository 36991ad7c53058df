//! Applies a person's decision about rows (accept, drop, roll back); through the daemon if one runs, otherwise in the
//! database.

use std::time::Duration;

use chrono::Utc;

use crate::config::Config;
use crate::daemon::http::control::{self, ControlReply, ControlRequest};
use crate::daemon::lock::StateLock;
use crate::daemon::maintenance::indexer;
use crate::model::{TaskName, Verdict};
use crate::store::{ReviewAction, Store, StoreError};

use super::{CliError, ask_daemon, output};

/// Half a million rows are published in some seconds; the daemon may be busy with other tasks.
const PATIENCE: Duration = Duration::from_secs(300);
/// A daemon that hangs does not answer a progress request within this time.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the verdict of the run that the decision created; none for a drop, or where there are no such rows.
pub(super) fn resort(config: &Config, name: &TaskName, what: ReviewAction) -> Result<Option<Verdict>, CliError> {
    if !StateLock::is_taken(&config.lock()) {
        let _lock = StateLock::take(&config.lock())?;
        let folder = crate::tasks::read(&config.tasks.join(name.as_str())).ok();
        let key = folder.map(|it| it.task.data.key).unwrap_or_default();
        let mut store = Store::open(&config.store)?;
        let verdict = store.apply_review(name, what, &key, Utc::now())?;
        indexer::catch_up(&mut store, name).unwrap_or_else(|error| note_unindexed(&error));
        return Ok(verdict);
    }
    let is_there = control::call_blocking(&config.socket, &ControlRequest::Progress, PROBE_TIMEOUT, drop);
    is_there.map_err(|error| CliError::unanswered(&config.socket, error))?;
    match ask_daemon(config, &ControlRequest::Resort { task: name.clone(), what }, PATIENCE)? {
        ControlReply::Ended(verdict) => Ok(Some(*verdict)),
        ControlReply::Done => Ok(None),
        _ => Err(CliError::unanswered(&config.socket, "unexpected answer")),
    }
}

/// Notes that the search index is incomplete; the rows are published.
pub(super) fn note_unindexed(error: &StoreError) {
    output::note(format!("pieme: the search index was not updated: {error}; the next run updates it"));
}
