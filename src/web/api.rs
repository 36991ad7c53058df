//! `/api/…`: the dashboard for programs, in the formats of the CLI's `--json`. `/api/openapi.json` describes it.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::daemon::http::control::ControlReply;
use crate::show::{column_series, search_results, times, values, verdict};
use crate::store::BrowseQuery;
use crate::tasks;

use super::SharedState;
use super::actions;
use super::actions::{ACTIONS, TaskAction};
use super::error::WebError;
use super::overview::worst_first;
use super::route::Route;
use super::search;
use super::task_path::{TaskPath, find_run};

const OPENAPI: &str = include_str!("openapi.json");
/// Default number of rows of a response.
const ROWS: u64 = 100;
const MOST_ROWS: u64 = 10_000;
const MOST_RUNS: u32 = 1_000;

pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::get("/api/openapi.json", openapi).public(),
        Route::get("/api/status", status),
        Route::get("/api/tasks/{name}", task),
        Route::get("/api/tasks/{name}/records", records),
        Route::get("/api/tasks/{name}/runs", runs),
        Route::get("/api/tasks/{name}/runs/{run}", run),
        Route::get("/api/tasks/{name}/numbers", column_series),
        Route::get("/api/search", find),
    ];
    routes.extend(ACTIONS.iter().map(|verb| {
        let verb = *verb;
        Route::post(verb.api, move |web, task| post_action(web, task, verb))
    }));
    routes
}

/// With the name that the session cookie has here.
async fn openapi(State(web): State<SharedState>) -> Response {
    let text = OPENAPI.replace("pieme_session", &web.instance.session_cookie);
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

async fn status(State(web): State<SharedState>) -> Result<Json<Value>, WebError> {
    let (lines, now) = (web.overview.lines().await?, Utc::now());
    let mut going = web.overview.progress();
    let found = worst_first(&lines, now, |_, _| true);
    let tasks: Vec<_> = found
        .into_iter()
        .map(|(_, line)| {
            let mut line = line.at(now);
            line.progress = going.remove(&line.task);
            line
        })
        .collect();
    Ok(Json(json!({ "daemon": true, "tasks": tasks })))
}

async fn task(State(web): State<SharedState>, TaskPath(task): TaskPath) -> Result<Json<Value>, WebError> {
    Ok(Json(json!(web.overview.line(&task).await?)))
}

#[derive(Deserialize)]
struct RecordsQuery {
    q: Option<String>,
    sort: Option<String>,
    #[serde(default)]
    desc: bool,
    limit: Option<u64>,
    #[serde(default)]
    offset: u64,
}

async fn records(
    State(web): State<SharedState>,
    TaskPath(task): TaskPath,
    Query(part): Query<RecordsQuery>,
) -> Result<Json<Value>, WebError> {
    let limit = part.limit.unwrap_or(ROWS).min(MOST_ROWS);
    let browse =
        BrowseQuery { contains: part.q, sort_by: part.sort, descending: part.desc, limit, offset: part.offset };
    let named = task.clone();
    let rows = web.store.read(move |store| store.browse(&named, &browse)).await?;
    let rows = rows.ok_or_else(|| WebError::Refused(format!("`{task}` has no published rows yet")))?;
    let mut document = values::document(&task, &rows);
    document["total"] = rows.total.into();
    Ok(Json(document))
}

#[derive(Deserialize)]
struct RunsLimitQuery {
    last: Option<u32>,
}

async fn runs(
    State(web): State<SharedState>,
    TaskPath(task): TaskPath,
    Query(part): Query<RunsLimitQuery>,
) -> Result<Json<Value>, WebError> {
    let (named, last) = (task.clone(), part.last.unwrap_or(20).min(MOST_RUNS));
    let runs = web.store.read(move |store| store.past_verdicts(&named, last)).await?;
    Ok(Json(json!({ "task": task, "runs": runs })))
}

async fn run(
    State(web): State<SharedState>,
    TaskPath(task): TaskPath,
    Path((_, run)): Path<(String, String)>,
) -> Result<Json<Value>, WebError> {
    let work = web.store.work(move |store, config| {
        let (id, row) = find_run(store, &task, &run)?;
        let past = row.into_past().ok_or_else(|| WebError::NoRun(task.clone()))?;
        let folder = tasks::read(&config.tasks.join(task.as_str()))?;
        let measured = verdict::account(store, &folder, &past)?;
        let trace = times::timed(store.trace_lines(id)?, past.started_at);
        Ok(json!({ "task": task, "run": past, "measured": measured, "trace": trace }))
    });
    Ok(Json(work.await?))
}

#[derive(Deserialize)]
struct ColumnQuery {
    column: String,
    last: Option<u32>,
}

async fn column_series(
    State(web): State<SharedState>,
    TaskPath(task): TaskPath,
    Query(part): Query<ColumnQuery>,
) -> Result<Json<Value>, WebError> {
    let (named, last) = (task.clone(), part.last.unwrap_or(MOST_RUNS).min(MOST_RUNS));
    let runs = web.store.read(move |store| store.past_verdicts(&named, last)).await?;
    let series = column_series::series(&runs, &part.column);
    if series.is_empty() {
        return Err(WebError::Refused(column_series::other_columns(&task, &runs, &part.column)));
    }
    Ok(Json(column_series::document(&task, &part.column, column_series::columns(&runs), series)))
}

async fn find(
    State(web): State<SharedState>,
    Query(wanted): Query<search::SearchParams>,
) -> Result<Json<Value>, WebError> {
    let answer = search::find(&web.store, &wanted).await?;
    Ok(Json(search_results::document(&answer.map_err(|error| WebError::Bad(error.to_string()))?)))
}

async fn post_action(
    State(web): State<SharedState>,
    TaskPath(task): TaskPath,
    verb: TaskAction,
) -> Result<Json<ControlReply>, WebError> {
    Ok(Json(actions::perform(&web, task, verb).await?))
}
