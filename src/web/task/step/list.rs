//! The steps of a walk, each as it stands in robot.toml. Secrets do not stand there: the file names them.

use maud::{Markup, html};

use crate::model::StepwiseState;
use crate::tasks::ScriptText;

use crate::web::components;

/// Of a step's text; robot.toml has 64 kB at most.
const MOST_CHARS: usize = 4_000;

/// The step that comes next is open, and the one that was done last; the others open with a click.
pub fn list(walk: &StepwiseState, text: &ScriptText) -> Markup {
    html! {
        ol.steps aria-label="Steps" {
            @for (at, verb) in walk.steps.iter().enumerate() {
                li.done[at < walk.done] aria-current=[(at == walk.done).then_some("step")] {
                    details open[at == walk.done || at + 1 == walk.done] {
                        summary { (at + 1) " " code { (verb) } " " span.faint { (step_class(at, walk.done)) } }
                        @match text.step(at) {
                            Some(text) => pre { (components::truncated(text, MOST_CHARS)) },
                            None => p { (implicit_step_note(verb)) },
                        }
                    }
                }
            }
        }
    }
}

fn step_class(at: usize, done: usize) -> &'static str {
    match at.cmp(&done) {
        std::cmp::Ordering::Less => "done",
        std::cmp::Ordering::Equal => "next",
        std::cmp::Ordering::Greater => "",
    }
}

/// What is done without a word in robot.toml.
fn implicit_step_note(verb: &str) -> &'static str {
    match verb {
        "get" => "No robot.toml says how to get there, so pieme asks for the `url` of task.toml.",
        "paginate" => {
            "Takes the rows of the page, then those of the next one, for as long as there is a next page with new rows and `limits.max_pages` \
             is not reached. No robot.toml says so: pieme does it by itself."
        }
        "extract" => "No step of robot.toml says where the rows are, so they are taken from the page where it ends.",
        _ => "This step is not written down one by one in robot.toml; Files has the whole text.",
    }
}
