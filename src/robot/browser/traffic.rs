//! Tracks the requests and the document of a page from Chromium's events, and decides when the page has settled. Pure.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use url::Url;

use crate::guard::Guard;
use crate::model::address::display_url;
use crate::model::task::Limits;
use crate::robot::cookies::CookieJar;
use crate::robot::error::{ConnectionLoss, SessionError};
use crate::robot::manners::FIRST_BYTE_TIMEOUT;
use crate::robot::request::{LogLine, PageRequest};
use crate::robot::secret_rules::SecretRules;
use crate::robot::session::Session;

/// A page is idle after this long without a request.
const NETWORK_IDLE: Duration = Duration::from_millis(500);
/// A page that is never idle is read as it is, this long after its document arrived.
const MAX_SETTLE_TIME: Duration = Duration::from_secs(10);
/// A page that announced a navigation has requested the new document by then, or will not.
const NAVIGATION_GRACE: Duration = Duration::from_secs(2);
/// The most trace lines of one step.
const MAX_LOG_LINES: usize = 50;
/// The most requests in flight that are tracked; a page with more is not idle anyway.
const MAX_IN_FLIGHT: usize = 10_000;

pub struct Traffic {
    pub(super) guard: Arc<Guard>,
    pub(super) secrets: SecretRules,
    /// Passwords by who asks for them: `Proxy http://…`, `Server https://…`.
    pub passwords: HashMap<String, (String, String)>,
    max_page_bytes: u64,
    /// The frame of the page itself.
    pub main_frame: String,
    /// The walk's request, until Chromium sends it.
    pub(super) pending_request: Option<PageRequest>,
    /// The request of the document, after the redirects so far.
    pub(super) document_request: Option<PageRequest>,
    /// The cookies before the request, to know which URLs would be sent some.
    pub(super) jar: CookieJar,
    /// Documents requested since then, and how many there may be.
    pub documents: u32,
    pub(super) max_documents: u32,
    pub(super) max_requests: u32,
    document: Option<Document>,
    loaded: bool,
    /// When the page announced a navigation that has not begun yet.
    navigating_since: Option<Instant>,
    /// URLs of the requests in flight, by id.
    in_flight: HashMap<String, String>,
    pub(super) tried_passwords: HashSet<String>,
    began: Instant,
    last_activity: Instant,
    pub(super) error: Option<SessionError>,
    pub log: Vec<LogLine>,
}

/// The page's main document.
#[derive(Clone, Debug)]
pub struct Document {
    pub id: String,
    pub url: Url,
    method: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    bytes: u64,
    requested_at: Instant,
    /// When it was received completely.
    finished_at: Option<Instant>,
}

/// Whether the page can be read, or what to wait for.
#[derive(Debug)]
pub enum SettleState {
    /// The page can be read.
    Settled,
    Until(Instant),
    /// Nothing was received for a while: test whether the page still answers.
    Probe,
    Failed(SessionError),
}

impl Document {
    /// From the request to the end of the response, or until now.
    pub fn elapsed(&self) -> Duration {
        self.finished_at.unwrap_or_else(Instant::now).saturating_duration_since(self.requested_at)
    }
}

impl Traffic {
    pub fn new(guard: Arc<Guard>, secrets: SecretRules, limits: &Limits) -> Traffic {
        let now = Instant::now();
        Traffic {
            guard,
            secrets,
            passwords: HashMap::new(),
            max_page_bytes: limits.max_page_bytes.0,
            main_frame: String::new(),
            pending_request: None,
            document_request: None,
            jar: CookieJar::default(),
            documents: 0,
            max_documents: 0,
            max_requests: limits.max_requests,
            document: None,
            loaded: true,
            navigating_since: None,
            in_flight: HashMap::new(),
            tried_passwords: HashSet::new(),
            began: now,
            last_activity: now,
            error: None,
            log: Vec::new(),
        }
    }

