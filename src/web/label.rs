//! `/label`: tasks that wait for a person, and each of them: the last good rows, the page as it is now, and the one key.

use crate::daemon::threads::blocking;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{Html, Response};
use chrono::Utc;
use maud::{Markup, html};
use serde::Serialize;

use crate::daemon::control::{Reply, Request};
use crate::model::{RunId, State as TaskState, Table, TaskName};
use crate::store::{Resort, Store};
use crate::study::Shown;
use crate::supervise;
use crate::taskdir::{self, Problem, TaskFolder};

use super::bench::{self, Bench, Done, Said, Shows, Taken};
use super::gate::Visitor;
use super::layout::{self, Here};
use super::route::Route;
use super::trouble::Trouble;
use super::verbs::task_name;
use super::{Shared, parts};

/// Of the last good rows, to compare with.
const SHOWN_ROWS: u64 = 12;

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/label", queue),
        Route::get("/label/{name}", show),
        Route::get("/label/{name}/page", page),
        Route::get("/label/{name}/state", state),
        Route::post("/label/{name}/lists", lists),
        Route::post("/label/{name}/take", take),
        Route::post("/label/{name}/empty", empty),
        Route::post("/label/{name}/undo", undo),
    ]
}

async fn queue(State(web): State<Shared>, visitor: Visitor) -> Result<Html<String>, Trouble> {
    let waiting = waiting(&web).await?;
    let body = html! {
        h1 { "Waiting for a person" }
        div #queue data-live {
            @if waiting.is_empty() {
                p.empty #none { "No task waits. " a href="/" { "How they all stand" } }
            } @else {
                p { "Worst first. One key takes what pieme has found again; the next task then comes by itself." }
                ol #waiting {
                    @for (place, name) in waiting.iter().enumerate() {
                        li { a #{ "wait-" (name) } href={ "/label/" (name) } autofocus[place == 0] { (name) } }
                    }
                }
            }
        }
    };
    Ok(layout::page(&visitor, Here::Label, "Waiting for a person", body))
}

async fn waiting(web: &Shared) -> Result<Vec<TaskName>, Trouble> {
    web.reader.read(supervise::waiting).await
}

/// The one that comes after this, as the queue stands now.
async fn next_after(web: &Shared, name: &TaskName) -> Result<Option<String>, Trouble> {
    let waiting = waiting(web).await?;
    let at = waiting.iter().position(|it| it == name);
    let after = waiting.iter().skip(at.map_or(0, |at| at + 1)).chain(waiting.iter().take(at.unwrap_or(0)));
    Ok(after.map(|next| format!("/label/{next}")).next())
}

