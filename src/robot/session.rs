//! A session with a site: HTTP client, cookie jar, and the rules for every request of a run (guard, robots.txt, rate
//! limit, retries, cache, limits).

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use url::Url;

use super::address::{origin, without_password};
use super::client::{self, Client};
use super::connector::Connector;
use super::cookies::CookieJar;
use super::error::SessionError;
use super::form::BrowserInput;
use super::manners::robots::{self, RobotsRules};
use super::manners::{RequestTimeouts, http_cache};
use super::proxy;
use super::redact::Redactor;
use super::redirect::{self, MAX_HOPS};
use super::request_trace;
use super::run_host::RunHost;
use crate::guard::Guard;
use crate::model::{CachedPage, Page, PageMeta, RobotsTxt, Task};

pub use super::address::display_url;

pub const USER_AGENT: &str = concat!("pieme/", env!("CARGO_PKG_VERSION"));
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const ACCEPT_LANGUAGE: &str = "en,*;q=0.5";
/// How much of a page with an error status is kept for diagnostics. A larger one is truncated, and is no error.
const MAX_ERROR_BYTES: u64 = 1 << 20;

pub struct Session {
    client: Client,
    pub(super) connector: Arc<dyn Connector>,
    user_agent: HeaderValue,
    pub(super) guard: Arc<Guard>,
    pub jar: CookieJar,
    pub(super) limits: SessionLimits,
    pub(super) timeouts: RequestTimeouts,
    pub(super) deadline: Instant,
    /// Rate limiter and page cache.
    pub run_host: Box<dyn RunHost>,
    /// The last URL that guard and robots.txt allowed, so that it is not checked twice.
    allowed_url: Option<Url>,
    /// The robots.txt of each origin.
    pub(super) robots: HashMap<String, RobotsRules>,
    /// User and password of HTTP basic authentication, by the origin they are for.
    pub(super) basic_auth: HashMap<String, (String, String)>,
    /// Set during a login: nothing is retried.
    pub no_retries: bool,
    /// The task's secrets: a page that contains one is not cached.
    pub(super) redactor: Redactor,
    pub requests: u32,
    /// One line for each request, until the walker moves them to the trace.
    pub log: Vec<LogLine>,
}

/// A line of the trace with its time.
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

pub(super) struct SessionLimits {
    max_requests: u32,
    pub max_page_bytes: u64,
    pub delay: Duration,
    pub retries: u32,
    /// Our product token for robots.txt; `None`: robots.txt is ignored (`fetch.robots_txt = false`).
    pub robot: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestPurpose {
    Page,
    /// A robots.txt: sent without cookies, credentials and headers of the script, and its cookies are not stored.
    Robots,
}

pub(super) enum RequestOutcome {
    Page(Page),
    Redirect {
        status: u16,
        location: String,
    },
    /// The server answered 304, but the cached page is gone.
    CacheMiss,
}

/// Cookies and credentials of a session.
#[derive(Clone)]
pub struct SessionSnapshot {
    jar: CookieJar,
    basic: HashMap<String, (String, String)>,
}

/// One request, before cookies and the session's own headers.
#[derive(Clone, Debug)]
pub struct PageRequest {
    pub post: bool,
    pub url: Url,
    /// Headers from the script; they are never sent to another origin.
    pub headers: Vec<(String, String)>,
    pub body: Option<RequestBody>,
    /// The page that the request comes from.
    pub referrer: Option<Url>,
    /// With the browser engine: the input into the page's form that makes this request.
    pub browser_input: Option<BrowserInput>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBody {
    pub content_type: String,
    pub bytes: Vec<u8>,
}

impl PageRequest {
    pub fn get(url: Url) -> PageRequest {
        PageRequest { post: false, url, headers: Vec::new(), body: None, referrer: None, browser_input: None }
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
        jar: CookieJar,
        home: Box<dyn RunHost>,
        deadline: Instant,
    ) -> Result<Session, SessionError> {
        let patience = RequestTimeouts::default();
        let proxy = task.fetch.proxy.as_ref().map(|it| proxy::resolve_setting(it, secrets, &guard)).transpose()?;
        let trust: client::TlsConfigLoader = Arc::new(client::system_tls_config);
        #[cfg(test)]
        let trust = guard.test_overrides.tls_config_loader().unwrap_or(trust);
        let guard = Arc::new(guard);
        let door = home.connector().unwrap_or_else(|| Arc::new(Arc::clone(&guard)));
        let client = Client::new(Arc::clone(&door), patience.connect, proxy, trust);
        let user_agent = task.fetch.user_agent.as_deref().unwrap_or(USER_AGENT);
        let user_agent =
            HeaderValue::from_str(user_agent).map_err(|_| SessionError::Header("user-agent".to_owned()))?;
        let limits = SessionLimits {
            max_requests: task.limits.max_requests,
            max_page_bytes: task.limits.max_page_bytes.0,
            delay: task.fetch.delay.0,
            retries: task.fetch.retries,
            robot: task
                .fetch
                .robots_txt
                .then(|| robots::product_token(task.fetch.user_agent.as_deref().unwrap_or(USER_AGENT))),
        };
        Ok(Session {
            client,
            connector: door,
            user_agent,
            guard,
            jar,
            limits,
            timeouts: patience,
            deadline,
            run_host: home,
            allowed_url: None,
            robots: HashMap::new(),
            basic_auth: HashMap::new(),
            no_retries: false,
            redactor: Redactor::new(secrets),
            requests: 0,
            log: Vec::new(),
        })
    }

