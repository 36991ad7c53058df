//! A session with a site: the cookies and credentials of a run, and the rules for every request of it (guard,
//! robots.txt, rate limit, retries, cache, limits).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use reqwest::header::{self, HeaderValue};
use url::Url;

use super::client::{self, Client};
use super::connector::Connector;
use super::cookies::CookieJar;
use super::error::SessionError;
use super::manners::retry::{self, Retries};
use super::manners::robots::{self, RobotsCache, RobotsRules};
use super::manners::{RequestTimeouts, http_cache, rate_limit};
use super::proxy;
use super::redact::Redactor;
use super::redirect::{self, MAX_HOPS};
use super::request::{Credentials, LogLine, PageRequest, RequestOutcome, RequestPurpose};
use super::request_trace;
use super::run_host::RunHost;
use super::secret_rules::SecretRules;
use super::transport::{self, Transport, USER_AGENT};
use crate::guard::Guard;
use crate::model::address::{display_url, origin};
use crate::model::{CachedPage, GrantedSecret, Page, RobotsTxt, Task};

pub struct Session {
    pub(super) transport: Transport,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) guard: Arc<Guard>,
    pub jar: CookieJar,
    limits: SessionLimits,
    /// Rate limiter and page cache.
    pub run_host: Box<dyn RunHost>,
    /// The last URL that guard and robots.txt allowed, so that it is not checked twice.
    allowed_url: Option<Url>,
    /// `None`: robots.txt is ignored (`fetch.robots_txt = false`).
    robots: Option<RobotsCache>,
    /// By the origin they are for.
    pub(super) basic_auth: HashMap<String, Credentials>,
    /// Set during a login: nothing is retried.
    pub no_retries: bool,
    /// Where each of the task's secrets may be sent.
    pub(super) secret_rules: SecretRules,
    /// The task's secrets: a page that contains one is not cached.
    redactor: Redactor,
    pub requests: u32,
    /// One line for each request, until the walker moves them to the trace.
    pub log: Vec<LogLine>,
}

struct SessionLimits {
    max_requests: u32,
    delay: Duration,
    retries: u32,
}

/// Cookies and credentials of a session.
#[derive(Clone)]
pub struct SessionSnapshot {
    jar: CookieJar,
    basic: HashMap<String, Credentials>,
}

