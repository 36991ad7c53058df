//! `/add`: creates a task from an address. A trial run in a scratch folder fetches the page; a person chooses the list;
//! then the folder moves into `tasks/`.

mod pending;

use std::sync::Arc;

use axum::Form;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{Html, Redirect, Response};
use chrono::Utc;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::daemon::http::control::ControlRequest;
use crate::labelling::page::ProposalView;
use crate::labelling::task;
use crate::labelling::task::add;
use crate::labelling::task::add::{AddError, NewTask, TaskDraft};
use crate::model::TaskName;

use super::error::WebError;
use super::labelling_session;
use super::labelling_session::{AcceptRequest, HelpRequest, LabellingReply, LabellingView};
use super::layout::{self, NavItem};
use super::route::Route;
use super::session::SessionUser;
use super::threads::blocking;
use super::{SharedState, assets, components};

pub(super) use pending::PendingTasks;
use pending::{AddStage, Shortfall, already_created};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/add", form),
        Route::post("/add", begin),
        Route::get("/add/{id}", show),
        Route::get("/add/{id}/page", page),
        Route::get("/add/{id}/so-far", progress),
        Route::post("/add/{id}/lists", lists),
        Route::post("/add/{id}/first-page", keep_first_page_only),
        Route::post("/add/{id}/take", accept),
    ]
}

impl From<AddError> for WebError {
    fn from(error: AddError) -> WebError {
        match error {
            AddError::Io { .. } => WebError::Refused(error.to_string()),
            error => WebError::Bad(error.to_string()),
        }
    }
}

/// The choices of `schedule.every`: as in task.toml, and in words.
const INTERVALS: &[(&str, &str)] = &[
    ("30m", "every half hour"),
    ("1h", "every hour"),
    ("6h", "every six hours"),
    ("1d", "once a day"),
    ("7d", "once a week"),
];

async fn form(visitor: SessionUser) -> Html<String> {
    let body = html! {
        link rel="stylesheet" href=(assets::url("label.css"));
        h1 { "Add a task" }
        form.card.add method="post" action="/add" {
            (components::csrf_field(&visitor))
            label for="url" { "Address of the list" }
            input #url type="text" inputmode="url" name="url" placeholder="https://example.org/list"
                autocomplete="off" required autofocus;
            label for="every" { "How often to fetch it" }
            select #every name="every" {
                @for (span, words) in INTERVALS { option value=(span) selected[*span == "6h"] { (words) } }
            }
            label for="name" { "Name of the task (empty: made from the address)" }
            input #name type="text" name="name" autocomplete="off" maxlength="64" pattern="[a-z0-9][a-z0-9._\\-]*"
                aria-describedby="name-hint";
            p.faint #name-hint { "Lower-case letters, digits, “.”, “_” and “-”." }
            label for="max_pages" { "Maximum number of pages" }
            input #max_pages type="number" name="max_pages" min="1" step="1" placeholder="50";
            label.choice {
                input type="checkbox" name="browser" value="yes";
                "Fetch with a real browser, for lists made by scripts"
            }
            label.choice {
                input type="checkbox" name="ignore_robots" value="yes";
                "Ignore its robots.txt, if the site's owner allows it"
            }
            div.actions { button.main { "Fetch" } }
        }
        p.faint { "Pages behind a login or a form need a robot.toml in the task's folder; see docs/script.md." }
    };
    layout::page(&visitor, NavItem::Add, "Add a task", body)
}

#[derive(Deserialize)]
struct AddForm {
    url: String,
    every: String,
    #[serde(default)]
    name: String,
    browser: Option<String>,
    ignore_robots: Option<String>,
    #[serde(default)]
    max_pages: String,
}

impl AddForm {
    /// None if the field is empty.
    fn max_pages(&self) -> Result<Option<u32>, WebError> {
        let typed = self.max_pages.trim();
        let bad = || WebError::Bad(format!("`{typed}` is not a number of pages. Type 1 or more, or leave it empty."));
        match typed {
            "" => Ok(None),
            typed => typed.parse().ok().filter(|pages| *pages > 0).map(Some).ok_or_else(bad),
        }
    }
}

async fn begin(State(web): State<SharedState>, Form(wanted): Form<AddForm>) -> Result<Redirect, WebError> {
    let url = add::address(&wanted.url)?;
    let name = match wanted.name.trim() {
        "" => add::free_name(&web.config, &url)?,
        name => TaskName::new(name).map_err(AddError::from)?,
    };
    let new = NewTask {
        url,
        name,
        max_pages: wanted.max_pages()?,
        every: wanted.every,
        browser: wanted.browser.is_some(),
        ignore_robots: wanted.ignore_robots.is_some(),
    };
    let config = Arc::clone(&web.config);
    let draft = blocking(move || TaskDraft::new(&config, &new)).await??;
    let id = web.pending_tasks.begin(&web.daemon.runner, draft).await?;
    Ok(Redirect::to(&format!("/add/{id}")))
}