    /// Begins a step: a request of the walk, or an action on the page.
    pub fn begin(&mut self, request: Option<PageRequest>, session: &Session) {
        self.pending_request = request;
        self.jar = session.jar.clone();
        self.documents = 0;
        // The request that is about to be made has been counted already.
        self.max_documents = self.max_requests.saturating_sub(session.requests) + 1;
        self.error = None;
        self.navigating_since = None;
        self.tried_passwords.clear();
        (self.began, self.last_activity) = (Instant::now(), Instant::now());
    }

    pub fn document(&self) -> Option<&Document> {
        self.document.as_ref()
    }

    /// Takes the pending error if it is of this kind.
    pub fn take_error_if(&mut self, is: impl Fn(&SessionError) -> bool) -> Option<SessionError> {
        self.error.take_if(|trouble| is(trouble))
    }

    pub fn url(&self) -> String {
        self.document.as_ref().map_or_else(|| "about:blank".to_owned(), |document| display_url(&document.url))
    }

    /// Adds a line to the trace, up to [`MAX_LOG_LINES`] in one step.
    pub fn note(&mut self, line: impl Into<String>) {
        if self.log.len() < MAX_LOG_LINES {
            self.log.push(LogLine::now(line));
        }
    }

    pub fn settle_state(&mut self, now: Instant) -> SettleState {
        if let Some(trouble) = self.error.take() {
            return SettleState::Failed(trouble);
        }
        let (began, quiet) = (self.began, self.last_activity + NETWORK_IDLE);
        let Some(document) = &self.document else {
            return if now >= quiet { SettleState::Settled } else { SettleState::Until(quiet) };
        };
        let Some(done) = document.finished_at else {
            let (head, more) = (document.requested_at + FIRST_BYTE_TIMEOUT, self.last_activity + MAX_SETTLE_TIME);
            return match document.status {
                0 if now >= head => SettleState::Failed(SessionError::NoAnswer {
                    url: display_url(&document.url),
                    waited: FIRST_BYTE_TIMEOUT,
                }),
                0 => SettleState::Until(head),
                _ if now < more => SettleState::Until(more),
                // The site is slow, or a script blocks the page.
                _ => {
                    self.last_activity = now;
                    SettleState::Probe
                }
            };
        };
        let most = done.max(began) + MAX_SETTLE_TIME;
        if now >= most {
            let with = self.in_flight.values().next().map(|url| format!(" with {url}")).unwrap_or_default();
            self.note(format!(
                "{} is still busy after {} s{with}; reading it as it is",
                self.url(),
                MAX_SETTLE_TIME.as_secs()
            ));
            return SettleState::Settled;
        }
        if let Some(left) = self.navigating_since.filter(|left| now < *left + NAVIGATION_GRACE) {
            return SettleState::Until((left + NAVIGATION_GRACE).min(most));
        }
        match self.loaded && self.in_flight.is_empty() {
            true if now >= quiet => SettleState::Settled,
            true => SettleState::Until(quiet.min(most)),
            false => SettleState::Until(most),
        }
    }

    /// Events of a frame or a worker. Only ends of requests matter: their beginning may have been an event of the page.
    pub fn on_subframe_event(&mut self, method: &str, params: &Value) {
        if matches!(method, "Network.loadingFinished" | "Network.loadingFailed") {
            self.on_request_closed(params["requestId"].as_str().unwrap_or_default());
        }
    }

    /// Events of the page itself.
    pub fn on_page_event(&mut self, method: &str, params: &Value) {
        let id = params["requestId"].as_str().unwrap_or_default();
        let is_document = self.document.as_ref().is_some_and(|document| document.id == id);
        // Late events of a document from before this step are ignored.
        let is_new = self.document.as_ref().is_some_and(|document| document.requested_at >= self.began);
        match method {
            "Network.requestWillBeSent" => self.on_request_sent(id, params),
            "Network.responseReceived" if is_document => self.on_response(&params["response"]),
            "Network.dataReceived" if is_document && is_new => {
                self.on_data(params["dataLength"].as_u64().unwrap_or_default());
            }
            "Network.loadingFinished" => {
                if is_document {
                    self.on_document_finished();
                }
                self.on_request_closed(id);
            }
            "Network.loadingFailed" => {
                if is_document && is_new && params["canceled"] != true {
                    let reason = params["errorText"].as_str().unwrap_or("no reason given").to_owned();
                    self.error.get_or_insert(SessionError::Connection {
                        url: self.url(),
                        reason,
                        loss: ConnectionLoss::AfterSend,
                    });
                }
                self.on_request_closed(id);
            }
            "Page.loadEventFired" => self.loaded = true,
            "Page.frameRequestedNavigation" if params["frameId"] == self.main_frame.as_str() => {
                self.navigating_since = Some(Instant::now());
            }
            "Browser.downloadWillBegin" => self.on_download(params["url"].as_str().unwrap_or_default()),
            _ => {}
        }
    }

