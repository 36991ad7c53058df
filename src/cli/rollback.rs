//! `pieme rollback`: the rows of before, and the template that they came from.

use crate::config::Config;
use crate::store::Resort;
use crate::supervise::{self, Undone};

use super::resort::resort;
use super::{Complaint, Done, exit, out, run, task_folder, task_name};

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

pub fn run(config: &Config, args: Args) -> Done {
    let name = task_name(&args.task)?;
    let folder = task_folder(config, &name)?;
    let verdict = resort(config, &name, Resort::RollBack)?;
    let Undone { relabelled, asks_from_now_on } = supervise::undo(&folder)?;
    if verdict.is_none() && !relabelled {
        let sentence = format!("`{name}` has no rows before those of now, and was not labelled anew");
        return Err(Complaint::new(exit::FAILED, sentence));
    }
    if args.json {
        out::json(&serde_json::json!({ "task": name, "run": verdict, "template": relabelled }));
        return Ok(exit::DONE);
    }
    if let Some(verdict) = &verdict {
        out::say(run::in_words(&name, verdict));
    }
    if relabelled {
        out::say(format!("{name}: template, columns and labels are those of before the last labelling"));
    }
    if asks_from_now_on {
        out::say(format!(
            "{name}: a person is asked after the next redesign (expect.auto_accept = false in task.toml)"
        ));
    }
    Ok(exit::DONE)
}
