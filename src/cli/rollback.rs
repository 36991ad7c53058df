//! `pieme rollback`: publishes the previous rows again, and undoes the label that made the rows of now.

use chrono::{DateTime, Utc};

use crate::config::Config;
use crate::labelling::task;
use crate::labelling::task::{UndoPlan, UndoReport, UndoScope};
use crate::model::{TaskName, Verdict};
use crate::store::{ReviewAction, Store};

use super::resort::resort;
use super::{CliError, VerbResult, exit, output, run, task_folder, task_name};

/// Publish the previous rows again
///
/// A run that brings the rolled-back rows again is quarantined until a person accepts them or labels the task. If the
/// last label made these rows, the template, columns and labels that it replaced are restored, too.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme rollback hotels
  pieme rollback hotels --label  # undo the last label, whether or not it has published rows
  pieme rollback hotels --json")]
pub(super) struct Args {
    /// The name of the task
    task: String,
    /// Undo the last label, and the rows that it made
    #[arg(long)]
    label: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    let name = task_name(&args.task)?;
    let scope = if args.label { UndoScope::Label } else { UndoScope::Publication };
    let (plan, verdict, restored) = undo(config, &name, scope)?;
    let UndoReport { relabelled, asks_from_now_on } = restored;
    if verdict.is_none() && !relabelled {
        let nothing = || format!("`{name}` has no previous rows and no label to undo");
        return Err(CliError::failed(plan.refusal(&name).unwrap_or_else(nothing)));
    }
    if args.json {
        return output::answer(&serde_json::json!({ "task": name, "run": verdict, "template": relabelled }));
    }
    if let Some(verdict) = &verdict {
        output::say(run::in_words(&name, verdict));
        output::say(format!(
            "{name}: a run that brings the rolled-back rows again is quarantined; `pieme label {name} --accept` then \
             publishes them"
        ));
    }
    if relabelled {
        output::say(restored_sentence(&name, verdict.is_some()));
    }
    if let (Some(labelled), true) = (plan.kept_label, verdict.is_some()) {
        output::say(kept_sentence(&name, labelled));
    }
    if asks_from_now_on {
        output::say(format!(
            "{name}: a person is asked after the next redesign (expect.auto_accept = false in task.toml)"
        ));
    }
    Ok(exit::DONE)
}

/// Undoes the last publication or label of a task.
pub(super) fn undo(
    config: &Config,
    name: &TaskName,
    scope: UndoScope,
) -> Result<(UndoPlan, Option<Verdict>, UndoReport), CliError> {
    let folder = task_folder(config, name)?;
    let store = Store::open_reader_if_any(&config.store)?;
    let plan = UndoPlan::of(store.as_ref(), &folder, scope)?;
    drop(store);
    // Without rows to bring back, the daemon is asked all the same: it may have published some.
    let verdict = match plan.rows || scope == UndoScope::Publication {
        true => resort(config, name, ReviewAction::RollBack)?,
        false => None,
    };
    let nothing = UndoReport { relabelled: false, asks_from_now_on: false };
    let restored = if plan.label { task::undo_label(&folder)? } else { nothing };
    Ok((plan, verdict, restored))
}

fn restored_sentence(name: &TaskName, with_rows: bool) -> String {
    let why = if with_rows { ", which made the rolled-back rows" } else { "; the published rows stay" };
    format!("{name}: restored the template, columns and labels from before the last label{why}")
}

fn kept_sentence(name: &TaskName, labelled: DateTime<Utc>) -> String {
    let day = labelled.format("%Y-%m-%d");
    format!(
        "{name}: template, columns and labels stay: the last label ({day}) did not make the rows that were rolled \
         back; `pieme rollback {name} --label` undoes it"
    )
}
