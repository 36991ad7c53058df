//! A page on the bench: its lists, the page itself, and the one that is taken. The same for a task that waits for a person and for
//! one that is being added.

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

/// Characters of a column's name: it heads a table.
const MAX_NAME: usize = 100;
/// Who has looked longer has gone for lunch.
const MAX_SECONDS: f64 = 86_400.0;

/// A task's folder, what is known of the page that its last run saw, and the page as it is stored.
pub struct LabellingSession {
    pub folder: Arc<TaskFolder>,
    known: LabellingContext,
    compressed_page: Vec<u8>,
}

/// What a person says of the page, as it goes on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HelpRequest {
    help: task::Help,
}

/// The list that is taken.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptRequest {
    /// Of whose page it is.
    run: RunId,
    help: task::Help,
    choice: CandidateChoice,
}

/// Where to go when it is done.
#[derive(Serialize)]
pub struct LabellingReply {
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

    /// What the folder gets: the choice, and the page as it was sent.
    pub async fn accept(self, web: &SharedState, taken: AcceptRequest) -> Result<(AcceptedList, Vec<u8>), WebError> {
        if taken.run != self.known.run {
            let sentence = "the task has seen another page meanwhile; reload this one and look again";
            return Err(WebError::Refused(sentence.to_owned()));
        }
        let choice = validated(taken.choice)?;
        match self.inspect(web, LabellingQuestion::Take(taken.help, choice)).await? {
            (LabellingAnswer::Taken(accepted), body) => Ok((*accepted, body)),
            _ => Err(inspection_failed()),
        }
    }

    /// The page as it was seen, for a frame that has no origin.
    pub async fn page(self, web: &SharedState) -> Result<Response, WebError> {
        match self.inspect(web, LabellingQuestion::Page).await? {
            (LabellingAnswer::Page, html) => Ok(sandboxed_frame(&html)),
            _ => Err(inspection_failed()),
        }
    }

    async fn inspect(self, web: &SharedState, ask: LabellingQuestion) -> Result<(LabellingAnswer, Vec<u8>), WebError> {
        match web.inspector.inspect(self.folder, self.known, self.compressed_page, ask).await {
            Some((LabellingAnswer::Refused(sentence), _)) => Err(WebError::Refused(sentence)),
            Some(answer) => Ok(answer),
            None => Err(inspection_failed()),
        }
    }
}

fn inspection_failed() -> WebError {
    WebError::Refused("the page could not be studied: it is too large, or more than a minute was needed".to_owned())
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
            "`{name}` cannot be a column's name: {MAX_NAME} characters at most, on one line"
        )));
    }
    let seconds = choice.seconds.filter(|it| (0.0..=MAX_SECONDS).contains(it));
    Ok(CandidateChoice { names, seconds, ..choice })
}

const FRAME_SCRIPT: &str = include_str!("frame.js");
/// Whatever the page's own sheets hide must be seen, or nobody can say what it is.
const FRAME_STYLE: &str = "html,body{display:block!important;visibility:visible!important;opacity:1!important;overflow:auto!important;\
    height:auto!important;max-height:none!important;position:static!important}body{margin:8px;font:15px/1.4 system-ui,sans-serif;\
    color:#111;background:#fff;overflow-wrap:anywhere}a{color:#0b57d0;text-decoration:underline}.pieme-box{display:inline-block;\
    border:1px dashed #888;color:#555;padding:0 4px;font-size:12px;max-width:9em;white-space:nowrap;overflow:hidden;\
    text-overflow:ellipsis;vertical-align:bottom}.pieme-key{margin-left:1em}[data-n]{cursor:pointer}";

