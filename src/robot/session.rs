//! A session with a site: one client, one jar of cookies, and the manners that hold for every request of a run.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use url::Url;

use super::address::{origin, without_password};
use super::blank::Blanks;
use super::client::{self, Client};
use super::cookies::Jar;
use super::door::Door;
use super::form::Filling;
use super::home::Home;
use super::manners::robots::{self, Rules};
use super::manners::{Patience, unchanged};
use super::proxy;
use super::redirect::{self, MAX_HOPS};
use super::sent;
use super::trouble::SessionError;
use crate::guard::Guard;
use crate::model::{KeptPage, Page, PageMeta, RobotsTxt, Task};

pub use super::address::shown;

pub const USER_AGENT: &str = concat!("pieme/", env!("CARGO_PKG_VERSION"));
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const ACCEPT_LANGUAGE: &str = "en,*;q=0.5";
/// Of a page with a bad status so much is kept, for diagnostics; its status matters more than its size.
const MAX_ERROR_BYTES: u64 = 1 << 20;

pub struct Session {
    client: Client,
    pub(super) door: Arc<dyn Door>,
    user_agent: HeaderValue,
    pub(super) guard: Arc<Guard>,
    pub jar: Jar,
    pub(super) limits: Limits,
    pub(super) patience: Patience,
    pub(super) deadline: Instant,
    /// Who says when a host may be asked, and remembers pages.
    pub home: Box<dyn Home>,
    /// The address that may be reached, as was found out last.
    may: Option<Url>,
    /// What each origin says about robots.
    pub(super) robots: HashMap<String, Rules>,
    /// User and password of HTTP basic authentication, by the origin they are for.
    pub(super) basic: HashMap<String, (String, String)>,
    /// While it logs in, nothing is tried twice.
    pub once_only: bool,
    /// No page with one of these is kept for the next run.
    pub(super) secrets: Blanks,
    pub requests: u32,
    /// What happened on the wire, a line a request, until somebody takes it.
    pub log: Vec<LogLine>,
}

/// What happened on the wire, and when: a wait is the time between two lines.
#[derive(Clone, Debug)]
pub struct LogLine {
    pub at: DateTime<Utc>,
    pub text: String,
}

impl LogLine {
    pub fn now(text: impl Into<String>) -> LogLine {
        LogLine { at: Utc::now(), text: text.into() }
    }
}

pub(super) struct Limits {
    max_requests: u32,
    pub max_page_bytes: u64,
    pub delay: Duration,
    pub retries: u32,
    /// The name that robots.txt files know us by; none: they are not asked.
    pub robot: Option<String>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Page,
    /// A robots.txt: no cookie, no log-in and no header of the script's goes with it, and none is taken from it.
    Robots,
}

/// What a request brought.
pub(super) enum Reply {
    Page(Page),
    Elsewhere {
        status: u16,
        location: String,
    },
    /// The page is said to be unchanged, and it is not there any more.
    Forgotten,
}

/// What a session knows of a site.
#[derive(Clone)]
pub struct Memory {
    jar: Jar,
    basic: HashMap<String, (String, String)>,
}

/// One request, before cookies and the session's own headers.
#[derive(Clone, Debug)]
pub struct Request {
    pub post: bool,
    pub url: Url,
    /// Those the script asks for; they never leave the origin they were meant for.
    pub headers: Vec<(String, String)>,
    pub body: Option<Body>,
    /// The page that the request comes from.
    pub referrer: Option<Url>,
    /// How a browser makes this request: by the form of its page.
    pub filling: Option<Filling>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    pub content_type: String,
    pub bytes: Vec<u8>,
}

impl Request {
    pub fn get(url: Url) -> Request {
        Request { post: false, url, headers: Vec::new(), body: None, referrer: None, filling: None }
    }

    pub fn method(&self) -> &'static str {
        if self.post { "POST" } else { "GET" }
    }
}

impl Session {
    pub fn new(
        task: &Task,
        secrets: &BTreeMap<String, String>,
        guard: Guard,
        jar: Jar,
        home: Box<dyn Home>,
        deadline: Instant,
    ) -> Result<Session, SessionError> {
        let patience = Patience::default();
        let proxy = task.fetch.proxy.as_ref().map(|it| proxy::reach(it, secrets, &guard)).transpose()?;
        let trust: client::Trust = Arc::new(client::of_this_machine);
        #[cfg(test)]
        let trust = guard.pretend.trust().unwrap_or(trust);
        let guard = Arc::new(guard);
        let door = home.door().unwrap_or_else(|| Arc::new(Arc::clone(&guard)));
        let client = Client::new(Arc::clone(&door), patience.connect, proxy, trust);
        let user_agent = task.fetch.user_agent.as_deref().unwrap_or(USER_AGENT);
        let user_agent =
            HeaderValue::from_str(user_agent).map_err(|_| SessionError::Header("user-agent".to_owned()))?;
        let limits = Limits {
            max_requests: task.limits.max_requests,
            max_page_bytes: task.limits.max_page_bytes.0,
            delay: task.fetch.delay.0,
            retries: task.fetch.retries,
            robot: task.fetch.robots_txt.then(|| robots::name(task.fetch.user_agent.as_deref().unwrap_or(USER_AGENT))),
        };
        Ok(Session {
            client,
            door,
            user_agent,
            guard,
            jar,
            limits,
            patience,
            deadline,
            home,
            may: None,
            robots: HashMap::new(),
            basic: HashMap::new(),
            once_only: false,
            secrets: Blanks::new(secrets),
            requests: 0,
            log: Vec::new(),
        })
    }