async fn show(
    State(web): State<SharedState>,
    visitor: SessionUser,
    Path(id): Path<String>,
) -> Result<Html<String>, WebError> {
    let pending = web.pending_tasks.get(&id)?;
    let (name, base) = (&pending.name, format!("/add/{id}"));
    let heading = html! { h1 { "Choose the list for " (name) } };
    let body = match pending.stage() {
        AddStage::Ready(shortfall) => {
            let heading = html! { (heading) @if let Some(it) = &shortfall { (shortfall_notice(&visitor, &base, it)) } };
            let shows = LabellingView {
                base: &base,
                task: name.as_str(),
                title: heading,
                run: None,
                next: None,
                columns: Vec::new(),
                before: None,
                is_known: false,
            };
            labelling_session::page(&shows)
        }
        AddStage::Fetching(lines) => html! {
            h1 { "Fetching " (name) }
            div #fetching data-base=(base) aria-busy="true" { pre #trace { @for line in &lines { (line) "\n" } } }
            script type="module" src=(assets::url("add.js")) {}
            noscript { p { a href=(base) { "Reload" } } }
        },
        AddStage::Refused(sentence) => html! {
            h1 { "No task was created" }
            p.off #refused { (components::sentence(&sentence)) }
            p { a.button href="/add" { "Try another address" } }
        },
    };
    Ok(layout::page(&visitor, NavItem::Add, &format!("Add {name}"), body))
}

/// Says that page 2 cannot be read, and offers to read page 1 only.
fn shortfall_notice(visitor: &SessionUser, base: &str, shortfall: &Shortfall) -> Markup {
    html! {
        div #shortfall data-live { @match shortfall {
            Shortfall::Unread(sentence) => {
                p.off { "Page 1 was read. Page 2 was not: " (sentence) ". Runs fail until it can be read." }
                form method="post" action={ (base) "/first-page" } {
                    (components::csrf_field(visitor))
                    button { "Read page 1 only" }
                }
            }
            Shortfall::LeftOut => p { "Runs read page 1 only." }
        } }
    }
}

/// Limits the new task to its first page.
async fn keep_first_page_only(State(web): State<SharedState>, Path(id): Path<String>) -> Result<Redirect, WebError> {
    let pending = web.pending_tasks.get(&id)?;
    blocking(move || pending.read_first_page_only()).await??;
    Ok(Redirect::to(&format!("/add/{id}")))
}

#[derive(Serialize)]
struct AddProgress {
    over: bool,
    lines: Vec<String>,
}

async fn progress(State(web): State<SharedState>, Path(id): Path<String>) -> Result<Json<AddProgress>, WebError> {
    Ok(Json(match web.pending_tasks.get(&id)?.stage() {
        AddStage::Fetching(lines) => AddProgress { over: false, lines },
        AddStage::Ready(_) | AddStage::Refused(_) => AddProgress { over: true, lines: Vec::new() },
    }))
}

async fn page(State(web): State<SharedState>, Path(id): Path<String>) -> Result<Response, WebError> {
    web.pending_tasks.get(&id)?.labelling_session().await?.page(&web).await
}

async fn lists(
    State(web): State<SharedState>,
    Path(id): Path<String>,
    Json(said): Json<HelpRequest>,
) -> Result<Json<ProposalView>, WebError> {
    Ok(Json(web.pending_tasks.get(&id)?.labelling_session().await?.lists(&web, said).await?))
}

/// Writes the chosen list, moves the folder into `tasks/` and starts the first run.
async fn accept(
    State(web): State<SharedState>,
    Path(id): Path<String>,
    Json(taken): Json<AcceptRequest>,
) -> Result<Json<LabellingReply>, WebError> {
    let pending = web.pending_tasks.get(&id)?;
    let bench = pending.labelling_session().await?;
    let folder = Arc::clone(&bench.folder);
    let (accepted, body) = bench.accept(&web, taken).await?;
    let draft = pending.take_draft().ok_or_else(already_created)?;
    let task = draft.name.clone();
    let settling = blocking(move || {
        task::write(&folder, &accepted, &body, Utc::now())?;
        draft.move_into_place().map_err(WebError::from)
    });
    settling.await??;
    web.pending_tasks.forget(&id);
    tracing::info!(%task, "dashboard: task added");
    web.daemon.hint_folders_changed().await;
    if let Some(sentence) = web.daemon.first_reply(ControlRequest::Run { task: task.clone() }).await.refusal() {
        tracing::info!(%task, reason = sentence, "dashboard: first run not started");
    }
    Ok(Json(LabellingReply { next: Some(format!("/task/{task}")), task: task.to_string() }))
}