/// A stranger's page. It runs in no origin (`sandbox`), loads and sends nothing (`default-src 'none'`), and of all scripts only ours
/// runs, which has this answer's nonce; only a page of ours may frame it. Each of these holds by itself, whatever the page is.
fn sandboxed_frame(html: &[u8]) -> Response {
    let nonce = token::random_id();
    let policy = format!(
        "sandbox allow-scripts; default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'self'"
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

/// Powers that a frame would have by default.
const PERMISSIONS_POLICY: &str =
    "camera=(), microphone=(), geolocation=(), clipboard-read=(), clipboard-write=(), fullscreen=()";

/// What is shown: keys, the last good rows beside the page, the rows below. Scripts fill in the rest.
pub struct LabellingView<'a> {
    /// What the questions go to: `/label/TASK`, or `/add/ID`.
    pub base: &'a str,
    pub task: &'a str,
    pub title: Markup,
    /// The last run until now.
    pub run: Option<RunId>,
    /// The next task that waits.
    pub next: Option<String>,
    /// Names that columns have had.
    pub columns: Vec<String>,
    /// The last good rows; none where there never were any.
    pub before: Option<Markup>,
    /// What an empty list can be said to be, and undone.
    pub is_known: bool,
}

pub fn page(it: &LabellingView<'_>) -> Markup {
    html! {
        link rel="stylesheet" href=(assets::url("label.css"));
        div #bench data-base=(it.base) data-task=(it.task) data-run=[it.run] data-next=[it.next.as_deref()]
            data-columns=(it.columns.join("\n")) data-empty=[it.is_known.then_some("yes")] {
            (it.title)
            div.label-keys role="toolbar" aria-label="What to do with this list" {
                button.main #take type="button" { "Take it" kbd { "Enter" } }
                span #lists role="group" aria-label="Lists of the page" {}
                button #narrower type="button" { "Narrower" kbd { "←" } }
                button #wider type="button" { "Wider" kbd { "→" } }
                button #rotate type="button" { "Shift" kbd { "R" } }
                button #by-text type="button" { "By text" kbd { "T" } }
                @if it.is_known { button #empty type="button" { "Rightly empty" kbd { "X" } } }
                button #undo type="button" { "Undo" kbd { "U" } }
                @if it.is_known { button #skip type="button" { "Skip" kbd { "S" } } }
            }
            div.halves {
                @if let Some(before) = &it.before {
                    section.was aria-labelledby="was" { h2 #was { "Last good rows" } (before) }
                }
                section aria-labelledby="now" {
                    h2 #now { "The page now" }
                    iframe #page sandbox="allow-scripts" title="The page as it was seen, with the rows of the list outlined" referrerpolicy="no-referrer" {}
                    p.faint { "Click a value to say what it is; click beside it, drag over a record, or hold a finger on it, to enclose the record." }
                }
            }
            section aria-labelledby="sheet-title" {
                h2 #sheet-title { "Its rows now" }
                div #sheet {}
                details.label-help { summary { "The pattern of a row" } code #pattern {} }
            }
            (dialogs())
        }
        script type="module" src=(assets::url("label.js")) {}
        noscript { p.off { "Labelling here needs JavaScript; " code { "pieme label " (it.task) } " in a terminal does not." } }
    }
}

fn dialogs() -> Markup {
    html! {
        dialog #value aria-labelledby="value-title" {
            h2 #value-title { "What is " q {} "?" }
            p { "A value of the column" }
            div.names {}
            form { label for="value-name" { "… or of a new one" } input #value-name type="text" autocomplete="off" maxlength="100"; button { "Label it" } }
            div.actions { button.record type="button" { "It stands in a record" } button.quiet.leave type="button" { "Leave it" } }
        }
        dialog #split aria-labelledby="split-title" {
            h2 #split-title { "Cut " q {} }
            form {
                label for="split-at" { "At which text? Nothing cuts it into words." }
                input #split-at type="text" autocomplete="off" maxlength="40";
                div.actions { button.main { "Cut" } button.quiet.leave type="button" { "Leave it" } }
            }
        }
        dialog #record aria-labelledby="record-title" {
            h2 #record-title { "A record of yours" }
            form {
                label for="record-text" { "Some text of it, as the page shows it" }
                input #record-text type="text" autocomplete="off" maxlength="500";
                div.actions { button.main { "Look for it" } button.quiet.leave type="button" { "Leave it" } }
            }
        }
    }
}