    /// Cookies and credentials, to restore later. Counted requests and rate-limiter turns are not restored.
    pub fn snapshot(&self) -> SessionSnapshot {
        SessionSnapshot { jar: self.jar.clone(), basic: self.basic_auth.clone() }
    }

    pub fn restore(&mut self, memory: SessionSnapshot) {
        self.jar = memory.jar;
        self.basic_auth = memory.basic;
    }

    pub fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    pub fn cookies(&self) -> Option<String> {
        self.jar.to_json()
    }

    /// Sends user and password (HTTP basic authentication) with every request to this origin, and to no other.
    pub fn authorise(&mut self, url: &Url, user: String, password: String) {
        self.basic_auth.insert(origin(url).into_owned(), (user, password));
    }

    pub(super) fn credentials_for(&self, url: &Url) -> Option<&(String, String)> {
        self.basic_auth.get(&*origin(url))
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.log.push(LogLine::now(text));
    }

    /// Waits, at most until the run's deadline.
    pub async fn pause(&mut self, time: Duration) -> Result<(), SessionError> {
        self.run_host.release_turn();
        let waited = tokio::time::timeout_at(self.deadline.into(), tokio::time::sleep(time)).await;
        waited.map_err(|_| SessionError::DeadlineWhileWaiting)
    }

    /// Checks a URL against the guard and the site's robots.txt, which is fetched if it is not known yet.
    pub async fn may_reach(&mut self, url: &Url) -> Result<(), SessionError> {
        if self.allowed_url.as_ref() == Some(url) {
            return Ok(());
        }
        self.guard.check_url(url).map_err(|refusal| SessionError::Refused { url: display_url(url), refusal })?;
        self.check_robots_txt(url).await?;
        self.allowed_url = Some(url.clone());
        Ok(())
    }

    /// Admits a request of the browser: checks the URL, counts the request and waits for the rate limit.
    pub async fn admit(&mut self, url: &Url) -> Result<(), SessionError> {
        self.may_reach(url).await?;
        self.count_request()?;
        self.wait_for_turn(url, RequestPurpose::Page).await?;
        // A browser makes many requests at once: its turn ends when it begins.
        self.run_host.finish_turn(Duration::ZERO);
        Ok(())
    }

    /// Counts a request against `limits.max_requests`.
    pub fn count_request(&mut self) -> Result<(), SessionError> {
        if self.requests >= self.limits.max_requests {
            return Err(SessionError::TooManyRequests(self.limits.max_requests));
        }
        self.requests += 1;
        Ok(())
    }

    /// Sends a request and follows redirects. Every other status is a page.
    pub async fn send(&mut self, request: PageRequest) -> Result<Page, SessionError> {
        self.send_after_hops(request, &mut 0).await
    }

    /// As [`Session::send`], after `hops` redirects.
    pub async fn send_after_hops(&mut self, request: PageRequest, hops: &mut u32) -> Result<Page, SessionError> {
        let mut request = request;
        while *hops <= MAX_HOPS {
            self.may_reach(&request.url).await?;
            match self.send_with_retries(&request, RequestPurpose::Page).await? {
                RequestOutcome::Page(page) => return Ok(page),
                RequestOutcome::Redirect { status, location } => {
                    request = self.follow_redirect(&request, status, &location)?
                }
                RequestOutcome::CacheMiss => continue,
            }
            *hops += 1;
        }
        Err(SessionError::TooManyHops(display_url(&request.url)))
    }

    /// The request that a redirect asks for, if it is allowed.
    pub(super) fn follow_redirect(
        &self,
        request: &PageRequest,
        status: u16,
        location: &str,
    ) -> Result<PageRequest, SessionError> {
        redirect::follow(request, status, location, |url| self.jar.header(url).is_some())
            .map_err(|error| SessionError::Redirect { from: display_url(&request.url), error })
    }

