//! A session with a site: one client, one jar of cookies, and the manners that hold for every request of a run.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response};
use url::Url;

use super::cookies::Jar;
use super::form::Filling;
use super::guard::{Guard, Refusal};
use super::redirect::{self, MAX_HOPS};
use super::trouble::SessionError;
use crate::model::{Page, PageMeta, Task};

pub const USER_AGENT: &str = concat!("pieme/", env!("CARGO_PKG_VERSION"));
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const ACCEPT_LANGUAGE: &str = "en,*;q=0.5";
pub const CONNECT: Duration = Duration::from_secs(15);
/// From the request to the head of its answer. What comes after is bounded by the run's deadline alone: a site may send a
/// byte a second for ever, so only a total stops it (safety.md input 2).
pub const FIRST_BYTE: Duration = Duration::from_secs(30);

/// Of a page with a bad status so much is kept, for diagnostics; its status matters more than its size.
const MAX_ERROR_BYTES: u64 = 1 << 20;

pub struct Session {
    client: Client,
    pub guard: Arc<Guard>,
    pub jar: Jar,
    limits: Limits,
    pub deadline: Instant,
    /// User and password of HTTP basic authentication, by the origin they are for.
    pub basic: HashMap<String, (String, String)>,
    /// When the last request to a host began, for the delay between two.
    last: HashMap<String, Instant>,
    pub requests: u32,
    /// What happened on the wire, a line a request, until somebody takes it.
    pub log: Vec<String>,
}

struct Limits {
    max_requests: u32,
    max_page_bytes: u64,
    delay: Duration,
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
    pub fn new(task: &Task, guard: Guard, jar: Jar, deadline: Instant) -> Result<Session, SessionError> {
        if task.fetch.proxy.is_some() {
            return Err(SessionError::Unsupported("fetch.proxy"));
        }
        // Fails only when a provider is there already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(task.fetch.user_agent.as_deref().unwrap_or(USER_AGENT))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT)
            .dns_resolver(guard.clone())
            .build()
            .map_err(|error| SessionError::Client(innermost(&error)))?;
        let limits = Limits {
            max_requests: task.limits.max_requests,
            max_page_bytes: task.limits.max_page_bytes.0,
            delay: task.fetch.delay.0,
        };
        Ok(Session {
            client,
            guard: Arc::new(guard),
            jar,
            limits,
            deadline,
            basic: HashMap::new(),
            last: HashMap::new(),
            requests: 0,
            log: Vec::new(),
        })
    }

    pub fn cookies(&self) -> Option<String> {
        self.jar.to_json()
    }

    /// Gives user and password to every request to this origin, and to no other.
    pub fn authorise(&mut self, url: &Url, user: String, password: String) {
        self.basic.insert(url.origin().ascii_serialization(), (user, password));
    }

    /// Waits, but not beyond the run's time.
    pub async fn pause(&self, time: Duration) -> Result<(), SessionError> {
        let waited = tokio::time::timeout_at(self.deadline.into(), tokio::time::sleep(time)).await;
        waited.map_err(|_| SessionError::Waited)
    }

    /// Would a request to this address be made at all?
    pub fn may_reach(&self, url: &Url) -> Result<(), Refusal> {
        self.guard.url(url)
    }

    /// Lets a request to this address begin: it may be reached, there is one left, and the host may be asked again.
    pub async fn admit(&mut self, url: &Url) -> Result<(), SessionError> {
        self.guard.url(url).map_err(|refusal| SessionError::Refused { url: shown(url), refusal })?;
        self.count()?;
        self.wait_for_turn(url).await
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
        let mut request = request;
        for _ in 0..=MAX_HOPS {
            let started = Instant::now();
            let response = self.once(&request).await?;
            let status = response.status().as_u16();
            let Some(location) = redirect_target(&response) else {
                return self.read(&request, response, started).await;
            };
            self.log.push(format!("{} {} → {status} to {location}", request.method(), shown(&request.url)));
            request = redirect::follow(&request, status, &location, |url| self.jar.header(url).is_some())
                .map_err(|error| SessionError::Redirect { from: shown(&request.url), error })?;
        }
        Err(SessionError::TooManyHops(shown(&request.url)))
    }

