//! `/task/NAME`: one task. Its status above, one of its tabs below.

mod account;
mod change_marks;
mod changes;
mod column_chart;
mod duplicates;
mod files;
mod quarantine;
mod rows;
mod run;
mod runs;
mod sheet;
mod source;
mod step;

use axum::extract::Path;
use axum::response::Html;
use maud::{Markup, html};

use crate::model::TaskName;
use crate::show::StatusLine;

use super::actions::task_name;
use super::auth::SessionUser;
use super::error::WebError;
use super::layout::{self, NavItem};
use super::route::Route;
use super::{SharedState, components};

pub use step::StepSessions;

pub fn routes() -> Vec<Route> {
    [
        rows::routes(),
        quarantine::routes(),
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

/// The tabs of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskTab {
    Rows,
    Quarantine,
    Changes,
    Duplicates,
    Runs,
    Files,
    Step,
}

/// Each tab with its path below the task's address, and its title.
const TABS: &[(TaskTab, &str, &str)] = &[
    (TaskTab::Rows, "", "Rows"),
    (TaskTab::Quarantine, "/aside", "Kept back"),
    (TaskTab::Changes, "/changes", "Changes"),
    (TaskTab::Duplicates, "/duplicates", "Duplicates"),
    (TaskTab::Runs, "/runs", "Runs"),
    (TaskTab::Files, "/files", "Files"),
    (TaskTab::Step, "/step", "Step through"),
];

/// The status of the task that an address names.
async fn task_line(web: &SharedState, Path(name): Path<String>) -> Result<StatusLine, WebError> {
    web.overview.line(&task_name(&name)?).await
}

fn address(task: &TaskName, path: &str) -> String {
    format!("/task/{task}{path}")
}

/// A tab of a task, with the task's status above it.
pub fn page(visitor: &SessionUser, line: &StatusLine, side: TaskTab, body: Markup) -> Html<String> {
    let path = TABS.iter().find(|(it, ..)| *it == side).map_or("", |(_, path, _)| path);
    let body = html! {
        h1 { (line.task) @if let Some(title) = &line.title { " " span.title { (title) } } }
        div #facts data-live {
            (facts(line))
            div.actions { (components::action_buttons(visitor, line, &address(&line.task, path))) }
            @if let Some(problem) = &line.problem { pre.exact.off tabindex="0" { (problem) } }
        }
        nav.sides aria-label="This task" {
            @for (it, path, word) in TABS {
                a href=(address(&line.task, path)) aria-current=[(*it == side).then_some("page")] { (word) }
            }
        }
        (body)
    };
    layout::page(visitor, NavItem::Other, line.task.as_str(), body)
}

fn facts(line: &StatusLine) -> Markup {
    html! {
        dl.facts {
            dt { "State" } dd { (components::state(line)) }
            dt { "Published" } dd {
                @match line.rows {
                    Some(rows) => {
                        (components::counted(rows, "row")) ", last good run " (components::time(line.last_ok, "never"))
                    },
                    None => "no rows yet",
                }
            }
            @if let Some(run) = &line.last_run {
                dt { "Last run" } dd {
                    a href=(address(&line.task, &format!("/run/{}", run.run))) {
                        (run.verdict.outcome.word()) " (" (run.verdict.outcome.cause()) ")"
                    }
                    ", " (components::time(Some(run.ended_at), ""))
                    p { (components::sentence(&run.verdict.sentence)) }
                }
            }
            @if let Some(going) = &line.progress {
                dt { "Now" } dd {
                    (components::counted(going.pages.into(), "page")) ", " (components::counted(going.rows, "row"))
                    @if let Some(step) = &going.step { ", " (step) }
                }
            }
            @if line.fails > 0 { dt { "Fails" } dd { (line.fails) " in a row" } }
            dt { "Next run" } dd { (next(line)) }
            @if !line.advice.is_empty() { dt { "Do" } dd { (components::advice(line)) } }
        }
    }
}

fn next(line: &StatusLine) -> Markup {
    html! {
        @match line.hold {
            Some(hold) => (hold.sentence(&line.task)),
            None => (components::time(line.next, "not scheduled")),
        }
    }
}
