//! Rows that are not published, at a person's word: by the daemon when there is one, otherwise in the store itself.

use std::time::Duration;

use chrono::Utc;

use crate::config::Config;
use crate::daemon::control::{self, Reply, Request};
use crate::daemon::indexer;
use crate::daemon::lock::StateLock;
use crate::model::{TaskName, Verdict};
use crate::store::{Resort, Store, StoreError};

use super::{Complaint, exit, out, refusal};

/// Half a million rows are published in some seconds; a daemon may be busy with others.
const PATIENCE: Duration = Duration::from_secs(300);
/// One that hangs does not even say how far its runs are.
const IS_THERE: Duration = Duration::from_secs(5);

/// The verdict of the run that this made; none where there are no such rows, and for dropping.
pub fn resort(config: &Config, name: &TaskName, what: Resort) -> Result<Option<Verdict>, Complaint> {
    if !StateLock::is_taken(&config.lock()) {
        let _lock = StateLock::take(&config.lock())?;
        let folder = crate::taskdir::read(&config.tasks.join(name.as_str())).ok();
        let key = folder.map(|it| it.task.data.key).unwrap_or_default();
        let mut store = Store::open(&config.store)?;
        let verdict = store.resort(name, what, &key, Utc::now())?;
        indexer::catch_up(&mut store, name).unwrap_or_else(|error| not_indexed(&error));
        return Ok(verdict);
    }
    let socket = &config.socket;
    let silent = |error: &dyn std::fmt::Display| {
        Complaint::new(exit::TEMPORARY, format!("the daemon does not answer at {}: {error}", socket.display()))
    };
    let is_there = control::ask_blocking(socket, &Request::Progress, IS_THERE, drop);
    is_there.map_err(|error| silent(&error))?;
    let mut answer = Err(silent(&"it hung up"));
    control::ask_blocking(socket, &Request::Resort { task: name.clone(), what }, PATIENCE, |reply| {
        answer = match reply {
            Reply::Ended(verdict) => Ok(Some(verdict)),
            Reply::Done => Ok(None),
            reply => Err(refusal(&reply).unwrap_or_else(|| silent(&"it answers something else"))),
        };
    })
    .map_err(|error| silent(&error))?;
    answer
}

/// The rows are published all the same.
pub fn not_indexed(error: &StoreError) {
    out::note(format!("pieme: the index of words is behind: {error}; the next run brings it up to date"));
}
