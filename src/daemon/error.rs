//! Why the daemon could not start, or had to end.

use std::io;
use std::path::PathBuf;

use crate::store::StoreError;

use super::lock::LockError;

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("starting the scheduler failed: {0}")]
    Clock(#[from] tokio_cron_scheduler::JobSchedulerError),
    #[error(
        "the state folder {} was moved or replaced while the daemon ran, so the daemon stops: a second one could \
         use it now. Start it again",
        .0.display()
    )]
    StateMoved(PathBuf),
}

impl DaemonError {
    /// For `map_err` on an [`io::Error`].
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> DaemonError {
        let what = what.into();
        move |source| DaemonError::Io { what, source }
    }
}
