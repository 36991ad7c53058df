//! What a person asks the daemon for, as by the CLI: run, pause, resume; accept, drop and bring back rows.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::Redirect;
use serde::Deserialize;

use crate::daemon::control::{Reply, Request};
use crate::model::TaskName;
use crate::store::Resort;

use super::Shared;
use super::label;
use super::log_in::inside;
use super::route::Route;
use super::trouble::Trouble;

/// A verb: where it is on a page and in the API, and what it asks for.
#[derive(Clone, Copy)]
pub struct Verb {
    pub page: &'static str,
    pub api: &'static str,
    request: fn(TaskName) -> Request,
}

pub const VERBS: &[Verb] = &[
    verb("/task/{name}/run", "/api/tasks/{name}/run", |task| Request::Run { task }),
    verb("/task/{name}/pause", "/api/tasks/{name}/pause", |task| Request::Pause { task }),
    verb("/task/{name}/resume", "/api/tasks/{name}/resume", |task| Request::Resume { task }),
    verb("/task/{name}/accept", "/api/tasks/{name}/accept", |task| resort(task, Resort::Accept)),
    verb("/task/{name}/drop", "/api/tasks/{name}/drop", |task| resort(task, Resort::Drop)),
    verb("/task/{name}/rollback", "/api/tasks/{name}/rollback", |task| resort(task, Resort::RollBack)),
];

const fn verb(page: &'static str, api: &'static str, request: fn(TaskName) -> Request) -> Verb {
    Verb { page, api, request }
}

fn resort(task: TaskName, what: Resort) -> Request {
    Request::Resort { task, what }
}

pub fn routes() -> Vec<Route> {
    let route = |verb: &Verb| {
        let verb = *verb;
        let press = move |web, name, back| press(web, name, back, verb);
        Route::post(verb.page, press)
    };
    VERBS.iter().map(route).collect()
}

#[derive(Deserialize)]
struct Back {
    /// The page where the button was pressed.
    next: Option<String>,
}

async fn press(
    State(web): State<Shared>,
    Path(name): Path<String>,
    Form(back): Form<Back>,
    verb: Verb,
) -> Result<Redirect, Trouble> {
    ask(&web, &name, verb).await?;
    Ok(Redirect::to(&inside(back.next.as_deref())))
}

/// Asks the daemon, and waits until it has taken it on.
pub async fn ask(web: &Shared, name: &str, verb: Verb) -> Result<Reply, Trouble> {
    let request = (verb.request)(task_name(name)?);
    tracing::info!(?request, "asked for at the dashboard");
    let reply = match request {
        // What a label has changed in the folder goes back with its rows.
        Request::Resort { task, what: Resort::RollBack } => label::roll_back(web, &task).await?,
        request => web.door.first_reply(request).await,
    };
    web.overview.forget();
    match reply.refusal() {
        Some(sentence) => Err(Trouble::Refused(sentence.to_owned())),
        None => Ok(reply),
    }
}

/// The name of a task as it stands in an address.
pub fn task_name(text: &str) -> Result<TaskName, Trouble> {
    TaskName::new(text).map_err(|_| Trouble::NoTask(text.to_owned()))
}
