//! The browser engine: real Chromium, one page of it, for the whole walk.
//!
//! ```text
//! Browser (go, click, scroll, wait_for) → pipe → Chromium → proxy → guard
//!         rules: pure, what may go      traffic: pure, what is under way      crumbs: pure, the cookies of both
//! ```
//!
//! Nothing is done behind the walk's back: events are heard only while the walk waits for something, and a request that the page
//! makes waits until it is heard. What Chromium reaches is decided twice: [`rules`] know what a request is for, [`proxy`] makes
//! the connection.

mod launch;
mod family;
mod pipe;
mod proxy;
mod traffic;
mod rules;
mod crumbs;
mod target;
mod talk;
mod read;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use url::Url;

use crate::model::{Page, Task};
use crate::robot::blank::Blanks;
use crate::robot::form::{Filling, Place};
use crate::robot::manners::FIRST_BYTE;
use crate::robot::session::{Request, Session, shown};
use crate::robot::trouble::SessionError;

use launch::Chromium;
use pipe::Pipe;
use proxy::Proxy;
use traffic::Traffic;

/// From the start of the program to its first answer. It takes half a second on a quiet machine.
const START: Duration = Duration::from_secs(30);
/// How often a page is looked at that is waited for.
const LOOK: Duration = Duration::from_millis(200);

pub struct Browser {
    pipe: Pipe,
    chromium: Chromium,
    proxy: Proxy,
    traffic: Traffic,
    /// The DevTools session of our page.
    page: String,
    /// What a page or a frame is told that we are.
    agent: String,
    deadline: Instant,
    max_page_bytes: u64,
    /// When the page was last read; the robot stands on it when it stands on what was read then.
    read_at: Option<DateTime<Utc>>,
    /// Why the page is no more.
    crashed: Option<SessionError>,
}

/// Where a browser is and may keep its things; none: where they usually are.
#[derive(Clone, Copy, Default)]
pub struct Seat<'a> {
    pub program: Option<&'a Path>,
    pub scratch: Option<&'a Path>,
}

/// Chromium's program: the one that was named, or the one that is found.
pub fn chromium(told: Option<&Path>) -> Result<PathBuf, String> {
    launch::find(told).map_err(|error| error.to_string())
}

/// What a page is to show.
pub struct Sight<'a> {
    pub css: Option<&'a str>,
    pub text: Option<&'a str>,
}

/// One page, in a browser of its own.
pub async fn fetch(task: &Task, session: &mut Session, request: Request) -> Result<Page, SessionError> {
    let mut browser = Browser::start(Seat::default(), task, session, Blanks::default()).await?;
    let page = browser.go(session, request).await;
    browser.end().await;
    page
}

impl Browser {
    /// Starts Chromium with the session's cookies and an empty page.
    pub async fn start(
        seat: Seat<'_>,
        task: &Task,
        session: &mut Session,
        secrets: Blanks,
    ) -> Result<Browser, SessionError> {
        if task.fetch.proxy.is_some() {
            return Err(SessionError::Unsupported("fetch.proxy with the browser engine"));
        }
        let failed = |error: std::io::Error| SessionError::BrowserStart(error.to_string());
        let proxy = Proxy::start(Arc::clone(&session.door)).await.map_err(failed)?;
        let (chromium, to, from) = Chromium::start(seat.program, seat.scratch, proxy.address)?;
        let max_page_bytes = task.limits.max_page_bytes.0;
        let mut traffic = Traffic::new(session.guard.clone(), secrets, &task.limits);
        let own = (proxy::USER.to_owned(), proxy.password.clone());
        traffic.passwords.insert(format!("Proxy http://{}", proxy.address), own);
        let mut browser = Browser {
            pipe: Pipe::new(to, from, read::largest_message(max_page_bytes)),
            chromium,
            proxy,
            traffic,
            page: String::new(),
            agent: String::new(),
            deadline: session.deadline,
            max_page_bytes,
            read_at: None,
            crashed: None,
        };
        browser.open(task, session).await?;
        if !browser.chromium.sandboxed {
            let line = "Chromium runs without its sandbox, since pieme runs as root; run pieme as a user of its own";
            session.note(line);
        }
        Ok(browser)
    }

    /// Does the browser show this page, as it was read?
    pub fn shows(&self, page: &Page) -> bool {
        self.read_at == Some(page.meta.fetched_at)
    }

    /// Goes where the request leads, by the form of the page if there is one, and reads what is shown then.
    pub async fn go(&mut self, session: &mut Session, request: Request) -> Result<Page, SessionError> {
        session.admit(&request.url).await?;
        match request.filling.clone() {
            Some(filling) => self.submit(session, &request, &filling).await,
            None => self.navigate(session, request).await,
        }
    }

    /// Clicks an element of the page and reads what is shown then.
    pub async fn click(&mut self, session: &mut Session, place: &Place) -> Result<Page, SessionError> {
        self.touch(session, json!({ "do": "click", "place": place })).await
    }

    /// Scrolls to the end of the page and reads what is shown then.
    pub async fn scroll(&mut self, session: &mut Session) -> Result<Page, SessionError> {
        self.touch(session, json!({ "do": "scroll" })).await
    }

