//! `pieme pause`: the schedule leaves tasks alone; by the daemon when there is one, otherwise in the store itself.

use std::time::Duration;

use chrono::Utc;

use crate::config::Config;
use crate::daemon::control::{self, ControlReply, ControlRequest};
use crate::daemon::lock::StateLock;
use crate::model::TaskName;
use crate::store::Store;

use super::{CliError, VerbResult, exit, output, refusal, task_name};

/// Leave tasks alone until `pieme resume`; a run under way goes on
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme pause hotels\n  pieme pause hotels flats --json")]
pub struct Args {
    /// The names of the tasks
    #[arg(required = true, value_name = "TASK")]
    tasks: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A daemon that takes in ten thousand folders answers after some seconds.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(config: &Config, args: Args) -> VerbResult {
    set(config, &args.tasks, true, args.json)
}

/// Pauses or resumes all of the tasks, or none where one of them is not there.
pub fn set(config: &Config, tasks: &[String], paused: bool, json: bool) -> VerbResult {
    let names = tasks.iter().map(|task| task_name(task)).collect::<Result<Vec<TaskName>, _>>()?;
    if let Some(unknown) = names.iter().find(|name| !config.tasks.join(name.as_str()).is_dir()) {
        return Err(CliError::new(exit::USAGE, super::no_such_task(config, unknown)));
    }
    if StateLock::is_taken(&config.lock()) {
        by_daemon(config, &names, paused)?
    } else {
        from_here(config, &names, paused)?
    }
    if json {
        let tasks: Vec<_> = names.iter().map(|task| serde_json::json!({ "task": task, "paused": paused })).collect();
        output::json(&serde_json::json!({ "tasks": tasks }));
    } else {
        for name in &names {
            output::say(if paused {
                format!(
                    "{name} is paused: the schedule leaves it alone until `pieme resume {name}`; `pieme run {name}` still runs it"
                )
            } else {
                format!("{name} is resumed; `pieme status {name}` says when it runs next")
            });
        }
    }
    Ok(exit::DONE)
}

fn by_daemon(config: &Config, names: &[TaskName], paused: bool) -> Result<(), CliError> {
    let socket = &config.socket;
    let silent = |error: &dyn std::fmt::Display| {
        CliError::new(exit::TEMPORARY, format!("the daemon does not answer at {}: {error}", socket.display()))
    };
    for name in names {
        let task = name.clone();
        let request = if paused { ControlRequest::Pause { task } } else { ControlRequest::Resume { task } };
        let mut answer = Err(silent(&"it hung up"));
        let asked = control::call_blocking(socket, &request, PATIENCE, |reply| {
            answer = match reply {
                ControlReply::Done => Ok(()),
                reply => Err(refusal(&reply).unwrap_or_else(|| silent(&"it answers something else"))),
            };
        });
        asked.map_err(|error| silent(&error))?;
        answer?;
    }
    Ok(())
}

fn from_here(config: &Config, names: &[TaskName], paused: bool) -> Result<(), CliError> {
    let failed = |error: &dyn std::fmt::Display| CliError::new(exit::FAILED, error.to_string());
    std::fs::create_dir_all(&config.state).map_err(|error| failed(&error))?;
    let _lock = StateLock::take(&config.lock())?;
    let mut store = Store::open(&config.store)?;
    for name in names {
        // One that no daemon has seen yet; a folder that cannot be read can be paused all the same.
        let folder = crate::tasks::read(&config.tasks.join(name.as_str())).ok();
        store.upsert_task(name, folder.and_then(|it| it.task.title).as_deref(), Utc::now())?;
        store.set_paused(name, paused)?;
        if paused {
            store.set_next_due(name, None)?;
        }
    }
    Ok(())
}
