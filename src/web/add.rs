//! `/add`: from an address to a task with rows. The address is fetched by a run like any other, out of sight; then a person chooses, and
//! the folder appears.

mod pending;

use std::sync::Arc;

use axum::Form;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{Html, Redirect, Response};
use chrono::Utc;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::daemon::control::Request;
use crate::daemon::threads::blocking;
use crate::model::TaskName;
use crate::study::Shown;
use crate::supervise;
use crate::supervise::add::{self, AddError, Draft, NewTask};

use super::bench::{self, Done, Said, Shows, Taken};
use super::gate::Visitor;
use super::layout::{self, Here};
use super::route::Route;
use super::trouble::Trouble;
use super::{Shared, assets};

pub use pending::Adding;
use pending::{Shortfall, Stage};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/add", form),
        Route::post("/add", begin),
        Route::get("/add/{id}", show),
        Route::get("/add/{id}/page", page),
        Route::get("/add/{id}/so-far", so_far),
        Route::post("/add/{id}/lists", lists),
        Route::post("/add/{id}/first-page", first_page),
        Route::post("/add/{id}/take", take),
    ]
}

impl From<AddError> for Trouble {
    fn from(error: AddError) -> Trouble {
        match error {
            AddError::Io { .. } => Trouble::Refused(error.to_string()),
            AddError::Private(sentence) => Trouble::Bad(format!("{sentence}: tick the box below")),
            error => Trouble::Bad(error.to_string()),
        }
    }
}

/// How often, in words and as task.toml has it.
const OFTEN: &[(&str, &str)] = &[
    ("30m", "every half hour"),
    ("1h", "every hour"),
    ("6h", "every six hours"),
    ("1d", "once a day"),
    ("7d", "once a week"),
];

async fn form(visitor: Visitor) -> Html<String> {
    let body = html! {
        link rel="stylesheet" href=(assets::url("label.css"));
        h1 { "Add a task" }
        form.card.add method="post" action="/add" {
            (layout::token(&visitor))
            label for="url" { "Where is the list?" }
            input #url type="text" inputmode="url" name="url" placeholder="https://example.org/list" autocomplete="off" required autofocus;
            label for="every" { "How often does it change?" }
            select #every name="every" {
                @for (span, words) in OFTEN { option value=(span) selected[*span == "6h"] { (words) } }
            }
            label for="name" { "Its name, if not made of the address" }
            input #name type="text" name="name" autocomplete="off" maxlength="64" pattern="[a-z0-9][a-z0-9._\\-]*" aria-describedby="name-hint";
            p.faint #name-hint { "Small letters, digits, “.”, “_” and “-”." }
            label for="max_pages" { "Pages to read at most" }
            input #max_pages type="number" name="max_pages" min="1" step="1" placeholder="50";
            label.choice { input type="checkbox" name="browser" value="yes"; "A real browser fetches it: scripts put the list together" }
            label.choice { input type="checkbox" name="allow_private" value="yes"; "It is on this machine or in a private network, and may be" }
            label.choice { input type="checkbox" name="ignore_robots" value="yes"; "Ignore its robots.txt: its owner allows it" }
            div.actions { button.main { "Fetch it" } }
        }
        p.faint { "Pages behind a log-in or a form want a robot.toml in the task's folder; see docs/script.md." }
    };
    layout::page(&visitor, Here::Add, "Add a task", body)
}

#[derive(Deserialize)]
struct Wanted {
    url: String,
    every: String,
    #[serde(default)]
    name: String,
    browser: Option<String>,
    allow_private: Option<String>,
    ignore_robots: Option<String>,
    #[serde(default)]
    max_pages: String,
}

impl Wanted {
    /// None where nothing was typed.
    fn max_pages(&self) -> Result<Option<u32>, Trouble> {
        let typed = self.max_pages.trim();
        let bad = || Trouble::Bad(format!("`{typed}` is no number of pages; write 1 or more, or nothing"));
        match typed {
            "" => Ok(None),
            typed => typed.parse().ok().filter(|pages| *pages > 0).map(Some).ok_or_else(bad),
        }
    }
}

async fn begin(State(web): State<Shared>, Form(wanted): Form<Wanted>) -> Result<Redirect, Trouble> {
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
        allow_private: wanted.allow_private.is_some(),
        ignore_robots: wanted.ignore_robots.is_some(),
    };
    let config = Arc::clone(&web.config);
    let draft = blocking(move || Draft::new(&config, &new)).await.map_err(|_| Trouble::Internal)??;
    let id = web.adding.begin(&web.door.runner, draft).await?;
    Ok(Redirect::to(&format!("/add/{id}")))
}

