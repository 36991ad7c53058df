//! Actions on a task, as in the CLI: run, pause, resume; publish or drop quarantined rows; roll back.

use axum::Form;
use axum::extract::State;
use axum::response::Redirect;
use serde::Deserialize;

use crate::daemon::http::control::{ControlReply, ControlRequest};
use crate::labelling::task::UndoScope;
use crate::model::TaskName;
use crate::store::ReviewAction;

use super::SharedState;
use super::error::WebError;
use super::label;
use super::login::local_path;
use super::route::Route;
use super::task_path::TaskPath;

/// An action: its routes for pages and for the API, and the request that it sends to the daemon.
#[derive(Clone, Copy)]
pub(super) struct TaskAction {
    pub page: &'static str,
    pub api: &'static str,
    request: fn(TaskName) -> ControlRequest,
}

pub(super) const ACTIONS: &[TaskAction] = &[
    action("/task/{name}/run", "/api/tasks/{name}/run", |task| ControlRequest::Run { task }),
    action("/task/{name}/pause", "/api/tasks/{name}/pause", |task| ControlRequest::Pause { task }),
    action("/task/{name}/resume", "/api/tasks/{name}/resume", |task| ControlRequest::Resume { task }),
    action("/task/{name}/accept", "/api/tasks/{name}/accept", |task| resort(task, ReviewAction::Accept)),
    action("/task/{name}/drop", "/api/tasks/{name}/drop", |task| resort(task, ReviewAction::Drop)),
    action("/task/{name}/rollback", "/api/tasks/{name}/rollback", |task| resort(task, ReviewAction::RollBack)),
];

const fn action(page: &'static str, api: &'static str, request: fn(TaskName) -> ControlRequest) -> TaskAction {
    TaskAction { page, api, request }
}

fn resort(task: TaskName, what: ReviewAction) -> ControlRequest {
    ControlRequest::Resort { task, what }
}

pub(super) fn routes() -> Vec<Route> {
    let route = |verb: &TaskAction| {
        let verb = *verb;
        let press = move |web, task, back| submit(web, task, back, verb);
        Route::post(verb.page, press)
    };
    ACTIONS.iter().map(route).collect()
}

#[derive(Deserialize)]
struct ActionForm {
    /// The page to return to.
    next: Option<String>,
}

async fn submit(
    State(web): State<SharedState>,
    TaskPath(task): TaskPath,
    Form(back): Form<ActionForm>,
    verb: TaskAction,
) -> Result<Redirect, WebError> {
    perform(&web, task, verb).await?;
    Ok(Redirect::to(&local_path(back.next.as_deref())))
}

/// Sends the request to the daemon and waits for its reply.
pub(super) async fn perform(web: &SharedState, task: TaskName, verb: TaskAction) -> Result<ControlReply, WebError> {
    let request = (verb.request)(task);
    tracing::info!(?request, "dashboard: action requested");
    let reply = match request {
        // A rollback may also restore the files that the last label changed.
        ControlRequest::Resort { task, what: ReviewAction::RollBack } => {
            label::roll_back(web, &task, UndoScope::Publication).await?
        }
        request => web.daemon.first_reply(request).await,
    };
    web.overview.invalidate();
    match reply.refusal() {
        Some(sentence) => Err(WebError::Refused(sentence.to_owned())),
        None => Ok(reply),
    }
}
