//! The source of a stored page. The page is untrusted: the daemon does not decompress it, and the browser shows it as
//! plain text in a sandboxed frame.

use axum::extract::{Path, State};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::response::{Html, IntoResponse, Response};
use maud::html;

use crate::model::{PageMeta, RunId, TaskName};
use crate::web::SharedState;
use crate::web::components;
use crate::web::error::WebError;
use crate::web::task_path::{TaskPath, find_run};

use super::task_page::{TaskPage, TaskTab};

/// The page runs and loads nothing, even if it is opened by itself. Only the dashboard may frame it.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'self'";

pub(super) async fn show(
    at: TaskPage,
    Path((_, run, number)): Path<(String, String, usize)>,
) -> Result<Html<String>, WebError> {
    let (id, meta, _) = stored_page(&at.web, at.task(), &run, number).await?;
    let source = at.address(&format!("/run/{id}/page/{number}/source"));
    let body = html! {
        h2 { "Page " (number) " of " a href=(at.address(&format!("/run/{id}"))) { "this run" } }
        dl.facts {
            dt { "Address" } dd { (meta.url) }
            dt { "Status" } dd {
                (meta.status) ", " (components::number(meta.elapsed_ms)) " ms, "
                (components::time(Some(meta.fetched_at), ""))
            }
            @for (name, value) in &meta.headers { dt { (name) } dd { (value) } }
        }
        h3 { "Source" }
        iframe.source sandbox="" src=(source) title="The page's source" {}
        p.faint {
            "To save the page: "
            code { "pieme log " (at.task()) " --run " (id) " --page " (number) " -o page.html" }
        }
    };
    Ok(at.show(TaskTab::Runs, body))
}

pub(super) async fn source(
    State(web): State<SharedState>,
    headers: HeaderMap,
    TaskPath(task): TaskPath,
    Path((_, run, number)): Path<(String, String, usize)>,
) -> Result<Response, WebError> {
    let (_, meta, packed) = stored_page(&web, &task, &run, number).await?;
    as_text(&headers, packed, charset(&meta))
}

/// Serves a compressed untrusted page as plain text, for a sandboxed frame.
pub(super) fn as_text(headers: &HeaderMap, packed: Vec<u8>, charset: &str) -> Result<Response, WebError> {
    let takes = headers.get(header::ACCEPT_ENCODING).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if !takes.split(',').any(|it| it.trim().split(';').next() == Some("zstd")) {
        return Err(WebError::Refused(
            "This browser cannot decompress zstd. Use `pieme log TASK --page N`.".to_owned(),
        ));
    }
    let kind = format!("text/plain; charset={charset}");
    let kind = HeaderValue::from_str(&kind).unwrap_or(HeaderValue::from_static("text/plain; charset=utf-8"));
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_ENCODING, HeaderValue::from_static("zstd")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY)),
    ];
    Ok((headers, packed).into_response())
}

type StoredPage = (RunId, PageMeta, Vec<u8>);

async fn stored_page(web: &SharedState, task: &TaskName, run: &str, number: usize) -> Result<StoredPage, WebError> {
    let (task, run) = (task.clone(), run.to_owned());
    let work = web.store.work(move |store, _| {
        let (id, _) = find_run(store, &task, &run)?;
        let page =
            number.checked_sub(1).and_then(|at| store.pages(id).map(|pages| pages.into_iter().nth(at)).transpose());
        let (meta, packed) = page.transpose()?.ok_or(WebError::NoPage)?;
        Ok((id, meta, packed))
    });
    work.await
}

/// The charset that the site declared, or UTF-8 if it declared none that is known.
fn charset(meta: &PageMeta) -> &'static str {
    let said = meta.header("content-type").and_then(|kind| kind.split_once("charset=")).map(|(_, said)| said);
    let label = said.map(|said| said.trim_matches(['"', ' ']).split(';').next().unwrap_or_default());
    label.and_then(|label| encoding_rs::Encoding::for_label(label.as_bytes())).map_or("utf-8", |it| it.name())
}