impl Session {
    pub fn new(
        task: &Task,
        secrets: &BTreeMap<String, GrantedSecret>,
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
        let agent = task.fetch.user_agent.as_deref().unwrap_or(USER_AGENT);
        let user_agent = HeaderValue::from_str(agent).map_err(|_| SessionError::Header("user-agent".to_owned()))?;
        let limits = SessionLimits {
            max_requests: task.limits.max_requests,
            delay: task.fetch.delay.0,
            retries: task.fetch.retries,
        };
        let max_page_bytes = task.limits.max_page_bytes.0;
        Ok(Session {
            transport: Transport { client, user_agent, timeouts: patience, deadline, max_page_bytes },
            connector: door,
            guard,
            jar,
            limits,
            run_host: home,
            allowed_url: None,
            robots: task.fetch.robots_txt.then(|| RobotsCache::new(agent)),
            basic_auth: HashMap::new(),
            no_retries: false,
            secret_rules: SecretRules::new(secrets),
            redactor: Redactor::new(secrets.values().map(|secret| &secret.value)),
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
        self.transport.deadline = deadline;
    }

    pub fn deadline(&self) -> Instant {
        self.transport.deadline
    }

    pub fn cookies(&self) -> Option<String> {
        self.jar.to_json()
    }

    /// Sends user and password (HTTP basic authentication) with every request to this origin, and to no other.
    pub fn authorise(&mut self, url: &Url, user: String, password: String) {
        self.basic_auth.insert(origin(url).into_owned(), (user, password));
    }

    /// Credentials are sent for pages only.
    fn credentials_for(&self, url: &Url, purpose: RequestPurpose) -> Option<&Credentials> {
        self.basic_auth.get(&*origin(url)).filter(|_| purpose == RequestPurpose::Page)
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.log.push(LogLine::now(text));
    }

    /// Waits, at most until the run's deadline.
    pub async fn pause(&mut self, time: Duration) -> Result<(), SessionError> {
        self.run_host.release_turn();
        let waited = tokio::time::timeout_at(self.deadline().into(), tokio::time::sleep(time)).await;
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

    /// Fails if the site's robots.txt disallows this URL.
    async fn check_robots_txt(&mut self, url: &Url) -> Result<(), SessionError> {
        let Some(robots) = &mut self.robots else { return Ok(()) };
        let origin = origin(url);
        if robots.contains(&origin) {
            return robots.check(url);
        }
        let cached = self.run_host.cached_robots_txt(&origin).filter(|it| robots::is_fresh(it, Utc::now()));
        let rules = match cached {
            Some(cached) => RobotsRules::parse(robots.name(), &cached.text),
            None => {
                let name = robots.name().to_owned();
                self.fetch_robots_txt(&name, url, &origin).await?
            }
        };
        let Some(robots) = &mut self.robots else { return Ok(()) };
        robots.insert(origin.into_owned(), rules);
        robots.check(url)
    }

    /// A failing connection ends the run with its own cause: the page's request would have failed in the same way.
    async fn fetch_robots_txt(&mut self, name: &str, url: &Url, origin: &str) -> Result<RobotsRules, SessionError> {
        let mut request = PageRequest::get(url.join("/robots.txt").expect("a path that every http address can have"));
        let mut text = String::new();
        for _ in 0..=robots::MAX_REDIRECTS {
            match self.send_with_retries(&request, RequestPurpose::Robots).await? {
                RequestOutcome::Page(page) => {
                    let status = page.meta.status;
                    if status == 429 || status >= 500 {
                        return Ok(RobotsRules::unavailable(status));
                    }
                    if status < 300 {
                        text = String::from_utf8_lossy(&page.body).into_owned();
                    }
                    break;
                }
                RequestOutcome::Redirect { status, location } => {
                    // A redirect that is not allowed counts as no robots.txt.
                    let Ok(next) = self.follow_redirect(&request, status, &location) else { break };
                    if self.guard.check_url(&next.url).is_err() {
                        break;
                    }
                    request = next;
                }
                RequestOutcome::CacheMiss => break,
            }
        }
        let robots = RobotsTxt { origin: origin.to_owned(), text, fetched_at: Utc::now() };
        let rules = RobotsRules::parse(name, &robots.text);
        self.run_host.cache_robots_txt(robots);
        Ok(rules)
    }

    async fn wait_for_turn(&mut self, url: &Url, purpose: RequestPurpose) -> Result<(), SessionError> {
        let crawl_delay = || self.robots.as_ref().map_or(Duration::ZERO, |robots| robots.crawl_delay(url));
        let delay = match purpose {
            RequestPurpose::Page => self.limits.delay.max(crawl_delay()),
            // The page for which robots.txt is fetched may follow at once.
            RequestPurpose::Robots => Duration::ZERO,
        };
        rate_limit::wait_for_turn(&mut *self.run_host, url, delay, self.transport.deadline).await
    }

    /// Sends a request until the outcome is final or the retries are used up.
    async fn send_with_retries(
        &mut self,
        request: &PageRequest,
        purpose: RequestPurpose,
    ) -> Result<RequestOutcome, SessionError> {
        let tries = if self.no_retries { 0 } else { self.limits.retries };
        let mut retries = Retries::new(tries, self.transport.timeouts.first_retry_delay);
        loop {
            let came = self.attempt(request, purpose).await;
            let wish = retry::wished_pause(&came, Utc::now());
            let Some(wait) = retries.next_pause(request, &came, wish, self.deadline()) else {
                self.run_host.finish_turn(wish.unwrap_or_default());
                return came;
            };
            self.run_host.finish_turn(wait);
            let why = came.err().map(|error| format!(": {error}")).unwrap_or_default();
            let (method, url) = (request.method(), display_url(&request.url));
            self.note(format!("{method} {url}{why}; {}", retries.describe(wait)));
            self.transport.before_deadline(tokio::time::sleep(wait), &request.url).await?;
        }
    }

    /// One request and its response, after waiting for the rate limit.
    async fn attempt(
        &mut self,
        request: &PageRequest,
        purpose: RequestPurpose,
    ) -> Result<RequestOutcome, SessionError> {
        self.secret_rules.check_request(request)?;
        self.count_request()?;
        self.wait_for_turn(&request.url, purpose).await?;
        let headers = self.transport.headers(request, purpose, &self.jar)?;
        let credentials = self.credentials_for(&request.url, purpose);
        let known = http_cache::lookup(&*self.run_host, request, purpose, &headers, credentials);
        let started = Instant::now();
        let response = self.transport.exchange(request, headers.clone(), known.as_ref(), credentials).await?;
        for value in response.headers().get_all(header::SET_COOKIE) {
            if let Ok(text) = value.to_str()
                && purpose == RequestPurpose::Page
            {
                self.jar.store(text, &request.url);
            }
        }
        let status = response.status().as_u16();
        if let (304, Some(known)) = (status, known) {
            return self.reuse_cached_page(request, known, started).await;
        }
        if let Some(location) = transport::redirect_target(&response) {
            let (method, from, sent) =
                (request.method(), display_url(&request.url), request_trace::describe_body(request));
            let elapsed_ms = started.elapsed().as_millis();
            self.note(format!("{method} {from} → {status} to {location}, {elapsed_ms} ms{sent}"));
            return Ok(RequestOutcome::Redirect { status, location });
        }
        let page = self.transport.read_body(request, response, started, purpose).await?;
        self.note(request_trace::describe_exchange(request, &page));
        let credentials = self.credentials_for(&request.url, purpose);
        if let Some(entry) = http_cache::entry(request, purpose, &headers, credentials, &page, &self.redactor) {
            self.run_host.cache_page(entry, &page.body);
        }
        Ok(RequestOutcome::Page(page))
    }

    /// The cached page, after a 304.
    async fn reuse_cached_page(
        &mut self,
        request: &PageRequest,
        known: CachedPage,
        started: Instant,
    ) -> Result<RequestOutcome, SessionError> {
        let (most, deadline) = (self.transport.max_page_bytes, self.deadline());
        let body = tokio::time::timeout_at(deadline.into(), self.run_host.cached_body(&known.url, most)).await;
        let Some(body) = body.map_err(|_| SessionError::Deadline(display_url(&request.url)))? else {
            self.note(format!("GET {} → 304, but the cached page is gone", display_url(&request.url)));
            self.run_host.evict_page(&known.url);
            return Ok(RequestOutcome::CacheMiss);
        };
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.note(format!("GET {} → 304, unchanged, {elapsed_ms} ms", display_url(&request.url)));
        Ok(RequestOutcome::Page(http_cache::unchanged_page(request, known, body, elapsed_ms)))
    }
}
