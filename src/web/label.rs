//! `/label`: the queue of tasks that wait for a person, and one labelling page per task: the last good rows beside the
//! page of the last run.

use axum::Json;
use axum::extract::State;
use axum::response::{Html, Response};
use chrono::Utc;
use maud::{Markup, html};
use serde::Serialize;

use crate::daemon::http::control::{ControlReply, ControlRequest};
use crate::labelling::page::ProposalView;
use crate::labelling::task;
use crate::labelling::task::{UndoPlan, UndoScope};
use crate::model::{RunId, State as TaskState, Table, TaskName};
use crate::show::times;
use crate::store::{ReviewAction, Store};
use crate::tasks;
use crate::tasks::{Problem, TaskFolder};

use super::error::WebError;
use super::labelling_session;
use super::labelling_session::{AcceptRequest, HelpRequest, LabellingReply, LabellingSession, LabellingView};
use super::layout::{self, NavItem};
use super::route::Route;
use super::session::SessionUser;
use super::task_path::TaskPath;
use super::threads::blocking;
use super::{SharedState, components};

/// Number of last good rows shown for comparison.
const SHOWN_ROWS: u64 = 12;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/label", queue),
        Route::get("/label/{name}", show),
        Route::get("/label/{name}/page", page),
        Route::get("/label/{name}/state", state),
        Route::post("/label/{name}/lists", lists),
        Route::post("/label/{name}/take", accept),
        Route::post("/label/{name}/empty", confirm_empty),
        Route::post("/label/{name}/undo", undo),
    ]
}

async fn queue(State(web): State<SharedState>, visitor: SessionUser) -> Result<Html<String>, WebError> {
    let waiting = tasks_to_label(&web).await?;
    let body = html! {
        h1 { "Waiting for a person" }
        div #queue data-live {
            @if waiting.is_empty() {
                p.empty #none { "No task waits for a person. " a href="/" { "Show all tasks" } }
            } @else {
                p { "Worst first. If the proposed list is right, press Enter; the next task then opens by itself." }
                ol #waiting {
                    @for (place, name) in waiting.iter().enumerate() {
                        li { a #{ "wait-" (name) } href={ "/label/" (name) } autofocus[place == 0] { (name) } }
                    }
                }
            }
        }
    };
    Ok(layout::page(&visitor, NavItem::Label, "Waiting for a person", body))
}

async fn tasks_to_label(web: &SharedState) -> Result<Vec<TaskName>, WebError> {
    web.store.read(task::tasks_to_label).await
}

/// The address of the task that follows this one in the queue now.
async fn next_after(web: &SharedState, name: &TaskName) -> Result<Option<String>, WebError> {
    let waiting = tasks_to_label(web).await?;
    let at = waiting.iter().position(|it| it == name);
    let after = waiting.iter().skip(at.map_or(0, |at| at + 1)).chain(waiting.iter().take(at.unwrap_or(0)));
    Ok(after.map(|next| format!("/label/{next}")).next())
}

async fn show(
    State(web): State<SharedState>,
    visitor: SessionUser,
    TaskPath(name): TaskPath,
) -> Result<Html<String>, WebError> {
    let line = web.overview.line(&name).await?;
    let next = next_after(&web, &name).await?;
    let task = name.clone();
    // Read from the store, since the overview may be half a second old: the script recognises the run that a label
    // starts by comparing it with this last run.
    let read = move |store: &Store| {
        let good = store.published(&task, SHOWN_ROWS, 0)?;
        Ok((good, store.past_verdicts(&task, 1)?.pop(), task::page_age(store, &task)?))
    };
    let (good, last, age) = web.store.read(read).await?;
    let good = good.map(|it| it.table);
    let title = html! {
        h1 {
            "Choose the list for " a href={ "/task/" (name) } { (name) } " "
            span.state #state data-tone=(components::tone_of(&line)) { (line.state) }
        }
        p #before-this hidden { b {} ": " span.state {} }
        @if let Some(run) = &last { p #why { (components::sentence(&run.verdict.sentence)) } }
        @if let Some(age) = &age {
            p.faint #age {
                "Page fetched " (times::ago(Utc::now() - age.fetched_at))
                " (" (components::time(Some(age.fetched_at), "")) ")."
                @if let Some(note) = &age.note { " " (components::sentence(note)) }
            }
        }
    };
    let shows = LabellingView {
        base: &format!("/label/{name}"),
        task: name.as_str(),
        title,
        run: last.as_ref().map(|run| run.run),
        next,
        columns: good.as_ref().map(|it| it.columns.clone()).unwrap_or_default(),
        before: good.as_ref().map(rows),
        is_known: true,
    };
    Ok(layout::page(&visitor, NavItem::Label, &format!("Label {name}"), labelling_session::page(&shows)))
}

fn rows(table: &Table) -> Markup {
    html! {
        div.scroller tabindex="0" role="region" aria-labelledby="was" {
            table #good {
                thead { tr { @for name in &table.columns { th scope="col" { (name) } } } }
                tbody {
                    @for row in &table.rows {
                        tr { @for cell in &row.cells { td { (cell.as_deref().unwrap_or("")) } } }
                    }
                }
            }
        }
    }
}

