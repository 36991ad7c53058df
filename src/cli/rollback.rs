//! `pieme rollback`: publishes the previous rows again and undoes the last label.

use crate::config::Config;
use crate::labelling::task;
use crate::labelling::task::UndoReport;
use crate::store::ReviewAction;

use super::resort::resort;
use super::{CliError, VerbResult, exit, output, run, task_folder, task_name};

/// Publish the previous rows again and undo the last label
///
/// The template, columns and labels that the last `pieme label` replaced are restored.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme rollback hotels\n  pieme rollback hotels --json")]
pub(super) struct Args {
    /// The name of the task
    task: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let name = task_name(&args.task)?;
    let folder = task_folder(config, &name)?;
    let verdict = resort(config, &name, ReviewAction::RollBack)?;
    let UndoReport { relabelled, asks_from_now_on } = task::undo(&folder)?;
    if verdict.is_none() && !relabelled {
        let sentence = format!("`{name}` has no previous rows and no label to undo");
        return Err(CliError::failed(sentence));
    }
    if args.json {
        return output::answer(&serde_json::json!({ "task": name, "run": verdict, "template": relabelled }));
    }
    if let Some(verdict) = &verdict {
        output::say(run::in_words(&name, verdict));
    }
    if relabelled {
        output::say(format!("{name}: restored the template, columns and labels from before the last label"));
    }
    if asks_from_now_on {
        output::say(format!(
            "{name}: a person is asked after the next redesign (expect.auto_accept = false in task.toml)"
        ));
    }
    Ok(exit::DONE)
}
