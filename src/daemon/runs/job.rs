//! Builds the jobs of a run and of a stepping session from the task's folder, the store and config.toml.

use crate::config::Config;
use crate::config::secret_use;
use crate::daemon::child::scratch::ScratchFolder;
use crate::daemon::store_handle::StoreHandle;
use crate::model::task::Engine;
use crate::model::{Failure, RunId, Verdict, shortage};
use crate::protocol::{FetchInput, RunJob, Secrets};
use crate::tasks;
use crate::tasks::{TaskFolder, TemplateText};

use super::baseline;
use super::verdict::{file_failure, secret_failure, store_failure};

/// The job of a run, without cached pages, and a scratch folder for a browser.
pub(super) async fn run_job(
    config: &Config,
    store: &StoreHandle,
    folder: &TaskFolder,
    run: RunId,
) -> Result<(RunJob, Option<ScratchFolder>), Verdict> {
    let name = folder.name.clone();
    let labels = tasks::read_labels(&folder.dir).map_err(file_failure)?;
    let good = store.call(move |store| baseline::good_runs(store, &name)).await.map_err(store_failure)?;
    let past = baseline::since_label(good, &labels, folder);
    let (fetch, scratch) = fetch_input(config, folder, run).map_err(|verdict| *verdict)?;
    let details = tasks::read_details(&folder.dir).map_err(file_failure)?;
    Ok((RunJob { fetch, details, confirmed: labels.is_confirmed(), past }, scratch))
}

/// What the child of a run or of a stepping session needs.
pub(super) fn fetch_input(
    config: &Config,
    folder: &TaskFolder,
    run: RunId,
) -> Result<(FetchInput, Option<ScratchFolder>), Box<Verdict>> {
    let grants = config.grants.current();
    grants.check(folder).map_err(file_failure)?;
    let scratch = match folder.task.fetch.engine {
        Engine::Http => None,
        Engine::Browser => Some(ScratchFolder::new(config, run).map_err(|error| {
            let why = shortage::in_words(&error);
            Verdict::failed(Failure::Internal, format!("creating the browser's profile folder failed: {why}"))
        })?),
    };
    let mut input = FetchInput {
        addresses: grants.addresses_of(&folder.name),
        files: tasks::read_items(&folder.dir, &folder.script).map_err(file_failure)?,
        secrets: secret_use::granted(config, folder).map(Secrets).map_err(|error| secret_failure(&error))?,
        cookies: tasks::read_cookies(&folder.dir).map_err(file_failure)?,
        robots: tasks::read_robots(&folder.dir),
        browser: config.browser.clone(),
        scratch: scratch.as_ref().map(|scratch| scratch.path().to_owned()),
        ..FetchInput::new(&folder.task, &folder.script, folder.template.as_ref().map(TemplateText::text))
    };
    input.task.limits = grants.ceiling.lower(&folder.task.limits);
    Ok((input, scratch))
}
