//! A labelling session in the browser: the proposed lists, the page in a sandboxed frame, and the accepted list. Used
//! by `/label` and `/add`.

use std::sync::Arc;

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::labelling::page::{
    AcceptedList, CandidateChoice, LabellingAnswer, LabellingContext, LabellingQuestion, ProposalView,
};
use crate::labelling::task;
use crate::labelling::task::LabellingError;
use crate::model::RunId;
use crate::store::Store;
use crate::tasks::TaskFolder;

use super::error::WebError;
use super::{SharedState, assets, token};

/// Maximum length of a column's name, in characters.
const MAX_NAME: usize = 100;
/// Longer labelling times are not recorded: the person was away.
const MAX_SECONDS: f64 = 86_400.0;

/// A task's folder, the context of the page that its last run stored, and that page, compressed.
pub(super) struct LabellingSession {
    pub folder: Arc<TaskFolder>,
    known: LabellingContext,
    compressed_page: Vec<u8>,
}

/// The supervision so far, for which lists are requested.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HelpRequest {
    help: task::Help,
}

/// The list that the person accepts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AcceptRequest {
    /// The run that stored the page.
    run: RunId,
    help: task::Help,
    choice: CandidateChoice,
}

/// The page to open next.
#[derive(Serialize)]
pub(super) struct LabellingReply {
    pub task: String,
    pub next: Option<String>,
}

impl LabellingSession {
    pub fn open(store: &Store, folder: TaskFolder) -> Result<LabellingSession, WebError> {
        let (known, packed) = task::load_page(store, &folder)?;
        Ok(LabellingSession { folder: Arc::new(folder), known, compressed_page: packed })
    }

    pub async fn lists(self, web: &SharedState, said: HelpRequest) -> Result<ProposalView, WebError> {
        match self.inspect(web, LabellingQuestion::Lists(said.help)).await? {
            (LabellingAnswer::Lists(shown), _) => Ok(*shown),
            _ => Err(inspection_failed()),
        }
    }

    /// The accepted list and the page as the site sent it, both to be written to the folder.
    pub async fn accept(self, web: &SharedState, taken: AcceptRequest) -> Result<(AcceptedList, Vec<u8>), WebError> {
        if taken.run != self.known.run {
            let sentence = "The task has run again meanwhile and stored another page. Reload this page.";
            return Err(WebError::Refused(sentence.to_owned()));
        }
        let choice = validated(taken.choice)?;
        match self.inspect(web, LabellingQuestion::Take(taken.help, choice)).await? {
            (LabellingAnswer::Taken(accepted), body) => Ok((*accepted, body)),
            _ => Err(inspection_failed()),
        }
    }

    /// The stored page, for a frame without an origin.
    pub async fn page(self, web: &SharedState) -> Result<Response, WebError> {
        match self.inspect(web, LabellingQuestion::Page).await? {
            (LabellingAnswer::Page, html) => Ok(sandboxed_frame(&html)),
            _ => Err(inspection_failed()),
        }
    }

    async fn inspect(self, web: &SharedState, ask: LabellingQuestion) -> Result<(LabellingAnswer, Vec<u8>), WebError> {
        match web.inspector.inspect(self.folder, self.known, self.compressed_page, ask).await {
            Some((LabellingAnswer::Refused(refusal), _)) => Err(WebError::Refused(refusal.sentence)),
            Some(answer) => Ok(answer),
            None => Err(inspection_failed()),
        }
    }
}

fn inspection_failed() -> WebError {
    WebError::Refused("The page could not be analysed: it is too large, or the analysis took over a minute.".to_owned())
}

impl From<LabellingError> for WebError {
    fn from(error: LabellingError) -> WebError {
        match error {
            LabellingError::Store(error) => WebError::Store(error),
            error => WebError::Refused(error.to_string()),
        }
    }
}

fn validated(choice: CandidateChoice) -> Result<CandidateChoice, WebError> {
    let names =
        choice.names.into_iter().map(|name| name.map(|name| name.trim().to_owned()).filter(|it| !it.is_empty()));
    let names: Vec<Option<String>> = names.collect();
    let is_odd = |name: &&String| name.chars().count() > MAX_NAME || name.chars().any(char::is_control);
    if let Some(name) = names.iter().flatten().find(is_odd) {
        let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
        return Err(WebError::Bad(format!(
            "`{name}` cannot be a column's name. Use at most {MAX_NAME} characters, on one line."
        )));
    }
    let seconds = choice.seconds.filter(|it| (0.0..=MAX_SECONDS).contains(it));
    Ok(CandidateChoice { names, seconds, ..choice })
}

const FRAME_SCRIPT: &str = include_str!("frame.js");
/// Overrides the page's own styles that hide it: a person can only label what is visible.
const FRAME_STYLE: &str = "html,body{display:block!important;visibility:visible!important;opacity:1!important;\
    overflow:auto!important;height:auto!important;max-height:none!important;position:static!important}\
    body{margin:8px;font:15px/1.4 system-ui,sans-serif;color:#111;background:#fff;overflow-wrap:anywhere}\
    a{color:#0b57d0;text-decoration:underline}.pieme-box{display:inline-block;\
    border:1px dashed #888;color:#555;padding:0 4px;font-size:12px;max-width:9em;white-space:nowrap;overflow:hidden;\
    text-overflow:ellipsis;vertical-align:bottom}.pieme-key{margin-left:1em}[data-n]{cursor:pointer}";

