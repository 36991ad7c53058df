//! `/task/NAME`: one task, its facts above and one of its sides below.

mod rows;
mod sheet;
mod marks;
mod aside;
mod changes;
mod duplicates;
mod runs;
mod numbers;
mod run;
mod account;
mod source;
mod files;
mod step;

use axum::extract::Path;
use axum::response::Html;
use maud::{Markup, html};

use crate::model::TaskName;
use crate::show::Line;

use super::gate::Visitor;
use super::layout::{self, Here};
use super::route::Route;
use super::trouble::Trouble;
use super::verbs::task_name;
use super::{Shared, parts};

pub use step::Walks;

pub fn routes() -> Vec<Route> {
    [
        rows::routes(),
        aside::routes(),
        changes::routes(),
        duplicates::routes(),
        runs::routes(),
        run::routes(),
        source::routes(),
        files::routes(),
        step::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The sides of a task: what they are called, and where they are below its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Rows,
    Aside,
    Changes,
    Duplicates,
    Runs,
    Files,
    Step,
}

const SIDES: &[(Side, &str, &str)] = &[
    (Side::Rows, "", "Rows"),
    (Side::Aside, "/aside", "Kept aside"),
    (Side::Changes, "/changes", "Changes"),
    (Side::Duplicates, "/duplicates", "Duplicates"),
    (Side::Runs, "/runs", "Runs"),
    (Side::Files, "/files", "Files"),
    (Side::Step, "/step", "Step through"),
];

/// The task that an address names, as it stands now.
async fn found(web: &Shared, Path(name): Path<String>) -> Result<Line, Trouble> {
    web.overview.line(&task_name(&name)?).await
}

fn address(task: &TaskName, path: &str) -> String {
    format!("/task/{task}{path}")
}

/// A side of a task, with what stands above all of them.
pub fn page(visitor: &Visitor, line: &Line, side: Side, body: Markup) -> Html<String> {
    let path = SIDES.iter().find(|(it, ..)| *it == side).map_or("", |(_, path, _)| path);
    let body = html! {
        h1 { (line.task) @if let Some(title) = &line.title { " " span.title { (title) } } }
        div #facts data-live {
            (facts(line))
            div.actions { (parts::verbs(visitor, line, &address(&line.task, path))) }
            @if let Some(problem) = &line.problem { pre.exact.off tabindex="0" { (problem) } }
        }
        nav.sides aria-label="This task" {
            @for (it, path, word) in SIDES {
                a href=(address(&line.task, path)) aria-current=[(*it == side).then_some("page")] { (word) }
            }
        }
        (body)
    };
    layout::page(visitor, Here::Elsewhere, line.task.as_str(), body)
}

fn facts(line: &Line) -> Markup {
    html! {
        dl.facts {
            dt { "State" } dd { (parts::state(line)) }
            dt { "Published" } dd {
                @match line.rows {
                    Some(rows) => { (parts::number(rows)) " rows, last good " (parts::time(line.last_ok, "never")) },
                    None => "nothing yet",
                }
            }
            @if let Some(run) = &line.last_run {
                dt { "Last run" } dd {
                    a href=(address(&line.task, &format!("/run/{}", run.run))) {
                        (run.verdict.outcome.word()) " (" (run.verdict.outcome.cause()) ")"
                    }
                    ", " (parts::time(Some(run.ended_at), ""))
                    p { (run.verdict.sentence) }
                }
            }
            @if let Some(going) = &line.progress {
                dt { "Now" } dd { (going.pages) " pages, " (going.rows) " rows" @if let Some(step) = &going.step { ", " (step) } }
            }
            @if line.fails > 0 { dt { "Fails" } dd { (line.fails) " in a row" } }
            dt { "Next run" } dd { (next(line)) }
            @if !line.advice.is_empty() { dt { "Do" } dd { (parts::advice(line)) } }
        }
    }
}

fn next(line: &Line) -> Markup {
    html! {
        @match line.hold {
            Some(hold) => (hold.sentence(&line.task)),
            None => (parts::time(line.next, "none is planned")),
        }
    }
}