    /// One request and its response, after waiting for the rate limit.
    pub(super) async fn attempt(
        &mut self,
        request: &PageRequest,
        purpose: RequestPurpose,
    ) -> Result<RequestOutcome, SessionError> {
        self.count_request()?;
        self.wait_for_turn(&request.url, purpose).await?;
        let headers = self.request_headers(request, purpose)?;
        let known = self.cached_page(request, &headers, purpose);
        let started = Instant::now();
        let response = self.exchange(request, headers.clone(), known.as_ref(), purpose).await?;
        let status = response.status().as_u16();
        if let (304, Some(known)) = (status, known) {
            return self.reuse_cached_page(request, known, started).await;
        }
        if let Some(location) = redirect_target(&response) {
            let (method, from, sent) =
                (request.method(), display_url(&request.url), request_trace::describe_body(request));
            let elapsed_ms = started.elapsed().as_millis();
            self.note(format!("{method} {from} → {status} to {location}, {elapsed_ms} ms{sent}"));
            return Ok(RequestOutcome::Redirect { status, location });
        }
        let page = self.read_body(request, response, started, purpose).await?;
        self.cache_page(request, &headers, &page, purpose);
        Ok(RequestOutcome::Page(page))
    }

    /// Sends a request, receives the head of the response, and stores its cookies.
    async fn exchange(
        &mut self,
        request: &PageRequest,
        headers: HeaderMap,
        known: Option<&CachedPage>,
        purpose: RequestPurpose,
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
        if let Some((user, password)) = self.credentials_for(&request.url).filter(|_| purpose == RequestPurpose::Page) {
            wanted.headers_mut().insert(header::AUTHORIZATION, proxy::basic_auth_header(user, password));
        }
        for (name, value) in known.map(http_cache::conditional_headers).unwrap_or_default() {
            if let Ok(value) = HeaderValue::from_str(&value) {
                wanted.headers_mut().insert(name, value);
            }
        }
        let sent = tokio::time::timeout(self.timeouts.first_byte, self.client.send(wanted));
        let response = match self.before_deadline(sent, &request.url).await? {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.connection_error(&request.url, &*error)),
            Err(_) => {
                return Err(SessionError::NoAnswer {
                    url: display_url(&request.url),
                    waited: self.timeouts.first_byte,
                });
            }
        };
        for value in response.headers().get_all(header::SET_COOKIE) {
            if let Ok(text) = value.to_str()
                && purpose == RequestPurpose::Page
            {
                self.jar.store(text, &request.url);
            }
        }
        Ok(response)
    }

    /// Reads the body and limits its size after decompression: a gzip bomb is small on the wire.
    async fn read_body(
        &mut self,
        request: &PageRequest,
        mut response: Response,
        started: Instant,
        purpose: RequestPurpose,
    ) -> Result<Page, SessionError> {
        let status = response.status().as_u16();
        let headers = storable_headers(response.headers());
        let too_large = || SessionError::TooLarge { url: display_url(&request.url), max: self.limits.max_page_bytes };
        let (may_be_cut, most) = match purpose {
            RequestPurpose::Robots => (true, RobotsTxt::MAX_BYTES as u64),
            RequestPurpose::Page if status >= 400 => (true, MAX_ERROR_BYTES.min(self.limits.max_page_bytes)),
            RequestPurpose::Page => (false, self.limits.max_page_bytes),
        };
        if !may_be_cut && response.content_length().is_some_and(|length| length > most) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        loop {
            let chunk = self.before_deadline(response.chunk(), &request.url).await?;
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
        let kind = request_trace::describe_content_type(&headers);
        let (method, from, sent) = (request.method(), display_url(&request.url), request_trace::describe_body(request));
        self.note(format!("{method} {from} → {status}, {size} kB{kind}, {elapsed_ms} ms{sent}"));
        let url = without_password(&request.url);
        Ok(Page { meta: PageMeta { url, status, headers, fetched_at: Utc::now(), elapsed_ms, saved_as: None }, body })
    }

    fn request_headers(&self, request: &PageRequest, purpose: RequestPurpose) -> Result<HeaderMap, SessionError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
        headers.insert(header::USER_AGENT, self.user_agent.clone());
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(ACCEPT_LANGUAGE));
        if purpose == RequestPurpose::Robots {
            return Ok(headers);
        }
        if let Some(cookies) = self.jar.header(&request.url)
            && let Ok(value) = HeaderValue::from_str(&cookies)
        {
            headers.insert(header::COOKIE, value);
        }
        if let Some(referrer) = request.referrer.as_ref().filter(|it| origin(it) == origin(&request.url)) {
            if let Ok(value) = HeaderValue::from_str(&display_url(referrer)) {
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

    /// Awaits `work`, or fails at the run's deadline.
    pub(super) async fn before_deadline<T>(&self, work: impl Future<Output = T>, url: &Url) -> Result<T, SessionError> {
        tokio::time::timeout_at(self.deadline.into(), work).await.map_err(|_| SessionError::Deadline(display_url(url)))
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

/// The headers without `Set-Cookie`: a session cookie is worth as much as a password and is not stored with a page.
fn storable_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, _)| *name != header::SET_COOKIE)
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}
