//! Serves the style sheets and scripts.

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::assets;
use super::error::WebError;

pub(super) const PATH: &str = "/assets/{version}/{name}";

pub(super) async fn asset(Path((_, name)): Path<(String, String)>) -> Result<Response, WebError> {
    let asset = assets::find(&name).ok_or(WebError::NoPage)?;
    let headers = [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.text).into_response())
}