async fn show(State(web): State<Shared>, visitor: Visitor, Path(name): Path<String>) -> Result<Html<String>, Trouble> {
    let name = task_name(&name)?;
    let line = web.overview.line(&name).await?;
    let next = next_after(&web, &name).await?;
    let task = name.clone();
    // As it is now: the overview may be half a second old, and what comes of a label is told by the run before it.
    let read = move |store: &Store| Ok((store.published(&task, SHOWN_ROWS, 0)?, store.past(&task, 1)?.pop()));
    let (good, last) = web.reader.read(read).await?;
    let good = good.map(|it| it.table);
    let title = html! {
        h1 { "Which list is " a href={ "/task/" (name) } { (name) } "? " span.state #state data-tone=(parts::tone_of(&line)) { (line.state) } }
        p #before-this hidden { b {} ": " span.state {} }
        @if let Some(run) = &last { p #why { (run.verdict.sentence) } }
    };
    let shows = Shows {
        base: &format!("/label/{name}"),
        task: name.as_str(),
        title,
        run: last.as_ref().map(|run| run.run),
        next,
        columns: good.as_ref().map(|it| it.columns.clone()).unwrap_or_default(),
        before: good.as_ref().map(rows),
        is_known: true,
    };
    Ok(layout::page(&visitor, Here::Label, &format!("Label {name}"), bench::page(&shows)))
}

fn rows(table: &Table) -> Markup {
    html! {
        div.scroller tabindex="0" role="region" aria-labelledby="was" {
            table #good {
                thead { tr { @for name in &table.columns { th scope="col" { (name) } } } }
                tbody {
                    @for row in &table.rows { tr { @for cell in &row.cells { td { (cell.as_deref().unwrap_or("")) } } } }
                }
            }
        }
    }
}

async fn laid(web: &Shared, name: &TaskName) -> Result<Bench, Trouble> {
    let name = name.clone();
    web.reader.work(move |store, config| Bench::lay(store, folder(&config.tasks.join(name.as_str()), &name)?)).await
}

fn folder(dir: &std::path::Path, name: &TaskName) -> Result<TaskFolder, Trouble> {
    if !dir.is_dir() {
        return Err(Trouble::NoTask(name.to_string()));
    }
    taskdir::read(dir).map_err(said)
}

fn said(problem: Problem) -> Trouble {
    Trouble::Refused(problem.to_string())
}

async fn page(State(web): State<Shared>, Path(name): Path<String>) -> Result<Response, Trouble> {
    laid(&web, &task_name(&name)?).await?.page(&web).await
}

async fn lists(
    State(web): State<Shared>,
    Path(name): Path<String>,
    Json(said): Json<Said>,
) -> Result<Json<Shown>, Trouble> {
    Ok(Json(laid(&web, &task_name(&name)?).await?.lists(&web, said).await?))
}

async fn take(
    State(web): State<Shared>,
    Path(name): Path<String>,
    Json(taken): Json<Taken>,
) -> Result<Json<Done>, Trouble> {
    let name = task_name(&name)?;
    let bench = laid(&web, &name).await?;
    let folder = std::sync::Arc::clone(&bench.folder);
    let (accepted, body) = bench.take(&web, taken).await?;
    writing(move || supervise::write(&folder, &accepted, &body, Utc::now())).await?;
    tracing::info!(task = %name, "labelled at the dashboard");
    run(&web, name).await
}

/// There is nothing to see, and rightly so.
async fn empty(State(web): State<Shared>, Path(name): Path<String>) -> Result<Json<Done>, Trouble> {
    let name = task_name(&name)?;
    let dir = web.config.tasks.join(name.as_str());
    let task = name.clone();
    writing(move || {
        let folder = taskdir::read(&dir)?;
        taskdir::allow_empty(&folder.dir)
    })
    .await?;
    tracing::info!(%task, "an empty list is fine from now on, said at the dashboard");
    run(&web, name).await
}

/// Runs the task, and says who waits next. A run that is going already is as good.
async fn run(web: &Shared, task: TaskName) -> Result<Json<Done>, Trouble> {
    web.door.hint().await;
    if let Some(sentence) = web.door.first_reply(Request::Run { task: task.clone() }).await.refusal() {
        tracing::info!(%task, "not run at once: {sentence}");
    }
    Ok(Json(Done { next: next_after(web, &task).await?, task: task.to_string() }))
}

async fn undo(State(web): State<Shared>, Path(name): Path<String>) -> Result<Json<Done>, Trouble> {
    let task = task_name(&name)?;
    roll_back(&web, &task).await?;
    Ok(Json(Done { next: Some(format!("/label/{task}")), task: task.to_string() }))
}

/// The rows of before come back, and with them what the last labelling replaced.
pub async fn roll_back(web: &Shared, task: &TaskName) -> Result<Reply, Trouble> {
    let dir = web.config.tasks.join(task.as_str());
    let folder = {
        let task = task.clone();
        blocking(move || folder(&dir, &task)).await.map_err(|_| Trouble::Internal)??
    };
    let back = web.door.first_reply(Request::Resort { task: task.clone(), what: Resort::RollBack }).await;
    if let Some(sentence) = back.refusal() {
        return Err(Trouble::Refused(sentence.to_owned()));
    }
    writing(move || supervise::undo(&folder)).await?;
    web.door.hint().await;
    tracing::info!(%task, "rows and label of before are brought back at the dashboard");
    Ok(back)
}

async fn writing<T: Send + 'static>(write: impl FnOnce() -> Result<T, Problem> + Send + 'static) -> Result<T, Trouble> {
    blocking(write).await.map_err(|_| Trouble::Internal)?.map_err(said)
}

#[derive(Serialize)]
struct Now {
    state: TaskState,
    tone: &'static str,
    /// The last run that has ended.
    run: Option<RunId>,
    going: bool,
    rows: Option<u64>,
    sentence: String,
}

async fn state(State(web): State<Shared>, Path(name): Path<String>) -> Result<Json<Now>, Trouble> {
    let line = web.overview.line(&task_name(&name)?).await?;
    Ok(Json(Now {
        state: line.state,
        tone: parts::tone_of(&line),
        run: line.last_run.as_ref().map(|run| run.run),
        going: line.progress.is_some() || matches!(line.state, TaskState::Running | TaskState::Queued),
        rows: line.rows,
        sentence: line.last_run.as_ref().map(|run| run.verdict.sentence.clone()).unwrap_or_default(),
    }))
}
