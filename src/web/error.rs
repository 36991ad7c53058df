//! What goes wrong between a visitor and a page: a status, and a sentence that says what to do.

use std::time::Duration;

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::model::TaskName;
use crate::store::StoreError;

use super::layout;

#[derive(Debug, thiserror::Error)]
pub enum WebError {
    #[error("log in first")]
    LogIn,
    #[error(
        "the dashboard does not answer to this name; ask for it by its address, or add the name to web_hosts in config.toml"
    )]
    ForeignHost,
    #[error("this did not come from a page of the dashboard, so nothing was done")]
    ForeignOrigin,
    #[error("this page is from before the last log-in or restart, so nothing was done; reload it and try again")]
    NoToken,
    #[error("this is more than is taken at once")]
    TooLarge,
    #[error("there is no such page")]
    NoPage,
    #[error("there is no task `{0}`; the status page lists them")]
    NoTask(String),
    #[error("there is no such run of `{0}`, or it is not kept any longer")]
    NoRun(TaskName),
    /// Not understood, or not possible, and why.
    #[error("{0}")]
    Bad(String),
    /// Understood, and not done.
    #[error("{0}")]
    Refused(String),
    #[error("too many wrong passwords; try again in {} s", .0.as_secs().max(1))]
    TooFast(Duration),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("something went wrong here; the daemon's log has more")]
    Internal,
}

impl WebError {
    fn status(&self) -> StatusCode {
        match self {
            WebError::LogIn => StatusCode::UNAUTHORIZED,
            WebError::ForeignHost | WebError::ForeignOrigin | WebError::NoToken => StatusCode::FORBIDDEN,
            WebError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            WebError::NoPage | WebError::NoTask(_) | WebError::NoRun(_) => StatusCode::NOT_FOUND,
            WebError::Bad(_) => StatusCode::BAD_REQUEST,
            WebError::Refused(_) => StatusCode::CONFLICT,
            WebError::TooFast(_) => StatusCode::TOO_MANY_REQUESTS,
            WebError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            WebError::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// What was said, for those who want it as JSON.
#[derive(Clone)]
struct ErrorMessage(String);

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        if matches!(self, WebError::Store(_) | WebError::Internal) {
            tracing::warn!("a page of the dashboard could not be shown: {self}");
        }
        let (status, sentence) = (self.status(), self.to_string());
        let mut response = (status, layout::message_page("That did not work", &sentence)).into_response();
        if let WebError::TooFast(wait) = self {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        response.extensions_mut().insert(ErrorMessage(sentence));
        response
    }
}

/// The same trouble for a program.
pub fn as_json(response: Response) -> Response {
    match response.extensions().get::<ErrorMessage>() {
        Some(ErrorMessage(sentence)) => (response.status(), Json(json!({ "error": sentence }))).into_response(),
        None => response,
    }
}

pub async fn no_such_page() -> WebError {
    WebError::NoPage
}