    /// Waits until the page shows something, and reads it; none: it does not, within that time.
    pub async fn wait_for(
        &mut self,
        session: &mut Session,
        sight: Sight<'_>,
        time: Duration,
    ) -> Result<Option<Page>, SessionError> {
        self.traffic.begin(None, session);
        let until = Instant::now() + time;
        let order = json!({ "do": "shows", "css": sight.css, "text": sight.text });
        loop {
            match self.evaluate(order.clone()).await {
                Ok(answer) if answer["shows"] == true => break,
                Err(error) if !has_left(&error) => return Err(error),
                Ok(_) | Err(_) => {}
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            self.listen(Instant::now() + LOOK).await?;
        }
        let page = self.settle_and_read(session).await;
        self.account(session);
        page.map(Some)
    }

    /// Lets time pass, and reads what is shown then.
    pub async fn idle(&mut self, session: &mut Session, time: Duration) -> Result<Page, SessionError> {
        self.traffic.begin(None, session);
        self.listen(Instant::now() + time).await?;
        let page = self.settle_and_read(session).await;
        self.account(session);
        page
    }

    /// Ends Chromium; its cookies are the session's.
    pub async fn end(mut self) {
        self.chromium.end().await;
    }

    async fn navigate(&mut self, session: &mut Session, request: Request) -> Result<Page, SessionError> {
        self.learn_passwords(session);
        let referrer = request.referrer.as_ref().filter(|it| it.origin() == request.url.origin()).map(shown);
        let mut params = json!({ "url": request.url.as_str() });
        if let Some(referrer) = referrer {
            params["referrer"] = referrer.into();
        }
        let url = request.url.clone();
        self.traffic.begin(Some(request), session);
        let answer = self.ask(Some(self.page.clone()), "Page.navigate", params, FIRST_BYTE).await;
        let answer = match answer {
            Err(SessionError::PageBusy { .. }) => Err(SessionError::NoAnswer { url: shown(&url), waited: FIRST_BYTE }),
            other => other,
        };
        let done = match answer.map(|it| it["errorText"].as_str().map(str::to_owned)) {
            Ok(None) => self.settle_and_read(session).await,
            Ok(Some(text)) => self.no_page(&url, &text),
            Err(error) => Err(error),
        };
        self.account(session);
        if done.is_err() {
            // It may be loading still; nobody waits for it any more.
            self.tell(Some(self.page.clone()), "Page.stopLoading", json!({})).await;
        }
        done
    }

    async fn submit(
        &mut self,
        session: &mut Session,
        request: &Request,
        filling: &Filling,
    ) -> Result<Page, SessionError> {
        self.learn_passwords(session);
        self.traffic.begin(None, session);
        let done = match self.act(json!({ "do": "fill", "filling": filling })).await {
            Ok(()) => self.settle_and_read(session).await,
            Err(error) => Err(error),
        };
        self.account(session);
        done.map_err(|error| match error {
            SessionError::Connection { reason, .. } => self.missed(&request.url, &reason),
            other => other,
        })
    }

    async fn touch(&mut self, session: &mut Session, order: Value) -> Result<Page, SessionError> {
        if let Some(url) = self.traffic.document().map(|document| document.url.clone()) {
            session.admit(&url).await?;
        }
        self.traffic.begin(None, session);
        self.act(order).await?;
        let done = self.settle_and_read(session).await;
        self.account(session);
        done
    }

    /// Does something on the page.
    async fn act(&mut self, order: Value) -> Result<(), SessionError> {
        let answer = match self.evaluate(order).await {
            Err(error) if has_left(&error) => return Ok(()),
            other => other?,
        };
        match answer["missing"].as_str() {
            None => Ok(()),
            Some(tag) => {
                let reason = format!("the <{tag}> that was meant is not on it any more");
                Err(SessionError::Script { url: self.traffic.url(), reason })
            }
        }
    }

    async fn settle_and_read(&mut self, session: &mut Session) -> Result<Page, SessionError> {
        self.settle().await?;
        let page = self.read().await?;
        let cookies = self.call("Network.getAllCookies", json!({})).await?;
        session.jar = crumbs::to_jar(&cookies["cookies"], &session.guard);
        self.read_at = Some(page.meta.fetched_at);
        Ok(page)
    }

    /// What the page did by itself counts as well, and is told.
    fn account(&mut self, session: &mut Session) {
        session.requests += self.traffic.documents.saturating_sub(1);
        self.traffic.documents = 0;
        session.log.append(&mut self.traffic.log);
    }

    fn learn_passwords(&mut self, session: &Session) {
        for (origin, password) in &session.basic {
            self.traffic.passwords.insert(format!("Server {origin}"), password.clone());
        }
    }

    /// Why an address could not be reached, in the words of who tried.
    fn missed(&self, url: &Url, text: &str) -> SessionError {
        read::failure(url, text, url.host_str().and_then(|host| self.proxy.missed(host.trim_matches(['[', ']']))))
    }
}

/// Has the page gone elsewhere before it could answer?
fn has_left(error: &SessionError) -> bool {
    matches!(error, SessionError::Script { reason, .. } if reason.contains("navigated") || reason.contains("context"))
}

#[cfg(test)]
mod tests;
