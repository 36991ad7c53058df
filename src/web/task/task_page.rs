//! The page around each tab of a task: its status above, the tab below.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};

use crate::model::TaskName;
use crate::show::StatusLine;
use crate::web::SharedState;
use crate::web::components;
use crate::web::layout::{self, NavItem};
use crate::web::session::SessionUser;
use crate::web::task_path::TaskPath;

/// The tabs of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskTab {
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

pub(crate) fn address(task: &TaskName, path: &str) -> String {
    format!("/task/{task}{path}")
}

/// A request for a page of a task. As an extractor it answers 404 where there is no such task.
pub(super) struct TaskPage {
    pub web: SharedState,
    pub visitor: SessionUser,
    /// The task's status now.
    pub line: StatusLine,
}

impl FromRequestParts<SharedState> for TaskPage {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, web: &SharedState) -> Result<TaskPage, Response> {
        let TaskPath(task) = TaskPath::from_request_parts(parts, web).await?;
        let visitor = SessionUser::from_request_parts(parts, web).await.map_err(IntoResponse::into_response)?;
        let line = web.overview.line(&task).await.map_err(IntoResponse::into_response)?;
        Ok(TaskPage { web: Arc::clone(web), visitor, line })
    }
}

impl TaskPage {
    pub fn task(&self) -> &TaskName {
        &self.line.task
    }

    /// The task's folder.
    pub fn dir(&self) -> PathBuf {
        self.web.config.tasks.join(self.line.task.as_str())
    }

    /// An address below the task's own.
    pub fn address(&self, path: &str) -> String {
        address(&self.line.task, path)
    }

    /// A tab of the task, with the task's status above it.
    pub fn show(&self, tab: TaskTab, body: Markup) -> Html<String> {
        let line = &self.line;
        let path = TABS.iter().find(|(it, ..)| *it == tab).map_or("", |(_, path, _)| path);
        let body = html! {
            h1 { (line.task) @if let Some(title) = &line.title { " " span.title { (title) } } }
            div #facts data-live {
                (facts(line))
                div.actions { (components::action_buttons(&self.visitor, line, &self.address(path))) }
                @if let Some(problem) = &line.problem { pre.exact.off tabindex="0" { (problem) } }
            }
            nav.sides aria-label="This task" {
                @for (it, path, word) in TABS {
                    a href=(self.address(path)) aria-current=[(*it == tab).then_some("page")] { (word) }
                }
            }
            (body)
        };
        layout::page(&self.visitor, NavItem::Other, line.task.as_str(), body)
    }
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
