//! What a person asks the daemon for, as by the CLI: run, pause, resume; accept, drop and bring back rows.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::Redirect;
use serde::Deserialize;

use crate::daemon::control::{Reply, Request};
use crate::model::TaskName;
use crate::store::Resort;

use super::Shared;
use super::log_in::inside;
use super::route::Route;
use super::trouble::Trouble;

/// Every verb of a task with what it asks for.
pub const VERBS: &[(&str, fn(TaskName) -> Request)] = &[
    ("run", |task| Request::Run { task }),
    ("pause", |task| Request::Pause { task }),
    ("resume", |task| Request::Resume { task }),
    ("accept", |task| Request::Resort { task, what: Resort::Accept }),
    ("drop", |task| Request::Resort { task, what: Resort::Drop }),
    ("rollback", |task| Request::Resort { task, what: Resort::RollBack }),
];

pub fn routes() -> Vec<Route> {
    vec![Route::post("/task/{name}/{verb}", verb)]
}

#[derive(Deserialize)]
struct Back {
    /// The page where the button was pressed.
    next: Option<String>,
}

async fn verb(
    State(web): State<Shared>,
    Path((name, verb)): Path<(String, String)>,
    Form(back): Form<Back>,
) -> Result<Redirect, Trouble> {
    ask(&web, &name, &verb).await?;
    Ok(Redirect::to(&inside(back.next.as_deref())))
}

/// Asks the daemon, and waits until it has taken it on.
pub async fn ask(web: &Shared, name: &str, verb: &str) -> Result<Reply, Trouble> {
    let (_, request) = VERBS.iter().find(|(word, _)| *word == verb).ok_or(Trouble::NoPage)?;
    let task = task_name(name)?;
    tracing::info!(%task, verb, "asked for at the dashboard");
    match web.door.first_reply(request(task)).await {
        Reply::Refused { sentence } => Err(Trouble::Refused(sentence)),
        reply => Ok(reply),
    }
}

/// The name of a task as it stands in an address.
pub fn task_name(text: &str) -> Result<TaskName, Trouble> {
    TaskName::new(text).map_err(|_| Trouble::NoTask(text.to_owned()))
}
