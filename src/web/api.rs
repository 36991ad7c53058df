//! `/api/…`: the same for programs, in the shapes that the CLI's `--json` prints. `/api/openapi.json` describes it.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::daemon::control::Reply;
use crate::model::RunId;
use crate::show::{found, numbers, trace, values, verdict};
use crate::store::Browse;
use crate::taskdir;

use super::Shared;
use super::overview::worst_first;
use super::route::Route;
use super::search;
use super::trouble::Trouble;
use super::verbs::{self, VERBS, Verb, task_name};

const OPENAPI: &str = include_str!("openapi.json");
/// Rows of one answer, unless more are asked for.
const ROWS: u64 = 100;
const MOST_ROWS: u64 = 10_000;
const MOST_RUNS: u32 = 1_000;

pub fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::get("/api/openapi.json", openapi).for_anybody(),
        Route::get("/api/status", status),
        Route::get("/api/tasks/{name}", task),
        Route::get("/api/tasks/{name}/records", records),
        Route::get("/api/tasks/{name}/runs", runs),
        Route::get("/api/tasks/{name}/runs/{run}", run),
        Route::get("/api/tasks/{name}/numbers", over_time),
        Route::get("/api/search", find),
    ];
    routes.extend(VERBS.iter().map(|verb| {
        let verb = *verb;
        Route::post(verb.api, move |web, name| press(web, name, verb))
    }));
    routes
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn status(State(web): State<Shared>) -> Result<Json<Value>, Trouble> {
    let (lines, now) = (web.overview.lines().await?, Utc::now());
    let mut going = web.overview.going();
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

async fn task(State(web): State<Shared>, Path(name): Path<String>) -> Result<Json<Value>, Trouble> {
    Ok(Json(json!(web.overview.line(&task_name(&name)?).await?)))
}

#[derive(Deserialize)]
struct Part {
    q: Option<String>,
    sort: Option<String>,
    #[serde(default)]
    desc: bool,
    limit: Option<u64>,
    #[serde(default)]
    offset: u64,
}

async fn records(
    State(web): State<Shared>,
    Path(name): Path<String>,
    Query(part): Query<Part>,
) -> Result<Json<Value>, Trouble> {
    let task = task_name(&name)?;
    let limit = part.limit.unwrap_or(ROWS).min(MOST_ROWS);
    let browse = Browse { has: part.q, by: part.sort, descending: part.desc, limit, offset: part.offset };
    let named = task.clone();
    let rows = web.reader.read(move |store| store.browse(&named, &browse)).await?;
    let rows = rows.ok_or_else(|| Trouble::Refused(format!("`{task}` has no published rows yet")))?;
    let mut document = values::document(&task, &rows);
    document["total"] = rows.total.into();
    Ok(Json(document))
}

#[derive(Deserialize)]
struct Last {
    last: Option<u32>,
}

async fn runs(
    State(web): State<Shared>,
    Path(name): Path<String>,
    Query(part): Query<Last>,
) -> Result<Json<Value>, Trouble> {
    let task = task_name(&name)?;
    let (named, last) = (task.clone(), part.last.unwrap_or(20).min(MOST_RUNS));
    let runs = web.reader.read(move |store| store.past(&named, last)).await?;
    Ok(Json(json!({ "task": task, "runs": runs })))
}

async fn run(State(web): State<Shared>, Path((name, run)): Path<(String, String)>) -> Result<Json<Value>, Trouble> {
    let task = task_name(&name)?;
    let id: RunId = run.parse().map_err(|_| Trouble::NoRun(task.clone()))?;
    let work = web.reader.work(move |store, config| {
        let row = store.run(id)?.filter(|row| row.start.task == task);
        let past = row.and_then(|row| row.past()).ok_or(Trouble::NoRun(task.clone()))?;
        let folder = taskdir::read(&config.tasks.join(task.as_str())).map_err(|it| Trouble::Refused(it.to_string()))?;
        let measured = verdict::account(store, &folder, &past)?;
        let trace = trace::timed(store.traces(id)?, past.started_at);
        Ok(json!({ "task": task, "run": past, "measured": measured, "trace": trace }))
    });
    Ok(Json(work.await?))
}

#[derive(Deserialize)]
struct OfColumn {
    column: String,
    last: Option<u32>,
}

async fn over_time(
    State(web): State<Shared>,
    Path(name): Path<String>,
    Query(part): Query<OfColumn>,
) -> Result<Json<Value>, Trouble> {
    let task = task_name(&name)?;
    let (named, last) = (task.clone(), part.last.unwrap_or(MOST_RUNS).min(MOST_RUNS));
    let runs = web.reader.read(move |store| store.past(&named, last)).await?;
    let series = numbers::series(&runs, &part.column);
    if series.is_empty() {
        return Err(Trouble::Refused(numbers::other_columns(&task, &runs, &part.column)));
    }
    Ok(Json(numbers::document(&task, &part.column, numbers::columns(&runs), series)))
}

async fn find(State(web): State<Shared>, Query(wanted): Query<search::Wanted>) -> Result<Json<Value>, Trouble> {
    let answer = search::find(&web.reader, &wanted).await?;
    Ok(Json(found::document(&answer.map_err(|error| Trouble::Bad(error.to_string()))?)))
}

async fn press(State(web): State<Shared>, Path(name): Path<String>, verb: Verb) -> Result<Json<Reply>, Trouble> {
    Ok(Json(verbs::ask(&web, &name, verb).await?))
}