async fn open_session(web: &SharedState, name: &TaskName) -> Result<LabellingSession, WebError> {
    let name = name.clone();
    web.store
        .work(move |store, config| LabellingSession::open(store, folder(&config.tasks.join(name.as_str()), &name)?))
        .await
}

fn folder(dir: &std::path::Path, name: &TaskName) -> Result<TaskFolder, WebError> {
    if !dir.is_dir() {
        return Err(WebError::NoTask(name.to_string()));
    }
    Ok(tasks::read(dir)?)
}

async fn page(State(web): State<SharedState>, TaskPath(name): TaskPath) -> Result<Response, WebError> {
    open_session(&web, &name).await?.page(&web).await
}

async fn lists(
    State(web): State<SharedState>,
    TaskPath(name): TaskPath,
    Json(said): Json<HelpRequest>,
) -> Result<Json<ProposalView>, WebError> {
    Ok(Json(open_session(&web, &name).await?.lists(&web, said).await?))
}

async fn accept(
    State(web): State<SharedState>,
    TaskPath(name): TaskPath,
    Json(taken): Json<AcceptRequest>,
) -> Result<Json<LabellingReply>, WebError> {
    let bench = open_session(&web, &name).await?;
    let folder = std::sync::Arc::clone(&bench.folder);
    let (accepted, body) = bench.accept(&web, taken).await?;
    write_blocking(move || task::write(&folder, &accepted, &body, Utc::now())).await?;
    tracing::info!(task = %name, "dashboard: task labelled");
    run_task(&web, name).await
}

/// Writes `expect.allow_empty`: a person confirmed that the list is empty.
async fn confirm_empty(
    State(web): State<SharedState>,
    TaskPath(name): TaskPath,
) -> Result<Json<LabellingReply>, WebError> {
    let dir = web.config.tasks.join(name.as_str());
    let task = name.clone();
    write_blocking(move || {
        let folder = tasks::read(&dir)?;
        tasks::allow_empty(&folder.dir)
    })
    .await?;
    tracing::info!(%task, "dashboard: empty list confirmed (expect.allow_empty)");
    run_task(&web, name).await
}

/// Starts a run and returns the next task of the queue. A run that is in progress already is as good.
async fn run_task(web: &SharedState, task: TaskName) -> Result<Json<LabellingReply>, WebError> {
    web.daemon.hint_folders_changed().await;
    if let Some(sentence) = web.daemon.first_reply(ControlRequest::Run { task: task.clone() }).await.refusal() {
        tracing::info!(%task, reason = sentence, "dashboard: run not started");
    }
    Ok(Json(LabellingReply { next: next_after(web, &task).await?, task: task.to_string() }))
}

async fn undo(State(web): State<SharedState>, TaskPath(task): TaskPath) -> Result<Json<LabellingReply>, WebError> {
    roll_back(&web, &task, UndoScope::Label).await?;
    Ok(Json(LabellingReply { next: Some(format!("/label/{task}")), task: task.to_string() }))
}

/// Undoes the last publication or label of a task.
pub(super) async fn roll_back(web: &SharedState, task: &TaskName, scope: UndoScope) -> Result<ControlReply, WebError> {
    let name = task.clone();
    let (folder, plan) = web
        .store
        .work(move |store, config| {
            let folder = folder(&config.tasks.join(name.as_str()), &name)?;
            let plan = UndoPlan::of(Some(store), &folder, scope)?;
            Ok((folder, plan))
        })
        .await?;
    if let Some(sentence) = plan.refusal(task) {
        return Err(WebError::Refused(sentence));
    }
    let mut back = ControlReply::Done;
    if plan.rows {
        let request = ControlRequest::Resort { task: task.clone(), what: ReviewAction::RollBack };
        back = web.daemon.first_reply(request).await;
        if let Some(sentence) = back.refusal() {
            return Err(WebError::Refused(sentence.to_owned()));
        }
    }
    if plan.label {
        write_blocking(move || task::undo_label(&folder)).await?;
        web.daemon.hint_folders_changed().await;
    }
    tracing::info!(%task, rows = plan.rows, label = plan.label, "dashboard: publication or label undone");
    Ok(back)
}

async fn write_blocking<T: Send + 'static>(
    write: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, WebError> {
    Ok(blocking(write).await??)
}

#[derive(Serialize)]
struct TaskStateReply {
    state: TaskState,
    tone: &'static str,
    /// The last finished run.
    run: Option<RunId>,
    going: bool,
    rows: Option<u64>,
    sentence: String,
}

async fn state(State(web): State<SharedState>, TaskPath(name): TaskPath) -> Result<Json<TaskStateReply>, WebError> {
    let line = web.overview.line(&name).await?;
    Ok(Json(TaskStateReply {
        state: line.state,
        tone: components::tone_of(&line),
        run: line.last_run.as_ref().map(|run| run.run),
        going: line.progress.is_some() || matches!(line.state, TaskState::Running | TaskState::Queued),
        rows: line.rows,
        sentence: line.last_run.as_ref().map(|run| run.verdict.sentence.clone()).unwrap_or_default(),
    }))
}
