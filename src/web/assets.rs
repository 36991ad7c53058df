//! Serves style sheets and scripts, compiled in. Their addresses contain a content hash, so browsers may cache them
//! forever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::error::WebError;
use super::route::Route;

struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const ASSETS: &[Asset] = &[
    Asset { name: "style.css", kind: "text/css; charset=utf-8", text: include_str!("style.css") },
    Asset { name: "app.js", kind: "text/javascript; charset=utf-8", text: include_str!("app.js") },
    Asset { name: "label.css", kind: "text/css; charset=utf-8", text: include_str!("label.css") },
    Asset { name: "label.js", kind: "text/javascript; charset=utf-8", text: include_str!("label.js") },
    Asset { name: "add.js", kind: "text/javascript; charset=utf-8", text: include_str!("add.js") },
    Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("icon.svg") },
];

/// One hash over all assets: a change to one renews the addresses of all.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: String = ASSETS.iter().map(|asset| asset.text).collect();
    let digest = ring::digest::digest(&ring::digest::SHA256, all.as_bytes());
    digest.as_ref().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
});

pub fn routes() -> Vec<Route> {
    vec![Route::get("/assets/{version}/{name}", asset).public()]
}

/// The address of an asset. Scripts import each other by relative paths, without the version.
pub fn url(name: &'static str) -> String {
    debug_assert!(ASSETS.iter().any(|asset| asset.name == name), "{name} is compiled in");
    format!("/assets/{}/{name}", *VERSION)
}

pub async fn asset(Path((_, name)): Path<(String, String)>) -> Result<Response, WebError> {
    let asset = ASSETS.iter().find(|asset| asset.name == name).ok_or(WebError::NoPage)?;
    let headers = [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.text).into_response())
}
