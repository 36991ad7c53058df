//! `pieme rollback`: the rows of before, and the template that they came from.

use crate::config::Config;
use crate::labelling::task;
use crate::labelling::task::UndoReport;
use crate::store::ReviewAction;

use super::resort::resort;
use super::{CliError, VerbResult, exit, output, run, task_folder, task_name};

/// Publish the rows before those of now again, and undo the last labelling with them
///
/// The template, columns and labels that the last `pieme label` replaced come back with the rows.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme rollback hotels\n  pieme rollback hotels --json")]
pub struct Args {
    /// The name of the task
    task: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(config: &Config, args: Args) -> VerbResult {
    let name = task_name(&args.task)?;
    let folder = task_folder(config, &name)?;
    let verdict = resort(config, &name, ReviewAction::RollBack)?;
    let UndoReport { relabelled, asks_from_now_on } = task::undo(&folder)?;
    if verdict.is_none() && !relabelled {
        let sentence = format!("`{name}` has no rows before those of now, and was not labelled anew");
        return Err(CliError::new(exit::FAILED, sentence));
    }
    if args.json {
        output::json(&serde_json::json!({ "task": name, "run": verdict, "template": relabelled }));
        return Ok(exit::DONE);
    }
    if let Some(verdict) = &verdict {
        output::say(run::in_words(&name, verdict));
    }
    if relabelled {
        output::say(format!("{name}: template, columns and labels are those of before the last labelling"));
    }
    if asks_from_now_on {
        output::say(format!(
            "{name}: a person is asked after the next redesign (expect.auto_accept = false in task.toml)"
        ));
    }
    Ok(exit::DONE)
}
