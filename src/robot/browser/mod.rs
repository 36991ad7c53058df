//! The browser engine: drives one page of a headless Chromium for the whole walk, over the DevTools protocol.
//!
//! ```text
//! Browser (go, click, scroll, wait_for) → pipe → Chromium → proxy → guard
//!         request_rules: pure, what may be sent    traffic: pure, what is in flight    cookies: pure, jar ↔ Chromium
//! ```
//!
//! Nothing runs in the background: events are handled only while the walk waits for something, and a request of the
//! page is paused until it is handled. Every request is checked twice: [`request_rules`] know its purpose, [`proxy`]
//! makes the connection.

mod cookies;
mod devtools;
mod launch;
mod page_reader;
mod pipe;
mod proxy;
mod request_rules;
mod targets;
mod traffic;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::model::address::display_url;
use crate::model::{Page, Task};
use crate::page::form::{BrowserInput, ElementPosition};
use crate::robot::error::SessionError;
use crate::robot::manners::FIRST_BYTE_TIMEOUT;
use crate::robot::request::PageRequest;
use crate::robot::session::Session;

use devtools::DevTools;
use launch::Chromium;
pub use launch::{LAUNCH_BROWSER, LaunchedBrowser, shell_command_of_browser};
use pipe::Pipe;
use proxy::EgressProxy;
use traffic::Traffic;

/// How often `wait_for` looks at the page.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub struct Browser {
    devtools: DevTools,
    /// Ends with the browser.
    _chromium: Chromium,
    max_page_bytes: u64,
    /// When the page was last read; the walk's current page is what the browser shows if it has the same time.
    read_at: Option<DateTime<Utc>>,
}

/// Chromium's program and the empty folder for its profile; `None`: found in `PATH`, and a new temporary folder.
#[derive(Clone, Copy, Default)]
pub struct BrowserPaths<'a> {
    pub program: Option<&'a Path>,
    pub scratch: Option<&'a Path>,
}

/// Chromium's program: the configured one, or else the first that is found.
pub fn find_chromium(told: Option<&Path>) -> Result<PathBuf, SessionError> {
    launch::find_program(told)
}

/// What `wait_for` waits for.
pub struct WaitCondition<'a> {
    pub css: Option<&'a str>,
    pub text: Option<&'a str>,
}

impl Browser {
    /// Takes over a launched Chromium, with an empty page and the session's cookies.
    pub async fn start(
        launched: &LaunchedBrowser,
        task: &Task,
        session: &mut Session,
    ) -> Result<Browser, SessionError> {
        if task.fetch.proxy.is_some() {
            return Err(SessionError::Unsupported("fetch.proxy with the browser engine"));
        }
        let failed = |error: std::io::Error| SessionError::BrowserStart(error.to_string());
        let mut chromium = launched.take()?;
        let missing = || SessionError::BrowserStart("it has no pipes".to_owned());
        let listener = chromium.listener.take().ok_or_else(missing)?;
        let (to, from) = chromium.pipes.take().ok_or_else(missing)?;
        let proxy = EgressProxy::start(listener, Arc::clone(&session.connector)).map_err(failed)?;
        let max_page_bytes = task.limits.max_page_bytes.0;
        let mut traffic = Traffic::new(session.guard.clone(), session.secret_rules.clone(), &task.limits);
        let own = (proxy::USER.to_owned(), proxy.password.clone());
        traffic.passwords.insert(format!("Proxy http://{}", proxy.address), own);
        let pipe = Pipe::new(to, from, page_reader::largest_message(max_page_bytes)).map_err(failed)?;
        let mut devtools = DevTools::new(pipe, proxy, traffic, session.deadline());
        devtools.open_page(task, &session.jar, || chromium.startup_error()).await?;
        Ok(Browser { devtools, _chromium: chromium, max_page_bytes, read_at: None })
    }

    /// Whether the browser still shows this page.
    pub fn shows(&self, page: &Page) -> bool {
        self.read_at == Some(page.meta.fetched_at)
    }

    /// Makes the request, through the page's form if there is one, and reads the page that is shown then.
    pub async fn go(&mut self, session: &mut Session, request: PageRequest) -> Result<Page, SessionError> {
        session.secret_rules.check_request(&request)?;
        session.admit(&request.url).await?;
        match request.browser_input.clone() {
            Some(filling) => self.submit(session, &request, &filling).await,
            None => self.navigate(session, request).await,
        }
    }

    /// Clicks an element and reads the page that is shown then.
    pub async fn click(&mut self, session: &mut Session, place: &ElementPosition) -> Result<Page, SessionError> {
        self.act_and_read(session, json!({ "do": "click", "place": place })).await
    }

    /// Scrolls to the end of the page and reads it.
    pub async fn scroll(&mut self, session: &mut Session) -> Result<Page, SessionError> {
        self.act_and_read(session, json!({ "do": "scroll" })).await
    }

