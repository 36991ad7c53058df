//! `pieme rollback`: the rows of before, and the template that they came from.

use crate::config::Config;
use crate::store::Resort;
use crate::taskdir;

use super::resort::resort;
use super::{Complaint, Done, exit, out, run, task_folder, task_name};

/// Publish the rows before those of now again, and undo the last labelling with them
///
/// The template, columns and labels that the last `pieme label` replaced come back with the rows.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme rollback hotels\n  pieme rollback hotels --json")]
pub struct Args {
    task: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(config: &Config, args: Args) -> Done {
    let name = task_name(&args.task)?;
    let folder = task_folder(config, &name)?;
    let verdict = resort(config, &name, Resort::RollBack)?;
    let labels = taskdir::read_labels(&folder.dir).map_err(|it| Complaint::new(exit::CONFIG, it.to_string()))?;
    let relabelled = taskdir::bring_back(&folder.dir).map_err(|it| Complaint::new(exit::CONFIG, it.to_string()))?;
    if verdict.is_none() && !relabelled {
        let sentence = format!("`{name}` has no rows before those of now, and was not labelled anew");
        return Err(Complaint::new(exit::FAILED, sentence));
    }
    // Otherwise the next run would do the same again.
    let asks_from_now_on = relabelled && labels.is_mended();
    if asks_from_now_on {
        taskdir::ask_before_accepting(&folder.dir).map_err(|it| Complaint::new(exit::CONFIG, it.to_string()))?;
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
