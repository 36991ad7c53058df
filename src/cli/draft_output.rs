//! Prints a drafted robot.toml or writes it into a new task folder, and lists the secrets to store.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{CliError, VerbResult, exit, output};
use crate::draft::Draft;
use crate::model::TaskName;
use crate::tasks::{self, ROBOT_FILE, TASK_FILE};

#[derive(clap::Args)]
pub(super) struct DraftOutput {
    /// Write task.toml and robot.toml into this new task folder; nothing is overwritten
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON: both files and the names of the secrets
    #[arg(long)]
    json: bool,
}

pub(super) fn print_or_write(draft: &Draft, output: &DraftOutput) -> VerbResult {
    for problem in tasks::check_script(&draft.task(), &draft.script()) {
        output::note(format!("pieme: step {}: {}", problem.step(), problem.message));
    }
    if let Some(dir) = &output.output {
        write(draft, dir)?;
    }
    if output.json {
        let secrets: Vec<_> =
            draft.secrets.iter().map(|it| json!({ "name": it.name, "what": it.description })).collect();
        output::json(&json!({ "robot": draft.robot_toml(), "task": draft.task_toml(), "secrets": secrets }));
    } else if output.output.is_none() {
        output::say(draft.robot_toml().trim_end());
    }
    note_secrets(draft);
    Ok(exit::DONE)
}

pub(super) fn unreadable(file: &Path, error: &std::io::Error) -> CliError {
    CliError::new(exit::USAGE, format!("cannot read {}: {error}", file.display()))
}

/// Lists the commands that store the secrets. Values are never printed: the person fills them in.
fn note_secrets(draft: &Draft) {
    if draft.secrets.is_empty() {
        return;
    }
    output::note("\nSecrets were left out. Store each beside config.toml:");
    for secret in &draft.secrets {
        output::note(format!(
            "  (umask 077; mkdir -p secrets; printf %s '…' > secrets/{})   # {}",
            secret.name,
            output::cell(&secret.description, 120)
        ));
    }
}

fn write(draft: &Draft, dir: &Path) -> Result<(), CliError> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    TaskName::new(&name).map_err(|error| CliError::new(exit::USAGE, error.to_string()))?;
    let files = [(TASK_FILE, draft.task_toml()), (ROBOT_FILE, draft.robot_toml())];
    if let Some((file, _)) = files.iter().find(|(file, _)| dir.join(file).symlink_metadata().is_ok()) {
        let sentence =
            format!("{} exists already and nothing is overwritten; choose another folder", dir.join(file).display());
        return Err(CliError::new(exit::USAGE, sentence));
    }
    let failed = |file: &Path, error: std::io::Error| {
        CliError::new(exit::FAILED, format!("cannot write {}: {error}", file.display()))
    };
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    // robot.toml first: a folder becomes a task by its task.toml.
    for (file, text) in files.iter().rev() {
        let path = dir.join(file);
        let mut new = std::fs::File::create_new(&path).map_err(|error| failed(&path, error))?;
        new.write_all(text.as_bytes()).map_err(|error| failed(&path, error))?;
        output::note(format!("Wrote {}", path.display()));
    }
    Ok(())
}
