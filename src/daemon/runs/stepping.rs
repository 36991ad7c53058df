//! Starts a stepping session, for the dashboard or for `pieme step`.

use std::io;

use crate::config::Config;
use crate::daemon::child::host_limiter::SharedHostLimiter;
use crate::daemon::child::spawn::Spawner;
use crate::daemon::child::stepping::StepProcess;
use crate::model::{RunId, StepwiseState, TaskName, shortage};
use crate::protocol::{StepAudience, StepJob};
use crate::tasks::TaskFolder;

use super::job;

/// Why a stepping session could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StepStartError {
    /// The job could not be built.
    #[error("{0}")]
    Job(String),
    #[error("starting the process failed: {}", shortage::in_words(.0))]
    Spawn(io::Error),
    #[error("the robot could not be started; `pieme run {0}` says why")]
    NoAnswer(TaskName),
}

/// As [`start_stepping`], for a terminal; with `keep_session` the states have the cookies.
pub async fn start_stepping_in_terminal(
    config: &Config,
    spawner: &Spawner,
    host_limiter: SharedHostLimiter,
    folder: &TaskFolder,
    keep_session: bool,
) -> Result<(StepProcess, StepwiseState), StepStartError> {
    start_stepping(config, spawner, host_limiter, folder, StepAudience::Terminal { keep_session }).await
}

/// Starts the sandboxed process and waits until it is ready for the first step.
pub(super) async fn start_stepping(
    config: &Config,
    spawner: &Spawner,
    host_limiter: SharedHostLimiter,
    folder: &TaskFolder,
    audience: StepAudience,
) -> Result<(StepProcess, StepwiseState), StepStartError> {
    let built = job::fetch_input(config, folder, RunId::new());
    let (fetch, scratch) = built.map_err(|verdict| StepStartError::Job(verdict.sentence))?;
    let started = StepProcess::start(spawner, host_limiter, folder, StepJob { fetch, audience }, scratch).await;
    let mut process = started.map_err(StepStartError::Spawn)?;
    match process.first_state().await {
        Some(state) => Ok((process, state)),
        None => Err(StepStartError::NoAnswer(folder.name.clone())),
    }
}