    /// One request and the head of its answer; cookies go out and come in.
    async fn once(&mut self, request: &Request) -> Result<Response, SessionError> {
        self.admit(&request.url).await?;
        let method = if request.post { Method::POST } else { Method::GET };
        let mut builder = self.client.request(method, request.url.clone()).headers(self.headers(request)?);
        if let Some(body) = &request.body {
            builder = builder.header(header::CONTENT_TYPE, &body.content_type).body(body.bytes.clone());
        }
        if let Some((user, password)) = self.basic.get(&request.url.origin().ascii_serialization()) {
            builder = builder.basic_auth(user, Some(password));
        }
        let sent = tokio::time::timeout(FIRST_BYTE, builder.send());
        let response = match self.in_time(sent, &request.url).await? {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(connection_error(&request.url, &error)),
            Err(_) => return Err(SessionError::NoAnswer { url: shown(&request.url), waited: FIRST_BYTE }),
        };
        for value in response.headers().get_all(header::SET_COOKIE) {
            if let Ok(text) = value.to_str() {
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
    ) -> Result<Page, SessionError> {
        let status = response.status().as_u16();
        let headers = kept_headers(response.headers());
        let too_large = || SessionError::TooLarge { url: shown(&request.url), max: self.limits.max_page_bytes };
        let is_error = status >= 400;
        let most = self.limits.max_page_bytes.min(if is_error { MAX_ERROR_BYTES } else { u64::MAX });
        if !is_error && response.content_length().is_some_and(|length| length > most) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        loop {
            let chunk = self.in_time(response.chunk(), &request.url).await?;
            let Some(chunk) = chunk.map_err(|error| connection_error(&request.url, &error))? else { break };
            if (body.len() + chunk.len()) as u64 > most {
                if is_error {
                    break;
                }
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let size = body.len().div_ceil(1024);
        self.log.push(format!("{} {} → {status}, {size} kB, {elapsed_ms} ms", request.method(), shown(&request.url)));
        let url = without_password(&request.url);
        Ok(Page { meta: PageMeta { url, status, headers, fetched_at: Utc::now(), elapsed_ms, saved_as: None }, body })
    }

    fn headers(&self, request: &Request) -> Result<HeaderMap, SessionError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(ACCEPT_LANGUAGE));
        if let Some(cookies) = self.jar.header(&request.url)
            && let Ok(value) = HeaderValue::from_str(&cookies)
        {
            headers.insert(header::COOKIE, value);
        }
        if let Some(referrer) = request.referrer.as_ref().filter(|it| it.origin() == request.url.origin()) {
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

    /// Waits until the host may be asked again.
    async fn wait_for_turn(&mut self, url: &Url) -> Result<(), SessionError> {
        let host = url.host_str().unwrap_or_default().to_owned();
        if let Some(last) = self.last.get(&host) {
            let pause = (*last + self.limits.delay).saturating_duration_since(Instant::now());
            if !pause.is_zero() {
                self.in_time(tokio::time::sleep(pause), url).await?;
            }
        }
        self.last.insert(host, Instant::now());
        Ok(())
    }

    /// Does the work unless the run's time is up first.
    async fn in_time<T>(&self, work: impl Future<Output = T>, url: &Url) -> Result<T, SessionError> {
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

fn without_password(url: &Url) -> Url {
    let mut url = url.clone();
    // An error means that this kind of URL can have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// An address as people may see it: no user, no password, no place within the page.
pub fn shown(url: &Url) -> String {
    let mut url = without_password(url);
    url.set_fragment(None);
    url.to_string()
}

/// Finds the reason inside reqwest's layers of errors.
fn connection_error(url: &Url, error: &reqwest::Error) -> SessionError {
    let url = shown(url);
    let reason = innermost(error);
    if let Some(refusal) = causes(error).find_map(|it| it.downcast_ref::<Refusal>()) {
        return SessionError::Refused { url, refusal: refusal.clone() };
    }
    if causes(error).any(|it| it.is::<rustls::Error>()) {
        return SessionError::Tls { url, reason };
    }
    if error.is_dns() {
        return SessionError::Name { url, reason };
    }
    if error.is_connect() && error.is_timeout() {
        return SessionError::NoConnection { url, waited: CONNECT };
    }
    SessionError::Connection { url, reason }
}

/// The last error of the chain says what happened; the ones above say only where.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

/// An error and all that it came from.
fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&it| {
        // What an io::Error wraps is not its source.
        let wrapped = it.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        wrapped.map(|it| it as &(dyn StdError + 'static)).or_else(|| it.source())
    })
}