async fn show(State(web): State<Shared>, visitor: Visitor, Path(id): Path<String>) -> Result<Html<String>, Trouble> {
    let pending = web.adding.get(&id)?;
    let (name, base) = (pending.name(), format!("/add/{id}"));
    let heading = html! { h1 { "Which list is " (name) "?" } };
    let body = match pending.stage() {
        Stage::Ready(shortfall) => {
            let heading = html! { (heading) @if let Some(it) = &shortfall { (notice(&visitor, &base, it)) } };
            let shows = Shows {
                base: &base,
                task: name.as_str(),
                title: heading,
                run: None,
                next: None,
                columns: Vec::new(),
                before: None,
                is_known: false,
            };
            bench::page(&shows)
        }
        Stage::Fetching(lines) => html! {
            h1 { "Fetching " (name) }
            div #fetching data-base=(base) aria-busy="true" { pre #trace { @for line in &lines { (line) "\n" } } }
            script type="module" src=(assets::url("add.js")) {}
            noscript { p { a href=(base) { "Look again" } } }
        },
        Stage::Refused(sentence) => html! {
            h1 { "No task was made" }
            p.off #refused { (sentence) }
            p { a.button href="/add" { "Try another address" } }
        },
    };
    Ok(layout::page(&visitor, Here::Add, &format!("Add {name}"), body))
}

/// What is wrong with the pages after the first, and the way out.
fn notice(visitor: &Visitor, base: &str, shortfall: &Shortfall) -> Markup {
    html! {
        div #shortfall data-live { @match shortfall {
            Shortfall::Unread(sentence) => {
                p.off { "Page 1 was read. The page after it was not: " (sentence) ". Runs fail until it answers." }
                form method="post" action={ (base) "/first-page" } {
                    (layout::token(visitor))
                    button { "Read page 1 only" }
                }
            }
            Shortfall::LeftOut => p { "Runs read page 1 only." }
        } }
    }
}

/// The person wants no more than the page that can be read.
async fn first_page(State(web): State<Shared>, Path(id): Path<String>) -> Result<Redirect, Trouble> {
    let pending = web.adding.get(&id)?;
    blocking(move || pending.read_first_page_only()).await.map_err(|_| Trouble::Internal)??;
    Ok(Redirect::to(&format!("/add/{id}")))
}

#[derive(Serialize)]
struct SoFar {
    over: bool,
    lines: Vec<String>,
}

async fn so_far(State(web): State<Shared>, Path(id): Path<String>) -> Result<Json<SoFar>, Trouble> {
    Ok(Json(match web.adding.get(&id)?.stage() {
        Stage::Fetching(lines) => SoFar { over: false, lines },
        Stage::Ready(_) | Stage::Refused(_) => SoFar { over: true, lines: Vec::new() },
    }))
}

async fn page(State(web): State<Shared>, Path(id): Path<String>) -> Result<Response, Trouble> {
    web.adding.get(&id)?.laid().await?.page(&web).await
}

async fn lists(
    State(web): State<Shared>,
    Path(id): Path<String>,
    Json(said): Json<Said>,
) -> Result<Json<Shown>, Trouble> {
    Ok(Json(web.adding.get(&id)?.laid().await?.lists(&web, said).await?))
}

/// The choice is written, the folder moves to its place, and the task runs.
async fn take(
    State(web): State<Shared>,
    Path(id): Path<String>,
    Json(taken): Json<Taken>,
) -> Result<Json<Done>, Trouble> {
    let pending = web.adding.get(&id)?;
    let bench = pending.laid().await?;
    let folder = Arc::clone(&bench.folder);
    let (accepted, body) = bench.take(&web, taken).await?;
    let draft = pending.finished().ok_or_else(|| Trouble::Refused("this task was made already".to_owned()))?;
    let task = draft.name.clone();
    let settling = blocking(move || {
        supervise::write(&folder, &accepted, &body, Utc::now())
            .map_err(|problem| Trouble::Refused(problem.to_string()))?;
        draft.settle().map_err(Trouble::from)
    });
    settling.await.map_err(|_| Trouble::Internal)??;
    web.adding.forget(&id);
    tracing::info!(%task, "added at the dashboard");
    web.door.hint().await;
    if let Some(sentence) = web.door.first_reply(Request::Run { task: task.clone() }).await.refusal() {
        tracing::info!(%task, "not run at once: {sentence}");
    }
    Ok(Json(Done { next: Some(format!("/task/{task}")), task: task.to_string() }))
}
