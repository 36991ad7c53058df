//! HTML of a stepping session.

use maud::{Markup, html};
use serde_json::Value;

use crate::model::{StepwiseState, TaskName};
use crate::show::times;
use crate::tasks::ScriptText;
use crate::web::components;
use crate::web::session::SessionUser;

use super::super::task_page::address;

/// Longer values of variables are truncated.
const MOST_CHARS: usize = 500;
/// Longer steps are truncated; robot.toml has at most 64 kB.
const MOST_STEP_CHARS: usize = 4_000;

pub(super) fn start_form(visitor: &SessionUser, task: &TaskName) -> Markup {
    html! {
        p {
            "Execute the robot one step at a time, forward and back, and inspect the page after each step. "
            "Nothing is published or stored."
        }
        (button(visitor, task, "", "Start", true))
    }
}

/// The state of the session's process, and the text of robot.toml.
pub(super) struct StepPageState<'a> {
    pub text: &'a ScriptText,
    pub is_busy: bool,
    pub has_ended: bool,
    pub has_page: bool,
}

pub(super) fn walk(visitor: &SessionUser, task: &TaskName, walk: &StepwiseState, look: &StepPageState<'_>) -> Markup {
    html! {
        div #walk data-live {
            (actions(visitor, task, walk, look))
            div.walk {
                (list(walk, look.text))
                div {
                    @if let Some(last) = &walk.last { (step(last)) }
                    @else { p.empty { "No step has been executed yet." } }
                }
            }
        }
        @if look.has_page {
            h3 { "Source of the page" }
            iframe.source sandbox="" title="Source of the page"
                src=(address(task, &format!("/step/source?{}", walk.done))) {}
        }
    }
}

fn actions(visitor: &SessionUser, task: &TaskName, walk: &StepwiseState, look: &StepPageState<'_>) -> Markup {
    let all = walk.steps.len();
    html! {
        div.actions {
            @if look.has_ended {
                p.off { "The session has ended: a limit of the task stopped its process, or it crashed." }
            } @else if look.is_busy {
                p { "The step is running. " a href=(address(task, "/step")) { "Reload" } }
            } @else {
                @let is_next = walk.done < all;
                (button(visitor, task, "/next", if is_next { "Next step" } else { "All steps done" }, is_next))
                (button(visitor, task, "/back", "Back", walk.last.is_some()))
            }
            (button(visitor, task, "", "Restart", true))
            (button(visitor, task, "/end", "End", true))
        }
    }
}

fn button(visitor: &SessionUser, task: &TaskName, path: &str, word: &str, can: bool) -> Markup {
    html! {
        form.inline method="post" action=(address(task, &format!("/step{path}"))) data-reload {
            (components::csrf_field(visitor))
            button.main[path == "/next"] disabled[!can] { (word) }
        }
    }
}

fn step(last: &Value) -> Markup {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let entries = |value: &Value| value.as_object().cloned().unwrap_or_default();
    html! {
        h2 { "Step " (text(&last["step"])) ": " (text(&last["verb"])) }
        @if let Some(failed) = last["failed"].as_object() {
            p.off {
                "Failed (" (failed.get("cause").map(text).unwrap_or_default()) "): "
                (failed.get("sentence").map(text).unwrap_or_default())
            }
        }
        ul { @for line in last["trace"].as_array().into_iter().flatten() {
            li {
                span.faint { (times::after(line["since_step_ms"].as_u64().unwrap_or(0))) }
                " " (text(&line["text"]))
            }
        } }
        p { "New rows: " (text(&last["new_rows"])) "; " (text(&last["rows"])) " so far." }
        @if !entries(&last["variables"]).is_empty() {
            h3 { "Variables" }
            dl.facts { @for (name, value) in entries(&last["variables"]) {
                dt { (name) }
                dd {
                    (components::truncated(&text(&value), MOST_CHARS))
                    @if !last["set"][&name].is_null() { span.faint { " (set by this step)" } }
                }
            } }
        }
        @if last["page"].is_object() { (page(&last["page"], text)) }
    }
}

fn page(page: &Value, text: impl Fn(&Value) -> String) -> Markup {
    html! {
        h3 { "Page" }
        dl.facts {
            dt { "Address" } dd { (text(&page["url"])) }
            dt { "Status" }
            dd { (text(&page["status"])) ", " (text(&page["bytes"])) " bytes, " (text(&page["elapsed_ms"])) " ms" }
            @for (name, value) in page["headers"].as_object().into_iter().flatten() {
                dt { (name) } dd { (text(value)) }
            }
            dt { "Title" } dd { (text(&page["title"])) }
            @if let Some(rows) = page["rows"].as_u64() {
                dt { "Rows" } dd {
                    (components::number(rows)) " found by the template, similarity "
                    (components::similarity(page["similarity"].as_f64()))
                }
            }
            dt { "Text" } dd { (text(&page["text"])) }
        }
    }
}

/// The steps, each with its text from robot.toml; the next one and the last executed one are unfolded. The file only
/// names secrets, so none is shown.
fn list(walk: &StepwiseState, text: &ScriptText) -> Markup {
    html! {
        ol.steps aria-label="Steps" {
            @for (at, verb) in walk.steps.iter().enumerate() {
                li.done[at < walk.done] aria-current=[(at == walk.done).then_some("step")] {
                    details open[at == walk.done || at + 1 == walk.done] {
                        summary { (at + 1) " " code { (verb) } " " span.faint { (step_class(at, walk.done)) } }
                        @match text.step(at) {
                            Some(text) => pre { (components::truncated(text, MOST_STEP_CHARS)) },
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