    /// The document is a download. The event of one from before this step may come late.
    fn on_download(&mut self, url: &str) {
        let Some(document) = self.document.as_ref().filter(|document| document.requested_at >= self.began) else {
            return;
        };
        if document.url.as_str() == url {
            self.error.get_or_insert(SessionError::Download(display_url(&document.url)));
        }
    }

    fn on_request_sent(&mut self, id: &str, params: &Value) {
        self.last_activity = Instant::now();
        let is_document = params["type"] == "Document" && params["frameId"] == self.main_frame.as_str();
        if is_document && let Some(url) = params["request"]["url"].as_str().and_then(|it| Url::parse(it).ok()) {
            let method = params["request"]["method"].as_str().unwrap_or("GET").to_owned();
            if let (Some(before), Some(status)) = (&self.document, params["redirectResponse"]["status"].as_u64()) {
                self.note(format!(
                    "{} {} → {status} to {}",
                    before.method,
                    display_url(&before.url),
                    display_url(&url)
                ));
            }
            let (headers, asked) = (Vec::new(), Instant::now());
            self.document = Some(Document {
                id: id.to_owned(),
                url,
                method,
                status: 0,
                headers,
                bytes: 0,
                requested_at: asked,
                finished_at: None,
            });
            self.loaded = false;
            self.navigating_since = None;
            self.in_flight.clear();
        }
        let lasts = matches!(params["type"].as_str(), Some("EventSource" | "WebSocket" | "Media" | "Ping"));
        let inline = params["request"]["url"].as_str().is_some_and(|url| url.starts_with("data:"));
        if !lasts && !inline && self.in_flight.len() < MAX_IN_FLIGHT {
            let url = params["request"]["url"].as_str().unwrap_or_default().chars().take(200).collect();
            self.in_flight.insert(id.to_owned(), url);
        }
    }

    fn on_response(&mut self, response: &Value) {
        let Some(document) = &mut self.document else { return };
        document.status = response["status"].as_u64().and_then(|it| u16::try_from(it).ok()).unwrap_or(0);
        let headers = response["headers"].as_object().into_iter().flatten();
        document.headers = headers
            .filter(|(name, _)| !name.eq_ignore_ascii_case("set-cookie"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.as_str().unwrap_or_default().to_owned()))
            .collect();
    }

    fn on_data(&mut self, bytes: u64) {
        self.last_activity = Instant::now();
        let Some(document) = &mut self.document else { return };
        document.bytes += bytes;
        if document.bytes > self.max_page_bytes && document.status < 400 {
            let url = display_url(&document.url);
            self.error.get_or_insert(SessionError::TooLarge { url, max: self.max_page_bytes });
        }
    }

    fn on_document_finished(&mut self) {
        let Some(document) = &mut self.document else { return };
        document.finished_at = Some(Instant::now());
        let (kilobytes, ms) = (document.bytes.div_ceil(1024), document.requested_at.elapsed().as_millis());
        let line = format!(
            "{} {} → {}, {kilobytes} kB, {ms} ms",
            document.method,
            display_url(&document.url),
            document.status
        );
        self.note(line);
    }

    fn on_request_closed(&mut self, id: &str) {
        if self.in_flight.remove(id).is_some() {
            self.last_activity = Instant::now();
        }
    }
}
