//! `pieme pause` and `pieme resume`: stop scheduling tasks, and schedule them again; through the daemon if one runs,
//! otherwise in the database.

use std::time::Duration;

use chrono::Utc;

use crate::config::Config;
use crate::daemon::http::control::{ControlReply, ControlRequest};
use crate::daemon::lock::StateLock;
use crate::model::TaskName;
use crate::store::Store;

use super::{CliError, VerbResult, ask_daemon, exit, output, task_name};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The names of the tasks
    #[arg(required = true, value_name = "TASK")]
    tasks: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A daemon that is reading ten thousand task folders answers after some seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pauses or resumes all of these tasks, or none if one of them does not exist.
pub(super) fn run(config: &Config, args: &Args, paused: bool) -> VerbResult {
    let names = args.tasks.iter().map(|task| task_name(task)).collect::<Result<Vec<TaskName>, _>>()?;
    if let Some(unknown) = names.iter().find(|name| !config.tasks.join(name.as_str()).is_dir()) {
        return Err(CliError::usage(super::no_such_task(config, unknown)));
    }
    if StateLock::is_taken(&config.lock()) {
        by_daemon(config, &names, paused)?
    } else {
        from_here(config, &names, paused)?
    }
    if args.json {
        let tasks: Vec<_> = names.iter().map(|task| serde_json::json!({ "task": task, "paused": paused })).collect();
        output::json(&serde_json::json!({ "tasks": tasks }));
    } else {
        for name in &names {
            output::say(if paused {
                format!("{name} is paused until `pieme resume {name}`; `pieme run {name}` still runs it now")
            } else {
                format!("{name} is resumed; `pieme status {name}` shows its next run")
            });
        }
    }
    Ok(exit::DONE)
}

fn by_daemon(config: &Config, names: &[TaskName], paused: bool) -> Result<(), CliError> {
    for name in names {
        let task = name.clone();
        let request = if paused { ControlRequest::Pause { task } } else { ControlRequest::Resume { task } };
        let ControlReply::Done = ask_daemon(config, &request, PATIENCE)? else {
            return Err(CliError::unanswered(&config.socket, "unexpected answer"));
        };
    }
    Ok(())
}

fn from_here(config: &Config, names: &[TaskName], paused: bool) -> Result<(), CliError> {
    config.prepare_state_folder().map_err(CliError::failed)?;
    let _lock = StateLock::take(&config.lock())?;
    let mut store = Store::open(&config.store)?;
    for name in names {
        // The daemon may not know the task yet. A task folder with mistakes can be paused too.
        let folder = crate::tasks::read(&config.tasks.join(name.as_str())).ok();
        store.upsert_task(name, folder.and_then(|it| it.task.title).as_deref(), Utc::now())?;
        store.set_paused(name, paused)?;
        if paused {
            store.set_next_due(name, None)?;
        }
    }
    Ok(())
}