    /// Waits until the condition holds and reads the page; `None` after the timeout.
    pub async fn wait_for(
        &mut self,
        session: &mut Session,
        sight: WaitCondition<'_>,
        time: Duration,
    ) -> Result<Option<Page>, SessionError> {
        self.devtools.traffic.begin(None, session);
        let until = Instant::now() + time;
        let order = json!({ "do": "shows", "css": sight.css, "text": sight.text });
        loop {
            match self.devtools.evaluate(order.clone()).await {
                Ok(answer) if answer["shows"] == true => break,
                Err(error) if !has_navigated(&error) => return Err(error),
                Ok(_) | Err(_) => {}
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            self.devtools.handle_messages_until(Instant::now() + POLL_INTERVAL).await?;
        }
        let page = self.settle_and_read(session).await;
        self.record_traffic(session);
        page.map(Some)
    }

    /// Waits, and reads the page that is shown then.
    pub async fn wait_and_read(&mut self, session: &mut Session, time: Duration) -> Result<Page, SessionError> {
        self.devtools.traffic.begin(None, session);
        self.devtools.handle_messages_until(Instant::now() + time).await?;
        let page = self.settle_and_read(session).await;
        self.record_traffic(session);
        page
    }

    async fn navigate(&mut self, session: &mut Session, request: PageRequest) -> Result<Page, SessionError> {
        self.share_passwords(session);
        let referrer = request.referrer.as_ref().filter(|it| it.origin() == request.url.origin()).map(display_url);
        let mut params = json!({ "url": request.url.as_str() });
        if let Some(referrer) = referrer {
            params["referrer"] = referrer.into();
        }
        let url = request.url.clone();
        self.devtools.traffic.begin(Some(request), session);
        let answer = self.devtools.call_within("Page.navigate", params, FIRST_BYTE_TIMEOUT).await;
        let answer = match answer {
            Err(SessionError::PageBusy { .. }) => {
                Err(SessionError::NoAnswer { url: display_url(&url), waited: FIRST_BYTE_TIMEOUT })
            }
            other => other,
        };
        let done = match answer.map(|it| it["errorText"].as_str().map(str::to_owned)) {
            Ok(None) => self.settle_and_read(session).await,
            Ok(Some(text)) => self.page_without_content(&url, &text),
            Err(error) => Err(error),
        };
        self.record_traffic(session);
        if done.is_err() {
            // The page may still be loading; nothing waits for it any more.
            self.devtools.send_to_page("Page.stopLoading", json!({})).await;
        }
        done
    }

    async fn submit(
        &mut self,
        session: &mut Session,
        request: &PageRequest,
        filling: &BrowserInput,
    ) -> Result<Page, SessionError> {
        self.share_passwords(session);
        self.devtools.traffic.begin(None, session);
        // The page may have been replaced since its form was read.
        let origin = request.referrer.as_ref().map(|page| page.origin().ascii_serialization());
        let done = match self.perform(json!({ "do": "fill", "filling": filling, "origin": origin })).await {
            Ok(()) => self.settle_and_read(session).await,
            Err(error) => Err(error),
        };
        self.record_traffic(session);
        done.map_err(|error| match error {
            SessionError::Connection { reason, .. } => self.devtools.connect_error(&request.url, &reason),
            other => other,
        })
    }

    async fn act_and_read(&mut self, session: &mut Session, order: Value) -> Result<Page, SessionError> {
        if let Some(url) = self.devtools.traffic.document().map(|document| document.url.clone()) {
            session.admit(&url).await?;
        }
        self.devtools.traffic.begin(None, session);
        self.perform(order).await?;
        let done = self.settle_and_read(session).await;
        self.record_traffic(session);
        done
    }

    async fn perform(&mut self, order: Value) -> Result<(), SessionError> {
        let answer = match self.devtools.evaluate(order).await {
            Err(error) if has_navigated(&error) => return Ok(()),
            other => other?,
        };
        if let Some(there) = answer["elsewhere"].as_str() {
            let reason = format!("the page was replaced by one of {there} before its form was filled");
            return Err(SessionError::Script { url: self.devtools.traffic.url(), reason });
        }
        match answer["missing"].as_str() {
            None => Ok(()),
            Some(tag) => {
                let reason = format!("the <{tag}> element is no longer on the page");
                Err(SessionError::Script { url: self.devtools.traffic.url(), reason })
            }
        }
    }

    async fn settle_and_read(&mut self, session: &mut Session) -> Result<Page, SessionError> {
        self.devtools.settle().await?;
        let page = self.read().await?;
        let cookies = self.devtools.call("Network.getAllCookies", json!({})).await?;
        session.jar = cookies::to_jar(&cookies["cookies"], &session.guard);
        self.read_at = Some(page.meta.fetched_at);
        Ok(page)
    }

    /// Counts and traces the requests that the page made by itself.
    fn record_traffic(&mut self, session: &mut Session) {
        session.requests += self.devtools.traffic.documents.saturating_sub(1);
        self.devtools.traffic.documents = 0;
        session.log.append(&mut self.devtools.traffic.log);
    }

    fn share_passwords(&mut self, session: &Session) {
        for (origin, password) in &session.basic_auth {
            self.devtools.traffic.passwords.insert(format!("Server {origin}"), password.clone());
        }
    }
}

/// Whether the page navigated away before it could answer.
fn has_navigated(error: &SessionError) -> bool {
    matches!(error, SessionError::Script { reason, .. } if reason.contains("navigated") || reason.contains("context"))
}

#[cfg(test)]
mod tests;
