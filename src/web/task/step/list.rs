//! The steps of a session, each with its text from robot.toml. The file only names secrets, so none is shown.

use maud::{Markup, html};

use crate::model::StepwiseState;
use crate::tasks::ScriptText;

use crate::web::components;

/// Longer steps are truncated; robot.toml has at most 64 kB.
const MOST_CHARS: usize = 4_000;

/// Unfolds the next step and the last executed one.
pub(crate) fn list(walk: &StepwiseState, text: &ScriptText) -> Markup {
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

/// Explains a step that robot.toml does not contain.
fn implicit_step_note(verb: &str) -> &'static str {
    match verb {
        "get" => "There is no robot.toml, so pieme fetches the `url` of task.toml.",
        "paginate" => {
            "There is no robot.toml, so pieme extracts the rows of this page and follows the next links, until a page \
             has no new rows or `limits.max_pages` is reached."
        }
        "extract" => "No step of robot.toml extracts rows, so pieme extracts them from the last page.",
        _ => "This step has no text of its own in robot.toml. The tab Files shows the whole file.",
    }
}
