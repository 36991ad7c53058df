//! The robot: executes a task's script and fetches its pages. The only module with an HTTP client.
//!
//! ```text
//! walk → steps (one after the other) → session (every request: cookies, redirects, manners) → transport → guard
//!        walker: the state of a walk   redirect, cookies, page_problem: pure
//! ```
//!
//! A walk is one execution of a script. No error, trace line or page that leaves the robot contains a secret:
//! `redact` replaces secrets by value.

// A walk ends in at most one `WalkError`, so its size does not matter and callers get it without a box.
#![allow(clippy::result_large_err)]

mod browser;
mod client;
mod connection_error;
mod connector;
mod cookies;
mod error;
mod extraction;
mod loaded_page;
mod login_state;
mod manners;
mod page_problem;
mod proxy;
mod redact;
mod redirect;
mod request;
mod request_trace;
mod run_host;
mod script_text;
mod secret_rules;
mod session;
mod stepper;
mod steps;
mod tokens;
mod transport;
mod walked_pages;
mod walker;
mod webhook;

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::Utc;
use url::Url;

use crate::guard::Guard;
use crate::model::script::RequestStep;
use crate::model::task::Engine;
use crate::model::{AddressGrants, GrantedSecret, Page, Script, ScriptStep, Task, TraceLine};
use crate::page::Tree;

pub use browser::{BrowserPaths, LAUNCH_BROWSER, LaunchedBrowser, find_chromium, shell_command_of_browser};
pub use client::system_tls_config;
pub use connection_error::root_cause;
pub use connector::{ConnectFuture, Connector};
pub use cookies::CookieJar;
pub use error::{SessionError, WalkError};
pub use redact::Redactor;
pub use redirect::follow as follow_redirect;
pub use request::{PageRequest, RequestBody};
pub use run_host::{HostFuture, RunHost, StandaloneHost};
pub use stepper::{Stepper, planned_steps};
pub use webhook::{WebhookError, WebhookRequest, WebhookResponse, send_webhook};

use session::Session;
use walker::Walker;

pub struct WalkInput<'a> {
    pub task: &'a Task,
    pub script: &'a Script,
    /// What config.toml says about the task's addresses.
    pub addresses: &'a AddressGrants,
    /// Those that the script and the proxy's address name.
    pub secrets: &'a BTreeMap<String, GrantedSecret>,
    /// Files of the task's folder that the script reads, by name.
    pub files: &'a BTreeMap<String, String>,
    /// The cookies of the previous walk, from [`WalkOutcome::cookies`].
    pub cookies: Option<&'a str>,
    pub deadline: Instant,
    /// For tasks with the browser engine.
    pub browser: Option<&'a LaunchedBrowser>,
}

/// How a walk came to a page, which decides what the page must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// By a step of the script, or as the first page of a list. It may have no rows.
    Step,
    /// The page before leads to it, by a link, a form, a button or a cursor: it has rows.
    Promised,
    /// pieme counts the pages itself: the page may not exist.
    Counted,
}

/// How many rows a page has, and how many of them are new in this walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRows {
    pub all: usize,
    pub new: usize,
}

/// Receives the pages, detail pages and trace lines of a walk.
pub trait Observer {
    /// Extracts rows from a page; paging stops after a page without new rows. Each row gets the columns `with` besides
    /// its own. A further page of a list that does not look like the template has no rows.
    fn page(&mut self, page: &Page, tree: &Tree, with: &[(String, String)], arrival: Arrival) -> PageRows;
    /// The previous page with more content, after scrolling or a “load more” button; returns how many rows were added.
    fn page_grown(&mut self, page: &Page, tree: &Tree, with: &[(String, String)]) -> usize {
        self.page(page, tree, with, Arrival::Step).new
    }
    /// How many rows of a page would be new. The page is not kept, and the rows are not taken.
    fn count_new_rows(&mut self, _tree: &Tree, _with: &[(String, String)]) -> usize {
        0
    }
    /// The links in `column` of the records found since the last call; without `column`, in the column that holds
    /// links.
    fn links(&mut self, column: Option<&str>) -> Result<Vec<RecordLink>, LinksError>;
    /// The page behind the link of one of these records.
    fn detail(&mut self, record: usize, page: &Page, tree: &Tree);
    /// Keeps the raw page under a name (step `save`).
    fn save(&mut self, page: &Page, name: &str);
    fn trace(&mut self, line: TraceLine);
}

