//! What goes over the wire while a page is shown: what is still under way, and what has become of the document. Pure: takes
//! Chromium's events, says what is to be waited for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use url::Url;

use crate::guard::Guard;
use crate::model::task::Limits;
use crate::robot::blank::Blanks;
use crate::robot::cookies::Jar;
use crate::robot::manners::FIRST_BYTE;
use crate::robot::session::{LogLine, Request, Session, shown};
use crate::robot::trouble::{Lost, SessionError};

/// A page is quiet when it has asked for nothing for so long.
const QUIET: Duration = Duration::from_millis(500);
/// A page that is never quiet is read as it is, so long after its document came.
const MOST: Duration = Duration::from_secs(10);
/// A page that says it goes elsewhere has asked for the document there by then, or does not go.
const LEAVES: Duration = Duration::from_secs(2);
/// Lines that one step leaves in the trace.
const MAX_LINES: usize = 50;
/// Requests that are under way at once; a page that makes more is not quiet anyway.
const MAX_OPEN: usize = 10_000;

pub struct Traffic {
    pub(super) guard: Arc<Guard>,
    pub(super) secrets: Blanks,
    /// Passwords by who asks for them: `Proxy http://…`, `Server https://…`.
    pub passwords: HashMap<String, (String, String)>,
    max_page_bytes: u64,
    /// The page's frame that the robot looks at.
    pub frame: String,
    /// The request that was ordered, until it goes out.
    pub(super) ordered: Option<Request>,
    /// The one that the document comes from, as far as it was redirected.
    pub(super) request: Option<Request>,
    /// The cookies from before it, to know who would be sent some.
    pub(super) jar: Jar,
    /// Documents asked for since then, and how many of them there may be.
    pub documents: u32,
    pub(super) allowance: u32,
    pub(super) max_requests: u32,
    document: Option<Document>,
    loaded: bool,
    /// When the page said that it is about to go elsewhere, until it does.
    leaving: Option<Instant>,
    /// Requests under way, with their addresses.
    open: HashMap<String, String>,
    pub(super) asked: HashSet<String>,
    began: Instant,
    active: Instant,
    pub(super) trouble: Option<SessionError>,
    pub log: Vec<LogLine>,
}

/// The document that the page is made of.
#[derive(Clone, Debug)]
pub struct Document {
    pub id: String,
    pub url: Url,
    method: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    bytes: u64,
    asked: Instant,
    /// When all of it had come.
    done: Option<Instant>,
}

/// What is to be waited for.
#[derive(Debug)]
pub enum Wait {
    /// Nothing: the page can be read.
    No,
    Until(Instant),
    /// Nothing has come for a while: does the page still answer?
    Ask,
    Trouble(SessionError),
}

impl Document {
    /// From the request to the end of the answer, or to now.
    pub fn took(&self) -> Duration {
        self.done.unwrap_or_else(Instant::now).saturating_duration_since(self.asked)
    }
}

impl Traffic {
    pub fn new(guard: Arc<Guard>, secrets: Blanks, limits: &Limits) -> Traffic {
        let now = Instant::now();
        Traffic {
            guard,
            secrets,
            passwords: HashMap::new(),
            max_page_bytes: limits.max_page_bytes.0,
            frame: String::new(),
            ordered: None,
            request: None,
            jar: Jar::default(),
            documents: 0,
            allowance: 0,
            max_requests: limits.max_requests,
            document: None,
            loaded: true,
            leaving: None,
            open: HashMap::new(),
            asked: HashSet::new(),
            began: now,
            active: now,
            trouble: None,
            log: Vec::new(),
        }
    }

    /// Something new begins: a request of ours, or a touch of the page.
    pub fn begin(&mut self, request: Option<Request>, session: &Session) {
        self.ordered = request;
        self.jar = session.jar.clone();
        self.documents = 0;
        // The one that is about to be made has been counted already.
        self.allowance = self.max_requests.saturating_sub(session.requests) + 1;
        self.trouble = None;
        self.leaving = None;
        self.asked.clear();
        (self.began, self.active) = (Instant::now(), Instant::now());
    }

    /// The document of the page; none before the first.
    pub fn document(&self) -> Option<&Document> {
        self.document.as_ref()
    }

    /// What has gone wrong, if it is of this kind.
    pub fn take_trouble(&mut self, is: impl Fn(&SessionError) -> bool) -> Option<SessionError> {
        self.trouble.take_if(|trouble| is(trouble))
    }

    pub fn url(&self) -> String {
        self.document.as_ref().map_or_else(|| "about:blank".to_owned(), |document| shown(&document.url))
    }

    /// Says what happened; a page that makes things happen without end is not told to its end.
    pub fn note(&mut self, line: impl Into<String>) {
        if self.log.len() < MAX_LINES {
            self.log.push(LogLine::now(line));
        }
    }

    /// May the page be read by now?
    pub fn wait(&mut self, now: Instant) -> Wait {
        if let Some(trouble) = self.trouble.take() {
            return Wait::Trouble(trouble);
        }
        let (began, quiet) = (self.began, self.active + QUIET);
        let Some(document) = &self.document else { return if now >= quiet { Wait::No } else { Wait::Until(quiet) } };
        let Some(done) = document.done else {
            let (head, more) = (document.asked + FIRST_BYTE, self.active + MOST);
            return match document.status {
                0 if now >= head => {
                    Wait::Trouble(SessionError::NoAnswer { url: shown(&document.url), waited: FIRST_BYTE })
                }
                0 => Wait::Until(head),
                _ if now < more => Wait::Until(more),
                // The site is slow, or a script keeps the page from reading on.
                _ => {
                    self.active = now;
                    Wait::Ask
                }
            };
        };
        let most = done.max(began) + MOST;
        if now >= most {
            let with = self.open.values().next().map(|url| format!(" with {url}")).unwrap_or_default();
            self.note(format!("{} is still busy after {} s{with}; read as it is", self.url(), MOST.as_secs()));
            return Wait::No;
        }
        if let Some(left) = self.leaving.filter(|left| now < *left + LEAVES) {
            return Wait::Until((left + LEAVES).min(most));
        }
        match self.loaded && self.open.is_empty() {
            true if now >= quiet => Wait::No,
            true => Wait::Until(quiet.min(most)),
            false => Wait::Until(most),
        }
    }

