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

use super::{CliError, exit, output, refusal};

/// Half a million rows are published in some seconds; the daemon may be busy with other tasks.
const PATIENCE: Duration = Duration::from_secs(300);
/// A daemon that hangs does not answer a progress request within this time.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the verdict of the run that the decision created; none for a drop, or where there are no such rows.
pub fn resort(config: &Config, name: &TaskName, what: ReviewAction) -> Result<Option<Verdict>, CliError> {
    if !StateLock::is_taken(&config.lock()) {
        let _lock = StateLock::take(&config.lock())?;
        let folder = crate::tasks::read(&config.tasks.join(name.as_str())).ok();
        let key = folder.map(|it| it.task.data.key).unwrap_or_default();
        let mut store = Store::open(&config.store)?;
        let verdict = store.apply_review(name, what, &key, Utc::now())?;
        indexer::catch_up(&mut store, name).unwrap_or_else(|error| note_unindexed(&error));
        return Ok(verdict);
    }
    let socket = &config.socket;
    let silent = |error: &dyn std::fmt::Display| {
        CliError::new(exit::TEMPORARY, format!("the daemon does not answer at {}: {error}", socket.display()))
    };
    let is_there = control::call_blocking(socket, &ControlRequest::Progress, PROBE_TIMEOUT, drop);
    is_there.map_err(|error| silent(&error))?;
    let mut answer = Err(silent(&"connection closed"));
    control::call_blocking(socket, &ControlRequest::Resort { task: name.clone(), what }, PATIENCE, |reply| {
        answer = match reply {
            ControlReply::Ended(verdict) => Ok(Some(verdict)),
            ControlReply::Done => Ok(None),
            reply => Err(refusal(&reply).unwrap_or_else(|| silent(&"unexpected answer"))),
        };
    })
    .map_err(|error| silent(&error))?;
    answer
}

/// Notes that the search index is incomplete; the rows are published.
pub fn note_unindexed(error: &StoreError) {
    output::note(format!("pieme: the search index was not updated: {error}; the next run updates it"));
}