    /// What can be gone back to: cookies and log-ins. What was spent (requests, turns at hosts) is spent.
    pub fn memory(&self) -> Memory {
        Memory { jar: self.jar.clone(), basic: self.basic.clone() }
    }

    pub fn remember(&mut self, memory: Memory) {
        self.jar = memory.jar;
        self.basic = memory.basic;
    }

    /// The run's time ends then, and not when it would have.
    pub fn end_at(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    pub fn cookies(&self) -> Option<String> {
        self.jar.to_json()
    }

    /// Gives user and password to every request to this origin, and to no other.
    pub fn authorise(&mut self, url: &Url, user: String, password: String) {
        self.basic.insert(origin(url).into_owned(), (user, password));
    }

    pub(super) fn log_in_for(&self, url: &Url) -> Option<&(String, String)> {
        self.basic.get(&*origin(url))
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.log.push(LogLine::now(text));
    }

    /// Waits, but not beyond the run's time.
    pub async fn pause(&mut self, time: Duration) -> Result<(), SessionError> {
        self.home.rest();
        let waited = tokio::time::timeout_at(self.deadline.into(), tokio::time::sleep(time)).await;
        waited.map_err(|_| SessionError::Waited)
    }

    /// Would a request to this address be made at all? Asks the site's robots.txt if it has not been asked yet.
    pub async fn may_reach(&mut self, url: &Url) -> Result<(), SessionError> {
        if self.may.as_ref() == Some(url) {
            return Ok(());
        }
        self.guard.url(url).map_err(|refusal| SessionError::Refused { url: shown(url), refusal })?;
        self.heed_robots(url).await?;
        self.may = Some(url.clone());
        Ok(())
    }

    /// Lets a request to this address begin: it may be reached, there is one left, and the host may be asked again.
    pub async fn admit(&mut self, url: &Url) -> Result<(), SessionError> {
        self.may_reach(url).await?;
        self.count()?;
        self.wait_for_turn(url, Purpose::Page).await?;
        // A browser asks for many things at once: its turn is the moment it begins.
        self.home.over(Duration::ZERO);
        Ok(())
    }

    /// One request more, unless the run has made all of its own.
    pub fn count(&mut self) -> Result<(), SessionError> {
        if self.requests >= self.limits.max_requests {
            return Err(SessionError::TooManyRequests(self.limits.max_requests));
        }
        self.requests += 1;
        Ok(())
    }

    /// Sends a request and follows its redirects. Any status that is not one is a page.
    pub async fn send(&mut self, request: Request) -> Result<Page, SessionError> {
        self.send_on(request, &mut 0).await
    }

    /// As [`Session::send`], after so many hops that led here.
    pub async fn send_on(&mut self, request: Request, hops: &mut u32) -> Result<Page, SessionError> {
        let mut request = request;
        while *hops <= MAX_HOPS {
            self.may_reach(&request.url).await?;
            match self.ask(&request, Purpose::Page).await? {
                Reply::Page(page) => return Ok(page),
                Reply::Elsewhere { status, location } => request = self.follow(&request, status, &location)?,
                Reply::Forgotten => continue,
            }
            *hops += 1;
        }
        Err(SessionError::TooManyHops(shown(&request.url)))
    }

    /// The request that a redirect asks for, if it may.
    pub(super) fn follow(&self, request: &Request, status: u16, location: &str) -> Result<Request, SessionError> {
        redirect::follow(request, status, location, |url| self.jar.header(url).is_some())
            .map_err(|error| SessionError::Redirect { from: shown(&request.url), error })
    }

    /// One request and its answer, when it is our turn.
    pub(super) async fn attempt(&mut self, request: &Request, purpose: Purpose) -> Result<Reply, SessionError> {
        self.count()?;
        self.wait_for_turn(&request.url, purpose).await?;
        let headers = self.headers(request, purpose)?;
        let known = self.known(request, &headers, purpose);
        let started = Instant::now();
        let response = self.once(request, headers.clone(), known.as_ref(), purpose).await?;
        let status = response.status().as_u16();
        if let (304, Some(known)) = (status, known) {
            return self.unchanged(request, known, started).await;
        }
        if let Some(location) = redirect_target(&response) {
            let (method, from, sent) = (request.method(), shown(&request.url), sent::words(request));
            let elapsed_ms = started.elapsed().as_millis();
            self.note(format!("{method} {from} → {status} to {location}, {elapsed_ms} ms{sent}"));
            return Ok(Reply::Elsewhere { status, location });
        }
        let page = self.read(request, response, started, purpose).await?;
        self.keep(request, &headers, &page, purpose);
        Ok(Reply::Page(page))
    }

    /// One request and the head of its answer; cookies go out and come in.
    async fn once(
        &mut self,
        request: &Request,
        headers: HeaderMap,
        known: Option<&KeptPage>,
        purpose: Purpose,
    ) -> Result<Response, SessionError> {
        let method = if request.post { Method::POST } else { Method::GET };
        let mut wanted = reqwest::Request::new(method, without_password(&request.url));
        *wanted.headers_mut() = headers;
        if let Some(body) = &request.body {
            let kind = HeaderValue::from_str(&body.content_type);
            let kind = kind.map_err(|_| SessionError::Header(header::CONTENT_TYPE.to_string()))?;
            wanted.headers_mut().insert(header::CONTENT_TYPE, kind);
            *wanted.body_mut() = Some(body.bytes.clone().into());
        }
        if let Some((user, password)) = self.log_in_for(&request.url).filter(|_| purpose == Purpose::Page) {
            wanted.headers_mut().insert(header::AUTHORIZATION, proxy::basic(user, password));
        }
        for (name, value) in known.map(unchanged::conditions).unwrap_or_default() {
            if let Ok(value) = HeaderValue::from_str(&value) {
                wanted.headers_mut().insert(name, value);
            }
        }
        let sent = tokio::time::timeout(self.patience.first_byte, self.client.send(wanted));
        let response = match self.in_time(sent, &request.url).await? {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.connection_error(&request.url, &*error)),
            Err(_) => {
                return Err(SessionError::NoAnswer { url: shown(&request.url), waited: self.patience.first_byte });
            }
        };
        for value in response.headers().get_all(header::SET_COOKIE) {
            if let Ok(text) = value.to_str()
                && purpose == Purpose::Page
            {
                self.jar.take(text, &request.url);
            }
        }
        Ok(response)
    }

