//! All tasks that wait for a person, worst first, one after the other.

use crate::config::Config;
use crate::model::TaskName;
use crate::store::Resort;
use crate::supervise;

use super::super::resort::resort;
use super::super::{Complaint, Done, exit, out, reader, task_folder};
use super::ask::{Answer, ask};
use super::{Args, accept, proposed, rightly_empty};

pub fn run(config: &Config, args: &Args) -> Done {
    let waiting = supervise::waiting(&reader(config)?)?;
    if args.json {
        out::json(&serde_json::json!({ "waiting": waiting }));
        return Ok(exit::DONE);
    }
    if waiting.is_empty() {
        out::say("No task waits for a person.");
        return Ok(exit::DONE);
    }
    let (mut at, mut done, mut left) = (0, Vec::new(), 0);
    while let Some(name) = waiting.get(at) {
        out::say(format!("\n{} of {}", at + 1, waiting.len()));
        match one(config, args, name) {
            Ok(Answer::Chosen(_)) => done.push(at),
            Ok(Answer::Quit) => return Ok(exit::NEEDS_PERSON),
            Ok(Answer::Empty) => {}
            Ok(Answer::Skipped) => left += 1,
            Ok(Answer::Undo) => {
                match done.pop() {
                    Some(last) => {
                        undo(config, &waiting[last])?;
                        at = last;
                    }
                    None => out::note("there is nothing to undo"),
                }
                continue;
            }
            Err(complaint) => {
                out::note(format!("{name}: {}", complaint.sentence));
                left += 1;
            }
        }
        at += 1;
    }
    Ok(if left == 0 { exit::DONE } else { exit::NEEDS_PERSON })
}

/// One task, to its end.
fn one(config: &Config, args: &Args, name: &TaskName) -> Result<Answer, Complaint> {
    let folder = task_folder(config, name)?;
    let mut proposal = supervise::propose(config, &folder, &args.help.said(None))?;
    let answer =
        if args.picked.yes { Answer::Chosen(proposed(&proposal, 0)?) } else { ask(config, &mut proposal, &folder)? };
    match &answer {
        Answer::Chosen(choice) => drop(accept(config, &folder, &proposal, choice, args.no_run)?),
        Answer::Empty => drop(rightly_empty(&folder)?),
        Answer::Skipped | Answer::Undo | Answer::Quit => {}
    }
    Ok(answer)
}

fn undo(config: &Config, name: &TaskName) -> Result<(), Complaint> {
    let folder = task_folder(config, name)?;
    resort(config, name, Resort::RollBack)?;
    supervise::undo(&folder)?;
    out::note(format!("{name}: undone"));
    Ok(())
}
