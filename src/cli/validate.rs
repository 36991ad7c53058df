//! `pieme validate`: checks task folders and lists every mistake.

use serde::Serialize;

use crate::config::Config;
use crate::model::counted;
use crate::tasks;
use crate::tasks::{Problem, TaskRegistry};

use super::permissions::DaemonUser;
use super::{CliError, VerbResult, exit, output, task_name};

/// Check task folders: every mistake with file, line and hint
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme validate\n  pieme validate hotels")]
pub(super) struct Args {
    /// Only this task
    task: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FolderFinding {
    task: String,
    ok: bool,
    /// The first mistake, its fields flattened into this object.
    #[serde(flatten)]
    first: Option<Problem>,
    /// All mistakes, by file and line.
    problems: Vec<Problem>,
    notes: Vec<String>,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let only = args.task.as_deref().map(task_name).transpose()?;
    let mut registry = TaskRegistry::new(config.tasks.clone()).with_channels(config.channels());
    registry.rescan();
    let daemon = DaemonUser::of(config);
    let findings: Vec<FolderFinding> = registry
        .iter()
        .filter(|(name, _)| only.as_ref().is_none_or(|only| *name == only))
        .map(|(name, entry)| {
            let mut problems = entry.problem.clone().map(Problem::into_all).unwrap_or_default();
            let folder = config.tasks.join(name.as_str());
            // The good version is the one before where there are mistakes.
            let good = entry.good.iter().filter(|_| problems.is_empty());
            problems.extend(good.flat_map(|it| config.ungranted(it)).collect::<Vec<_>>());
            problems.extend(tasks::check_labels(&folder));
            problems.extend(daemon.iter().flat_map(|it| it.problems(&folder)));
            let notes = entry.good.as_ref().map(|it| it.notes.clone()).unwrap_or_default();
            finding(name.to_string(), problems, notes)
        })
        .chain(registry.strays().iter().filter(|_| only.is_none()).map(refused))
        .collect();
    if let (Some(name), true) = (&only, findings.is_empty()) {
        return Err(CliError::usage(super::no_such_task(config, name)));
    }
    let sound = findings.iter().all(|finding| finding.ok);
    if args.json {
        output::json(&serde_json::json!({ "ok": sound, "tasks": findings }));
    } else {
        findings.iter().for_each(print);
        if findings.is_empty() {
            output::say(format!("No tasks in {}.", config.tasks.display()));
        }
    }
    Ok(if sound { exit::DONE } else { exit::CONFIG })
}

fn finding(task: String, problems: Vec<Problem>, notes: Vec<String>) -> FolderFinding {
    FolderFinding { task, ok: problems.is_empty(), first: problems.first().cloned(), problems, notes }
}

fn refused(problem: &Problem) -> FolderFinding {
    let task = problem.file.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    finding(task, vec![problem.clone()], Vec::new())
}

fn print(finding: &FolderFinding) {
    let task = output::cell(&finding.task, 80);
    match finding.problems.len() {
        0 => output::say(format!("{task}: ok")),
        mistakes => output::say(format!("{task}: {}", counted(mistakes, "mistake"))),
    }
    for problem in &finding.problems {
        output::say(format!("{problem}\n"));
    }
    for note in &finding.notes {
        output::say(format!("  note: {note}"));
    }
}