    /// Reads the body, counting bytes as they come out of the decoder: a bomb is small on the wire.
    async fn read(
        &mut self,
        request: &Request,
        mut response: Response,
        started: Instant,
        purpose: Purpose,
    ) -> Result<Page, SessionError> {
        let status = response.status().as_u16();
        let headers = kept_headers(response.headers());
        let too_large = || SessionError::TooLarge { url: shown(&request.url), max: self.limits.max_page_bytes };
        let (may_be_cut, most) = match purpose {
            Purpose::Robots => (true, RobotsTxt::MAX_BYTES as u64),
            Purpose::Page if status >= 400 => (true, MAX_ERROR_BYTES.min(self.limits.max_page_bytes)),
            Purpose::Page => (false, self.limits.max_page_bytes),
        };
        if !may_be_cut && response.content_length().is_some_and(|length| length > most) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        loop {
            let chunk = self.in_time(response.chunk(), &request.url).await?;
            let Some(chunk) = chunk.map_err(|error| self.connection_error(&request.url, &error))? else { break };
            if (body.len() + chunk.len()) as u64 > most {
                if may_be_cut {
                    body.extend_from_slice(&chunk[..chunk.len().min(most as usize - body.len())]);
                    break;
                }
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let size = body.len().div_ceil(1024);
        let kind = sent::kind(&headers);
        let (method, from, sent) = (request.method(), shown(&request.url), sent::words(request));
        self.note(format!("{method} {from} → {status}, {size} kB{kind}, {elapsed_ms} ms{sent}"));
        let url = without_password(&request.url);
        Ok(Page { meta: PageMeta { url, status, headers, fetched_at: Utc::now(), elapsed_ms, saved_as: None }, body })
    }

    fn headers(&self, request: &Request, purpose: Purpose) -> Result<HeaderMap, SessionError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
        headers.insert(header::USER_AGENT, self.user_agent.clone());
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(ACCEPT_LANGUAGE));
        if purpose == Purpose::Robots {
            return Ok(headers);
        }
        if let Some(cookies) = self.jar.header(&request.url)
            && let Ok(value) = HeaderValue::from_str(&cookies)
        {
            headers.insert(header::COOKIE, value);
        }
        if let Some(referrer) = request.referrer.as_ref().filter(|it| origin(it) == origin(&request.url)) {
            if let Ok(value) = HeaderValue::from_str(&shown(referrer)) {
                headers.insert(header::REFERER, value);
            }
            if request.post
                && let Ok(value) = HeaderValue::from_str(&referrer.origin().ascii_serialization())
            {
                headers.insert(header::ORIGIN, value);
            }
        }
        for (name, value) in &request.headers {
            let bad = || SessionError::Header(name.clone());
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Does the work unless the run's time is up first.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = T>, url: &Url) -> Result<T, SessionError> {
        tokio::time::timeout_at(self.deadline.into(), work).await.map_err(|_| SessionError::Deadline(shown(url)))
    }
}

fn redirect_target(response: &Response) -> Option<String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?;
    // Many servers send raw UTF-8 here; the URL parser escapes it as browsers do.
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

/// A session's cookie is as good as its password, so it is not among what is kept of a page.
fn kept_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, _)| *name != header::SET_COOKIE)
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}
