//! `pieme validate`: are the task folders sound?

use serde::Serialize;

use crate::config::Config;
use crate::model::TaskName;
use crate::taskdir::{Problem, Shelf};

use super::{Complaint, Done, exit, out, task_name};

/// Check task folders: every mistake with file, line and a hint
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme validate\n  pieme validate hotels")]
pub struct Args {
    /// Only this task
    task: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Finding {
    task: String,
    ok: bool,
    #[serde(flatten)]
    problem: Option<Problem>,
    notes: Vec<String>,
}

pub fn run(config: &Config, args: Args) -> Done {
    let only = args.task.as_deref().map(task_name).transpose()?;
    let mut shelf = Shelf::new(config.tasks.clone()).with_channels(config.channels());
    shelf.rescan();
    let findings: Vec<Finding> = shelf
        .iter()
        .filter(|(name, _)| only.as_ref().is_none_or(|only| *name == only))
        .map(|(name, entry)| finding(name, entry.problem.clone(), entry.good.as_ref().map(|it| it.notes.clone())))
        .chain(shelf.strays().iter().filter(|_| only.is_none()).map(refused))
        .collect();
    if let (Some(name), true) = (&only, findings.is_empty()) {
        return Err(Complaint::new(exit::USAGE, super::no_such_task(config, name)));
    }
    let sound = findings.iter().all(|finding| finding.ok);
    if args.json {
        out::json(&serde_json::json!({ "ok": sound, "tasks": findings }));
    } else {
        findings.iter().for_each(print);
        if findings.is_empty() {
            out::say(format!("no tasks in {}", config.tasks.display()));
        }
    }
    Ok(if sound { exit::DONE } else { exit::CONFIG })
}

fn finding(name: &TaskName, problem: Option<Problem>, notes: Option<Vec<String>>) -> Finding {
    Finding { task: name.to_string(), ok: problem.is_none(), problem, notes: notes.unwrap_or_default() }
}

fn refused(problem: &Problem) -> Finding {
    let task = problem.file.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    Finding { task, ok: false, problem: Some(problem.clone()), notes: Vec::new() }
}

fn print(finding: &Finding) {
    match &finding.problem {
        Some(problem) => out::say(format!("{}: not sound\n{problem}\n", out::cell(&finding.task, 80))),
        None => out::say(format!("{}: sound", finding.task)),
    }
    for note in &finding.notes {
        out::say(format!("  note: {note}"));
    }
}
