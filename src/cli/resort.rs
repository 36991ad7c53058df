//! Rows that are not published, at a person's word: by the daemon when there is one, otherwise in the store itself.

use std::time::Duration;

use chrono::Utc;

use crate::config::Config;
use crate::daemon::control::{self, ControlReply, ControlRequest};
use crate::daemon::indexer;
use crate::daemon::lock::StateLock;
use crate::model::{TaskName, Verdict};
use crate::store::{ReviewAction, Store, StoreError};

use super::{CliError, exit, output, refusal};

/// Half a million rows are published in some seconds; a daemon may be busy with others.
const PATIENCE: Duration = Duration::from_secs(300);
/// One that hangs does not even say how far its runs are.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The verdict of the run that this made; none where there are no such rows, and for dropping.
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
    let mut answer = Err(silent(&"it hung up"));
    control::call_blocking(socket, &ControlRequest::Resort { task: name.clone(), what }, PATIENCE, |reply| {
        answer = match reply {
            ControlReply::Ended(verdict) => Ok(Some(verdict)),
            ControlReply::Done => Ok(None),
            reply => Err(refusal(&reply).unwrap_or_else(|| silent(&"it answers something else"))),
        };
    })
    .map_err(|error| silent(&error))?;
    answer
}

/// The rows are published all the same.
pub fn note_unindexed(error: &StoreError) {
    output::note(format!("pieme: the index of words is behind: {error}; the next run brings it up to date"));
}
