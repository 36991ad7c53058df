//! Errors of the dashboard: an HTTP status, and a sentence that says what to do.

use std::time::Duration;

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::model::TaskName;
use crate::store::StoreError;
use crate::tasks::Problem;

use super::layout;

#[derive(Debug, thiserror::Error)]
pub(super) enum WebError {
    #[error("Log in first.")]
    LogIn,
    #[error(
        "The dashboard does not answer to this host name. Use its address, or add the name to web_hosts in config.toml."
    )]
    ForeignHost,
    #[error("The request did not come from a page of the dashboard. Nothing was changed.")]
    ForeignOrigin,
    #[error("This page is older than the last login or restart. Nothing was changed; reload the page and try again.")]
    NoToken,
    #[error("The request is too large. Nothing was changed.")]
    TooLarge,
    #[error("There is no such page.")]
    NoPage,
    #[error("There is no task `{0}`. The status page lists all tasks.")]
    NoTask(String),
    #[error("There is no such run of `{0}`, or it is no longer kept.")]
    NoRun(TaskName),
    /// An invalid request, and why.
    #[error("{0}")]
    Bad(String),
    /// A valid request that was not carried out, and why.
    #[error("{0}")]
    Refused(String),
    #[error("Too many wrong passwords. Try again in {} s.", .0.as_secs().max(1))]
    TooFast(Duration),
    #[error("Too many requests at the same time. Try again in a moment.")]
    Busy,
    #[error("This took too long and was stopped. Ask for less: more letters of a word, or more words.")]
    TooSlow,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("Internal error. The daemon's log says more (journalctl -u pieme-daemon).")]
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
            WebError::Store(_) | WebError::Busy | WebError::TooSlow => StatusCode::SERVICE_UNAVAILABLE,
            WebError::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl From<Problem> for WebError {
    fn from(problem: Problem) -> WebError {
        WebError::Refused(problem.to_string())
    }
}

/// The error's sentence, kept in the response for [`as_json`].
#[derive(Clone)]
struct ErrorMessage(String);

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        if matches!(self, WebError::Store(_) | WebError::Internal) {
            tracing::warn!(error = %self, "dashboard: request failed");
        }
        let (status, sentence) = (self.status(), self.to_string());
        let mut response = (status, layout::message_page("Error", &sentence)).into_response();
        let wait = match self {
            WebError::TooFast(wait) => Some(wait.as_secs().max(1)),
            WebError::Busy => Some(1),
            _ => None,
        };
        response.headers_mut().extend(wait.map(|wait| (RETRY_AFTER, HeaderValue::from(wait))));
        response.extensions_mut().insert(ErrorMessage(sentence));
        response
    }
}

/// Turns an error page into JSON.
pub(super) fn as_json(response: Response) -> Response {
    match response.extensions().get::<ErrorMessage>() {
        Some(ErrorMessage(sentence)) => (response.status(), Json(json!({ "error": sentence }))).into_response(),
        None => response,
    }
}

pub(super) async fn no_such_page() -> WebError {
    WebError::NoPage
}
