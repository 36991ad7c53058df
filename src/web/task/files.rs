//! Editor for task.toml and robot.toml. Mistakes are shown while you type, and a file that cannot run is not saved.

use axum::extract::Query;
use axum::response::{Html, Redirect};
use axum::{Form, Json};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::show::StatusLine;
use crate::tasks;
use crate::tasks::{FileError, Problem, ROBOT_FILE, TASK_FILE, TaskTexts};
use crate::web::components;
use crate::web::error::WebError;
use crate::web::session::SessionUser;
use crate::web::threads::blocking;

use super::task_page::{TaskPage, TaskTab, address};

/// app.js moves this sentence to the message area.
const SAVED: &str = "Saved. The change takes effect at once.";

#[derive(Deserialize)]
pub(super) struct FilesQuery {
    /// The files were saved just now.
    #[serde(default)]
    saved: bool,
}

pub(super) async fn show(at: TaskPage, Query(shows): Query<FilesQuery>) -> Result<Html<String>, WebError> {
    let (dir, config) = (at.dir(), at.web.config.clone());
    let read = blocking(move || {
        let texts = tasks::read_texts(&dir)?;
        let problem = tasks::check_texts(&dir, &texts, &config.channels()).err();
        // They are no mistake of the files: the person who may edit these may not be the one who grants.
        let ungranted = tasks::read(&dir).map(|folder| config.ungranted(&folder)).unwrap_or_default();
        Ok::<_, FileError>((texts, problem, ungranted))
    });
    let (texts, problem, ungranted) = read.await?.map_err(|error| WebError::Refused(error.to_string()))?;
    let body = html! {
        @if shows.saved { p #saved data-said { (SAVED) } }
        (grants_needed(&ungranted))
        (editor(&at.visitor, &at.line, &texts, problem.as_ref()))
    };
    Ok(at.show(TaskTab::Files, body))
}

/// Both files as edited, and as they were when the page was loaded.
#[derive(Deserialize)]
pub(super) struct FilesForm {
    task: String,
    robot: String,
    #[serde(default)]
    task_before: String,
    #[serde(default)]
    robot_before: String,
}

impl FilesForm {
    fn texts(&self) -> TaskTexts {
        texts(&self.task, &self.robot)
    }

    fn texts_before(&self) -> TaskTexts {
        texts(&self.task_before, &self.robot_before)
    }
}

/// Converts the CRLF line ends of a form. An empty robot.toml counts as absent.
fn texts(task: &str, robot: &str) -> TaskTexts {
    let lines = |text: &str| text.replace("\r\n", "\n");
    TaskTexts { task: lines(task), robot: Some(lines(robot)).filter(|text| !text.trim().is_empty()) }
}

pub(super) async fn save(at: TaskPage, Form(typed): Form<FilesForm>) -> Result<Redirect, WebError> {
    let (dir, channels) = (at.dir(), at.web.config.channels());
    let done = blocking(move || {
        let refused = |sentence: String| Err(WebError::Refused(sentence));
        let now = tasks::read_texts(&dir).map_err(|error| WebError::Refused(error.to_string()))?;
        if texts(&now.task, now.robot.as_deref().unwrap_or_default()) != typed.texts_before() {
            return refused("Nothing was saved: the files were changed meanwhile. Reload the page.".to_owned());
        }
        if let Err(problem) = tasks::check_texts(&dir, &typed.texts(), &channels) {
            return refused(format!("Nothing was saved: {}", sentence(&problem)));
        }
        tasks::write_texts(&dir, &typed.texts())
            .map_err(|error| WebError::Refused(format!("Nothing was saved: {error}")))
    });
    done.await??;
    tracing::info!(task = %at.task(), "dashboard: task files edited");
    at.web.daemon.hint_folders_changed().await;
    Ok(Redirect::to(&at.address("/files?saved=true")))
}

/// The first mistake in the files, for app.js, which asks while a person types.
#[derive(Serialize)]
pub(super) struct CheckReply {
    problem: Option<Problem>,
}

/// The name of the file that the mistake is in, without its folder.
fn file_name(problem: &Problem) -> &'static str {
    let is_robot = problem.file.file_name().is_some_and(|name| name == ROBOT_FILE);
    if is_robot { ROBOT_FILE } else { TASK_FILE }
}

fn sentence(problem: &Problem) -> String {
    let line = problem.line.map(|line| format!(", line {line}")).unwrap_or_default();
    let hint = problem.hint.as_ref().map(|hint| format!(". {hint}")).unwrap_or_default();
    format!("{}{line}: {}{hint}", file_name(problem), problem.message)
}

pub(super) async fn check(at: TaskPage, Form(typed): Form<FilesForm>) -> Result<Json<CheckReply>, WebError> {
    let (dir, channels) = (at.dir(), at.web.config.channels());
    let problem = blocking(move || tasks::check_texts(&dir, &typed.texts(), &channels).err()).await?;
    let problem = problem.map(|it| Problem { file: file_name(&it).into(), ..it });
    Ok(Json(CheckReply { problem }))
}

/// What the files need and config.toml does not grant, with the lines to add.
fn grants_needed(ungranted: &[Problem]) -> Markup {
    html! {
        @if !ungranted.is_empty() {
            div #ungranted {
                p.off { "Runs fail until config.toml grants what these files need:" }
                @for problem in ungranted { pre.exact tabindex="0" { (sentence(problem)) } }
            }
        }
    }
}

fn editor(visitor: &SessionUser, line: &StatusLine, texts: &TaskTexts, problem: Option<&Problem>) -> Markup {
    let robot = texts.robot.as_deref().unwrap_or_default();
    html! {
        form #editor method="post" action=(address(&line.task, "/files")) data-reload
            data-check=(address(&line.task, "/files/check")) {
            (components::csrf_field(visitor))
            @for (name, file, text) in [("task", TASK_FILE, texts.task.as_str()), ("robot", ROBOT_FILE, robot)] {
                input type="hidden" name={ (name) "_before" } value=(text);
                label for=(name) { (file) }
                @if name == "robot" && text.is_empty() {
                    p.faint #robot-note { "No robot.toml: runs fetch the task's url and follow the next links." }
                }
                textarea.code id=(name) name=(name) rows=(height(text)) spellcheck="false" autocapitalize="off"
                    autocomplete="off" wrap="off" aria-describedby="problem" { "\n" (text) }
            }
            // Above the mistake, which comes and goes while a person types: the button must not move under the pointer.
            div.actions { button.main { "Save" } }
            div #problem role="status" aria-live="polite" { (problem_text(problem)) }
        }
        p.faint { "Keys: docs/reference/task.md and docs/reference/robot.md. A saved change takes effect at once." }
    }
}

/// Height of the text area: the lines of the text and two more, within limits.
fn height(text: &str) -> usize {
    (text.lines().count() + 2).clamp(6, 30)
}

fn problem_text(problem: Option<&Problem>) -> Markup {
    html! {
        @if let Some(problem) = problem {
            p.off { (sentence(problem)) }
            @if let Some(snippet) = &problem.snippet { pre.exact tabindex="0" { (snippet) } }
        }
    }
}
