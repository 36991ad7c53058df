//! Labels all tasks that wait for a person, one after the other, worst first.

use crate::config::Config;
use crate::labelling::task;
use crate::labelling::task::UndoScope;
use crate::model::TaskName;

use super::super::{CliError, VerbResult, exit, open_reader, rollback, task_folder};
use super::ask::{LabelAnswer, ask};
use super::session::StoredPage;
use super::{Args, accept, confirm_empty, default_choice, note_age};
use crate::cli::output;

pub(crate) fn run(config: &Config, args: &Args) -> VerbResult {
    let waiting = task::tasks_to_label(&open_reader(config)?)?;
    if args.json {
        return output::answer(&serde_json::json!({ "waiting": waiting }));
    }
    if waiting.is_empty() {
        output::say("No task waits for a person.");
        return Ok(exit::DONE);
    }
    let (mut at, mut done, mut left) = (0, Vec::new(), 0);
    while let Some(name) = waiting.get(at) {
        output::say(format!("\n{} of {}", at + 1, waiting.len()));
        match label_task(config, args, name) {
            Ok(LabelAnswer::Chosen(_)) => done.push(at),
            Ok(LabelAnswer::Quit) => return Ok(exit::NEEDS_PERSON),
            Ok(LabelAnswer::Empty) => {}
            Ok(LabelAnswer::Skipped) => left += 1,
            Ok(LabelAnswer::Undo) => {
                match done.pop() {
                    Some(last) => {
                        undo(config, &waiting[last])?;
                        at = last;
                    }
                    None => output::note("There is nothing to undo."),
                }
                continue;
            }
            Err(complaint) => {
                output::note(format!("{name}: {}", complaint.sentence));
                left += 1;
            }
        }
        at += 1;
    }
    Ok(if left == 0 { exit::DONE } else { exit::NEEDS_PERSON })
}

/// Asks about one task and applies the answer.
fn label_task(config: &Config, args: &Args, name: &TaskName) -> Result<LabelAnswer, CliError> {
    let folder = task_folder(config, name)?;
    let page = StoredPage::load(config, &folder)?;
    note_age(&page);
    let mut session = page.propose(args.help.to_help(None))?;
    let answer =
        if args.picked.yes { LabelAnswer::Chosen(default_choice(&session, 0)?) } else { ask(&mut session, &folder)? };
    match &answer {
        LabelAnswer::Chosen(choice) => drop(accept(config, &folder, &session, choice, args.no_run)?),
        LabelAnswer::Empty => drop(confirm_empty(&folder)?),
        LabelAnswer::Skipped | LabelAnswer::Undo | LabelAnswer::Quit => {}
    }
    Ok(answer)
}

fn undo(config: &Config, name: &TaskName) -> Result<(), CliError> {
    let (_, rows, restored) = rollback::undo(config, name, UndoScope::Label)?;
    output::note(match (restored.relabelled, rows.is_some()) {
        (true, true) => format!("{name}: undid the label, and published the previous rows again"),
        (true, false) => format!("{name}: undid the label; the published rows stay"),
        (false, _) => format!("{name}: there is no label to undo"),
    });
    Ok(())
}