    /// What happened in a frame or a worker: only that something is over, since its beginning may have been told to the page.
    pub fn happened_inside(&mut self, method: &str, params: &Value) {
        if matches!(method, "Network.loadingFinished" | "Network.loadingFailed") {
            self.closed(params["requestId"].as_str().unwrap_or_default());
        }
    }

    /// What happened, of the page that the robot looks at.
    pub fn happened(&mut self, method: &str, params: &Value) {
        let id = params["requestId"].as_str().unwrap_or_default();
        let is_document = self.document.as_ref().is_some_and(|document| document.id == id);
        // What is still said of a document from before the last order is of no interest.
        let is_new = self.document.as_ref().is_some_and(|document| document.asked >= self.began);
        match method {
            "Network.requestWillBeSent" => self.will_be_sent(id, params),
            "Network.responseReceived" if is_document => self.answered(&params["response"]),
            "Network.dataReceived" if is_document && is_new => {
                self.received(params["dataLength"].as_u64().unwrap_or_default());
            }
            "Network.loadingFinished" => {
                if is_document {
                    self.finished();
                }
                self.closed(id);
            }
            "Network.loadingFailed" => {
                if is_document && is_new && params["canceled"] != true {
                    let reason = params["errorText"].as_str().unwrap_or("no reason given").to_owned();
                    self.trouble.get_or_insert(SessionError::Connection {
                        url: self.url(),
                        reason,
                        lost: Lost::MidWay,
                    });
                }
                self.closed(id);
            }
            "Page.loadEventFired" => self.loaded = true,
            "Page.frameRequestedNavigation" if params["frameId"] == self.frame.as_str() => {
                self.leaving = Some(Instant::now());
            }
            "Browser.downloadWillBegin" => self.downloads(params["url"].as_str().unwrap_or_default()),
            _ => {}
        }
    }

    /// The document turns out to be a file. One that was given up may be told of late.
    fn downloads(&mut self, url: &str) {
        let Some(document) = self.document.as_ref().filter(|document| document.asked >= self.began) else { return };
        if document.url.as_str() == url {
            self.trouble.get_or_insert(SessionError::Download(shown(&document.url)));
        }
    }

    fn will_be_sent(&mut self, id: &str, params: &Value) {
        self.active = Instant::now();
        let is_document = params["type"] == "Document" && params["frameId"] == self.frame.as_str();
        if is_document && let Some(url) = params["request"]["url"].as_str().and_then(|it| Url::parse(it).ok()) {
            let method = params["request"]["method"].as_str().unwrap_or("GET").to_owned();
            if let (Some(before), Some(status)) = (&self.document, params["redirectResponse"]["status"].as_u64()) {
                self.note(format!("{} {} → {status} to {}", before.method, shown(&before.url), shown(&url)));
            }
            let (headers, asked) = (Vec::new(), Instant::now());
            self.document =
                Some(Document { id: id.to_owned(), url, method, status: 0, headers, bytes: 0, asked, done: None });
            self.loaded = false;
            self.leaving = None;
            self.open.clear();
        }
        let lasts = matches!(params["type"].as_str(), Some("EventSource" | "WebSocket" | "Media" | "Ping"));
        let inline = params["request"]["url"].as_str().is_some_and(|url| url.starts_with("data:"));
        if !lasts && !inline && self.open.len() < MAX_OPEN {
            let url = params["request"]["url"].as_str().unwrap_or_default().chars().take(200).collect();
            self.open.insert(id.to_owned(), url);
        }
    }

    fn answered(&mut self, response: &Value) {
        let Some(document) = &mut self.document else { return };
        document.status = response["status"].as_u64().and_then(|it| u16::try_from(it).ok()).unwrap_or(0);
        let headers = response["headers"].as_object().into_iter().flatten();
        document.headers = headers
            .filter(|(name, _)| !name.eq_ignore_ascii_case("set-cookie"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.as_str().unwrap_or_default().to_owned()))
            .collect();
    }

    fn received(&mut self, bytes: u64) {
        self.active = Instant::now();
        let Some(document) = &mut self.document else { return };
        document.bytes += bytes;
        if document.bytes > self.max_page_bytes && document.status < 400 {
            let url = shown(&document.url);
            self.trouble.get_or_insert(SessionError::TooLarge { url, max: self.max_page_bytes });
        }
    }

    fn finished(&mut self) {
        let Some(document) = &mut self.document else { return };
        document.done = Some(Instant::now());
        let (kilobytes, ms) = (document.bytes.div_ceil(1024), document.asked.elapsed().as_millis());
        let line =
            format!("{} {} → {}, {kilobytes} kB, {ms} ms", document.method, shown(&document.url), document.status);
        self.note(line);
    }

    fn closed(&mut self, id: &str) {
        if self.open.remove(id).is_some() {
            self.active = Instant::now();
        }
    }
}
