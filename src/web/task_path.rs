//! The task and the run that an address names.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

use crate::model::{RunId, TaskName};
use crate::store::{RunRow, Store};

use super::SharedState;
use super::error::WebError;

/// The name in `{name}` of the route. Answers 404 if no task can have it.
pub(super) struct TaskPath(pub TaskName);

impl FromRequestParts<SharedState> for TaskPath {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, web: &SharedState) -> Result<TaskPath, Response> {
        let Path(parameters) = Path::<BTreeMap<String, String>>::from_request_parts(parts, web)
            .await
            .map_err(IntoResponse::into_response)?;
        let name = parameters.get("name").map(String::as_str).unwrap_or_default();
        let task = TaskName::new(name).map_err(|_| WebError::NoTask(name.to_owned()).into_response())?;
        Ok(TaskPath(task))
    }
}

/// The run of this task with the id in an address.
pub(super) fn find_run(store: &Store, task: &TaskName, id: &str) -> Result<(RunId, RunRow), WebError> {
    let missing = || WebError::NoRun(task.clone());
    let id: RunId = id.parse().map_err(|_| missing())?;
    let run = store.run(id)?.filter(|run| run.start.task == *task).ok_or_else(missing)?;
    Ok((id, run))
}
