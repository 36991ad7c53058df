//! The robot: reaches a task's pages as its script says. The only place with an HTTP client.
//!
//! ```text
//! walk → walker (one step after the other) → session (every request of a run: cookies, redirects, limits) → guard
//!                    form, pager, link: pure, what a page offers          redirect, cookies: pure, what may go where
//! ```
//!
//! No secret ever stands in a sentence, a trace line or a page that is handed out: `blank` covers them by value.

// A walk ends in at most one `Trouble`: its size costs nothing, and callers get it without a box.
#![allow(clippy::result_large_err)]

mod error;
mod request_trace;
mod webhook;
mod run_host;
mod connector;
mod connection_error;
mod redact;
mod walker;
mod stepper;
mod steps;
pub mod check;
pub mod variables;
mod items;
pub mod form;
mod post_back;
pub mod link;
pub mod pager;
mod session;
mod address;
mod client;
mod browser;
mod redirect;
mod proxy;
mod manners;
mod cookies;
mod tokens;

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::Utc;
use url::Url;

use crate::guard::Guard;
use crate::model::script::RequestStep;
use crate::model::task::Engine;
use crate::model::{Page, Script, ScriptStep, Task, TraceLine};
use crate::page::Tree;

pub use self::connection_error::root_cause;
pub use self::connector::{ConnectFuture, Connector};
pub use self::error::WalkError;
pub use self::redact::Redactor;
pub use self::run_host::{HostFuture, RunHost, StandaloneHost};
pub use self::webhook::{WebhookRequest, WebhookResponse, send_webhook};
pub use browser::{BrowserPaths, find_chromium};
pub use check::{ScriptProblem, check};
pub use client::system_tls_config;
pub use proxy::check_proxy;
pub use stepper::Stepper;

use cookies::CookieJar;
use session::{PageRequest, Session};
use walker::Walker;

/// What a walk needs to know.
pub struct WalkInput<'a> {
    pub task: &'a Task,
    pub script: &'a Script,
    pub secrets: &'a BTreeMap<String, String>,
    /// Files of the task's folder that the script reads, by name.
    pub files: &'a BTreeMap<String, String>,
    /// The cookies of the last walk, as [`Walk::cookies`] gave them.
    pub cookies: Option<&'a str>,
    pub deadline: Instant,
    /// For tasks that want a browser.
    pub browser_paths: BrowserPaths<'a>,
}

/// Who is told what a walk finds.
pub trait Observer {
    /// A page to extract from; answers how many rows on it were new (paging stops after a page without). Each row gets the
    /// columns `with` besides its own.
    fn page(&mut self, page: &Page, tree: &Tree, with: &[(String, String)]) -> usize;
    /// The page before with more on it, as scrolling or a button brings it; answers how many rows were not on it yet.
    fn page_grown(&mut self, page: &Page, tree: &Tree, with: &[(String, String)]) -> usize {
        self.page(page, tree, with)
    }
    /// The links in `column`, or in the column that looks like it, of the records found since the last call.
    fn links(&mut self, column: Option<&str>) -> Result<Vec<RecordLink>, String>;
    /// The page behind the link of one of these records.
    fn detail(&mut self, record: usize, page: &Page, tree: &Tree);
    /// A page to be kept under a name.
    fn save(&mut self, page: &Page, name: &str);
    fn trace(&mut self, line: TraceLine);
}

/// Where a record's detail page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLink {
    /// Counted over the whole run.
    pub record: usize,
    pub url: Url,
}

/// How a walk ended, and what is to be kept of it.
pub struct WalkOutcome {
    pub result: Result<(), WalkError>,
    /// What a person should know about a walk that went well: that it was cut short, and by what.
    pub remark: Option<String>,
    /// For the next walk: JSON, or nothing when the site set no cookie.
    pub cookies: Option<String>,
    pub requests: u32,
}

/// Walks through the script, or through the one that a task without script has: get its `url`, page on.
pub async fn walk(order: WalkInput<'_>, observer: &mut dyn Observer) -> WalkOutcome {
    walk_with_host(Box::new(StandaloneHost::default()), order, observer).await
}

/// As [`walk`], for a robot that does not go alone.
pub async fn walk_with_host(home: Box<dyn RunHost>, order: WalkInput<'_>, observer: &mut dyn Observer) -> WalkOutcome {
    let session = match session(&order, home) {
        Ok(session) => session,
        Err(trouble) => {
            let cookies = order.cookies.map(str::to_owned);
            return WalkOutcome { result: Err(trouble), remark: None, cookies, requests: 0 };
        }
    };
    let today = Utc::now().with_timezone(&order.task.schedule.timezone).date_naive();
    let mut walker = Walker::new(&order, session, observer, today);
    let result =
        if order.script.steps.is_empty() { walker.run_default().await } else { walker.run(&order.script.steps).await };
    if let Some(browser) = walker.browser.take() {
        browser.end().await;
    }
    WalkOutcome { result, remark: walker.remark, cookies: walker.session.cookies(), requests: walker.session.requests }
}

fn session(order: &WalkInput<'_>, home: Box<dyn RunHost>) -> Result<Session, WalkError> {
    let guard = Guard::new(order.task, order.script);
    let jar = CookieJar::from_json(order.cookies);
    Session::new(order.task, order.secrets, guard, jar, home, order.deadline).map_err(|error| WalkError {
        cause: error.cause(),
        sentence: error.to_string(),
        page: None,
    })
}

/// Can a `for_each` go through this file?
pub fn check_items(file: &str, text: &str) -> Result<(), String> {
    items::read("item", file, text).map(drop)
}

/// One page, fetched under the same rules as a walk's, for `pieme add` and `pieme label`.
pub async fn fetch(task: &Task, url: &Url) -> Result<Page, WalkError> {
    let deadline = Instant::now() + task.limits.timeout.0;
    let named = Script { steps: vec![ScriptStep::Get(RequestStep::url(url.as_str()))] };
    let brief =
        |error: error::SessionError| WalkError { cause: error.cause(), sentence: error.to_string(), page: None };
    let mut session = Session::new(
        task,
        &BTreeMap::new(),
        Guard::new(task, &named),
        CookieJar::default(),
        Box::new(StandaloneHost::default()),
        deadline,
    )
    .map_err(brief)?;
    let request = PageRequest::get(url.clone());
    let page = match task.fetch.engine {
        Engine::Http => session.send(request).await,
        Engine::Browser => browser::fetch(task, &mut session, request).await,
    };
    let page = page.map_err(brief)?;
    match walker::page_problem(&page) {
        None => Ok(page),
        Some((cause, sentence)) => Err(WalkError { cause, sentence, page: Some(page) }),
    }
}

#[cfg(test)]
mod tests;