/// The response with an untrusted page. It has no origin (`sandbox`), loads and sends nothing (`default-src 'none'`),
/// runs only the script with this response's nonce, and only the dashboard may frame it. Each of these guarantees holds
/// by itself, whatever the page contains.
fn sandboxed_frame(html: &[u8]) -> Response {
    let nonce = token::random_id();
    let policy = format!(
        "sandbox allow-scripts; default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    );
    let mut body = format!(
        "<!doctype html><html><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <script nonce={nonce}>{FRAME_SCRIPT}</script><style>{FRAME_STYLE}</style>"
    )
    .into_bytes();
    body.extend_from_slice(html);
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS_POLICY.to_owned()),
    ];
    (headers, body).into_response()
}

/// Browser features that a frame would have by default.
const PERMISSIONS_POLICY: &str =
    "camera=(), microphone=(), geolocation=(), clipboard-read=(), clipboard-write=(), fullscreen=()";

/// The labelling page: the toolbar, the last good rows beside the page, the rows below. label.js fills in the lists.
pub(super) struct LabellingView<'a> {
    /// Base path of the requests: `/label/TASK` or `/add/ID`.
    pub base: &'a str,
    pub task: &'a str,
    pub title: Markup,
    /// The last finished run.
    pub run: Option<RunId>,
    /// Address of the next task of the queue.
    pub next: Option<String>,
    /// Names of the published columns.
    pub columns: Vec<String>,
    /// The last good rows, if there are any.
    pub before: Option<Markup>,
    /// Whether the task exists already: then its list may be empty, and the task may be skipped.
    pub is_known: bool,
}

pub(super) fn page(it: &LabellingView<'_>) -> Markup {
    html! {
        link rel="stylesheet" href=(assets::url("label.css"));
        div #bench data-base=(it.base) data-task=(it.task) data-run=[it.run] data-next=[it.next.as_deref()]
            data-columns=(it.columns.join("\n")) data-empty=[it.is_known.then_some("yes")] {
            (it.title)
            div.label-keys role="toolbar" aria-label="What to do with this list" {
                button.main #take type="button" { "Use this list" kbd { "Enter" } }
                span #lists role="group" aria-label="Lists of the page" {}
                button #narrower type="button" { "Narrower" kbd { "←" } }
                button #wider type="button" { "Wider" kbd { "→" } }
                button #rotate type="button" { "Shift" kbd { "R" } }
                button #by-text type="button" { "By text" kbd { "T" } }
                @if it.is_known { button #empty type="button" { "The list is empty" kbd { "X" } } }
                button #undo type="button" { "Undo" kbd { "U" } }
                @if it.is_known { button #skip type="button" { "Skip" kbd { "S" } } }
            }
            div.halves {
                @if let Some(before) = &it.before {
                    section.was aria-labelledby="was" { h2 #was { "Last good rows" } (before) }
                }
                section aria-labelledby="now" {
                    h2 #now { "The page now" }
                    iframe #page sandbox="allow-scripts" referrerpolicy="no-referrer"
                        title="The page as fetched, with the rows of the list outlined" {}
                    p.faint {
                        "Click a value to say which column it is. To enclose a record, click beside its values, "
                        "drag over it, or hold a finger on it."
                    }
                }
            }
            section aria-labelledby="sheet-title" {
                h2 #sheet-title { "Rows of this list" }
                div #sheet {}
                details.label-help { summary { "Template of a row" } code #pattern {} }
            }
            (dialogs())
        }
        script type="module" src=(assets::url("label.js")) {}
        noscript {
            p.off { "Labelling here needs JavaScript. Without it, type " code { "pieme label " (it.task) } "." }
        }
    }
}

fn dialogs() -> Markup {
    html! {
        dialog #value aria-labelledby="value-title" {
            h2 #value-title { "What is " q {} "?" }
            p { "A value of the column" }
            div.names {}
            form {
                label for="value-name" { "… or of a new column" }
                input #value-name type="text" autocomplete="off" maxlength="100";
                button { "Label" }
            }
            div.actions {
                button.record type="button" { "Find lists with this record" }
                button.quiet.leave type="button" { "Cancel" }
            }
        }
        dialog #split aria-labelledby="split-title" {
            h2 #split-title { "Split " q {} }
            form {
                label for="split-at" { "Split at this text (empty: into words)" }
                input #split-at type="text" autocomplete="off" maxlength="40";
                div.actions { button.main { "Split" } button.quiet.leave type="button" { "Cancel" } }
            }
        }
        dialog #record aria-labelledby="record-title" {
            h2 #record-title { "Find lists by a record" }
            form {
                label for="record-text" { "Text of a record, as the page shows it" }
                input #record-text type="text" autocomplete="off" maxlength="500";
                div.actions { button.main { "Find" } button.quiet.leave type="button" { "Cancel" } }
            }
        }
    }
}