/// Why no links can be followed, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LinksError(pub String);

/// The link to a record's detail page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLink {
    /// The record's index, counted over the whole run.
    pub record: usize,
    pub url: Url,
}

/// The result of a walk, and what the next one needs.
pub struct WalkOutcome {
    pub result: Result<(), WalkError>,
    /// A note about a successful walk for a person: that it was cut short, and by which limit.
    pub remark: Option<String>,
    /// Cookies for the next walk, as JSON; `None` when the site set none.
    pub cookies: Option<String>,
    pub requests: u32,
}

/// Executes the script; a task without one gets its `url` and paginates.
pub async fn walk(order: WalkInput<'_>, observer: &mut dyn Observer) -> WalkOutcome {
    walk_with_host(Box::new(StandaloneHost::default()), order, observer).await
}

/// As [`walk`], under a host that coordinates several runs.
pub async fn walk_with_host(home: Box<dyn RunHost>, order: WalkInput<'_>, observer: &mut dyn Observer) -> WalkOutcome {
    let session = match open_session(&order, home) {
        Ok(session) => session,
        Err(trouble) => {
            let cookies = order.cookies.map(str::to_owned);
            return WalkOutcome { result: Err(trouble), remark: None, cookies, requests: 0 };
        }
    };
    let today = Utc::now().with_timezone(&order.task.schedule.timezone).date_naive();
    let mut walker = Walker::new(&order, session, observer, today);
    let result = steps::run_script(&mut walker, &order.script.steps).await;
    drop(walker.browser.take());
    WalkOutcome { result, remark: walker.remark, cookies: walker.session.cookies(), requests: walker.session.requests }
}

fn open_session(order: &WalkInput<'_>, home: Box<dyn RunHost>) -> Result<Session, WalkError> {
    let guard = Guard::new(order.task, order.script, order.addresses);
    let jar = CookieJar::from_json(order.cookies);
    Session::new(order.task, order.secrets, guard, jar, home, order.deadline).map_err(|error| WalkError {
        cause: error.cause(),
        sentence: error.to_string(),
        page: None,
        is_incomplete: false,
    })
}

/// Fetches one page under the same rules as a walk, for `pieme add` and `pieme label`.
pub async fn fetch(task: &Task, url: &Url, addresses: &AddressGrants) -> Result<Page, WalkError> {
    let deadline = Instant::now() + task.limits.timeout.0;
    let named = Script { steps: vec![ScriptStep::Get(RequestStep::url(url.as_str()))] };
    let failed = |cause, sentence, page| WalkError { cause, sentence, page, is_incomplete: false };
    let brief = |error: SessionError| failed(error.cause(), error.to_string(), None);
    let mut session = Session::new(
        task,
        &BTreeMap::new(),
        Guard::new(task, &named, addresses),
        CookieJar::default(),
        Box::new(StandaloneHost::default()),
        deadline,
    )
    .map_err(brief)?;
    let request = PageRequest::get(url.clone());
    let page = match task.fetch.engine {
        Engine::Http => session.send(request).await,
        Engine::Browser => Err(SessionError::Unsupported("a single page with the browser engine")),
    };
    let page = page.map_err(brief)?;
    match page_problem::page_problem(&page) {
        None => Ok(page),
        Some((cause, sentence)) => Err(failed(cause, sentence, Some(page))),
    }
}

#[cfg(test)]
mod tests;
