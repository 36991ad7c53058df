//! What goes over the wire while a page is shown: what may go, what is still under way, and what has become of the document.
//! Pure: takes Chromium's events, answers with orders.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::pipe::Order;
use crate::model::task::Limits;
use crate::robot::blank::Blanks;
use crate::robot::cookies::Jar;
use crate::robot::guard::{Guard, Refusal};
use crate::robot::redirect::{self, MAX_HOPS};
use crate::robot::session::{Body, FIRST_BYTE, Request, Session, shown};
use crate::robot::trouble::SessionError;

/// A page is quiet when it has asked for nothing for so long.
const QUIET: Duration = Duration::from_millis(500);
/// A page that is never quiet is read as it is, so long after its document came.
const MOST: Duration = Duration::from_secs(10);
/// A page that says it goes elsewhere has asked for the document there by then, or does not go.
const LEAVES: Duration = Duration::from_secs(2);
/// Requests that are under way at once; a page that makes more is not quiet anyway.
const MAX_OPEN: usize = 10_000;

pub struct Traffic {
    guard: Arc<Guard>,
    secrets: Blanks,
    /// Passwords by who asks for them: `Proxy http://…`, `Server https://…`.
    pub passwords: HashMap<String, (String, String)>,
    max_page_bytes: u64,
    /// The page's frame that the robot looks at.
    pub frame: String,
    /// The request that was ordered; as far as it was redirected.
    request: Option<Request>,
    /// The cookies from before it, to know who would be sent some.
    jar: Jar,
    /// Documents asked for since then, and how many of them there may be.
    pub documents: u32,
    allowance: u32,
    max_requests: u32,
    document: Option<Document>,
    loaded: bool,
    /// When the page said that it is about to go elsewhere, until it does.
    leaving: Option<Instant>,
    open: HashSet<String>,
    asked: HashSet<String>,
    began: Instant,
    active: Instant,
    trouble: Option<SessionError>,
    pub log: Vec<String>,
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
    Trouble(SessionError),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Paused {
    request_id: String,
    request: Asked,
    #[serde(default)]
    frame_id: String,
    #[serde(default)]
    resource_type: String,
    redirected_request_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    url: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    headers: HashMap<String, String>,
    #[serde(default)]
    post_data: String,
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
            request: None,
            jar: Jar::default(),
            documents: 0,
            allowance: 0,
            max_requests: limits.max_requests,
            document: None,
            loaded: true,
            leaving: None,
            open: HashSet::new(),
            asked: HashSet::new(),
            began: now,
            active: now,
            trouble: None,
            log: Vec::new(),
        }
    }

    /// Something new begins: a request of ours, or a touch of the page.
    pub fn begin(&mut self, request: Option<Request>, session: &Session) {
        self.request = request;
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

    /// May the page be read by now?
    pub fn wait(&mut self, now: Instant) -> Wait {
        if let Some(trouble) = self.trouble.take() {
            return Wait::Trouble(trouble);
        }
        let (began, quiet) = (self.began, self.active + QUIET);
        let Some(document) = &self.document else { return if now >= quiet { Wait::No } else { Wait::Until(quiet) } };
        let Some(done) = document.done else {
            let head = document.asked + FIRST_BYTE;
            return if document.status == 0 && now >= head {
                Wait::Trouble(SessionError::NoAnswer { url: shown(&document.url), waited: FIRST_BYTE })
            } else {
                Wait::Until(if document.status == 0 { head } else { now + MOST })
            };
        };
        let most = done.max(began) + MOST;
        if now >= most {
            self.log.push(format!("{} is still busy after {} s; read as it is", self.url(), MOST.as_secs()));
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

    /// A request that waits for our word.
    pub fn paused(&mut self, session: Option<String>, params: Value) -> Option<Order> {
        let id = params["requestId"].as_str().unwrap_or_default().to_owned();
        let order = |method, params| Some(Order { session: session.clone(), method, params });
        let refuse = || order("Fetch.failRequest", json!({ "requestId": id, "errorReason": "BlockedByClient" }));
        let Ok(paused) = serde_json::from_value::<Paused>(params) else { return refuse() };
        match self.decide(&paused) {
            Ok(change) => order("Fetch.continueRequest", change),
            Err(error) => {
                if self.is_document(&paused) {
                    self.trouble.get_or_insert(error);
                }
                refuse()
            }
        }
    }

    fn is_document(&self, paused: &Paused) -> bool {
        paused.resource_type == "Document" && paused.frame_id == self.frame
    }

    /// What a request is changed to before it goes out.
    fn decide(&mut self, paused: &Paused) -> Result<Value, SessionError> {
        let as_it_is = json!({ "requestId": paused.request_id });
        let refused = |refusal| SessionError::Refused { url: paused.request.url.chars().take(200).collect(), refusal };
        let url = Url::parse(&paused.request.url).map_err(|_| refused(Refusal::NoHost))?;
        if self.is_document(paused) {
            return self.decide_document(paused, &url);
        }
        match paused.resource_type.as_str() {
            // Documents within the page; and what is only to be seen or heard.
            "Document" => self.guard.url(&url).map_err(refused)?,
            "Image" | "Media" | "Font" | "Ping" | "CSPViolationReport" => return Err(refused(Refusal::NoHost)),
            _ => self.guard.beside(&url).map_err(refused)?,
        }
        let carries_secret = self.secrets.in_text(url.as_str()) || self.secrets.in_text(&paused.request.post_data);
        if carries_secret && !url.host_str().is_some_and(|host| self.guard.knows(host)) {
            self.log
                .push(format!("not sent: the page wanted to give a secret to {}", url.origin().ascii_serialization()));
            return Err(refused(Refusal::NoHost));
        }
        Ok(as_it_is)
    }

    fn decide_document(&mut self, paused: &Paused, url: &Url) -> Result<Value, SessionError> {
        self.guard.url(url).map_err(|refusal| SessionError::Refused { url: shown(url), refusal })?;
        self.documents += 1;
        if self.documents > MAX_HOPS + 1 {
            return Err(SessionError::TooManyHops(shown(url)));
        }
        if self.documents > self.allowance {
            return Err(SessionError::TooManyRequests(self.max_requests));
        }
        let post = paused.request.method == "POST";
        let Some(request) = self.request.take() else {
            // A form or a link of the page. Should it be redirected, this is what may go along.
            let body = Body { content_type: String::new(), bytes: Vec::new() };
            self.request = Some(Request { post, body: post.then_some(body), ..Request::get(url.clone()) });
            return Ok(json!({ "requestId": paused.request_id }));
        };
        if paused.redirected_request_id.is_none() {
            let change = sent(&request, paused);
            self.request = Some(request);
            return Ok(change);
        }
        let status = if post { 307 } else { 302 };
        let next = redirect::follow(&request, status, url.as_str(), |url| self.jar.header(url).is_some())
            .map_err(|error| SessionError::Redirect { from: shown(&request.url), error })?;
        let change = redirected(&request, &next, paused);
        self.request = Some(next);
        Ok(change)
    }

    /// Somebody wants a password: our own proxy, or a site that the script has one for. Asked again, there is none.
    pub fn password(&mut self, session: Option<String>, params: &Value) -> Order {
        let id = params["requestId"].as_str().unwrap_or_default().to_owned();
        let challenge = |key: &str| params["authChallenge"][key].as_str().unwrap_or_default().to_owned();
        let who = format!("{} {}", challenge("source"), challenge("origin"));
        let known = self.passwords.get(&who).filter(|_| self.asked.insert(format!("{id} {who}")));
        let answer = match known {
            Some((user, password)) => {
                json!({ "response": "ProvideCredentials", "username": user, "password": password })
            }
            None => json!({ "response": "CancelAuth" }),
        };
        Order {
            session,
            method: "Fetch.continueWithAuth",
            params: json!({ "requestId": id, "authChallengeResponse": answer }),
        }
    }

    /// What happened, of the page that the robot looks at.
    pub fn happened(&mut self, method: &str, params: &Value) {
        let id = params["requestId"].as_str().unwrap_or_default();
        let is_document = self.document.as_ref().is_some_and(|document| document.id == id);
        match method {
            "Network.requestWillBeSent" => self.will_be_sent(id, params),
            "Network.responseReceived" if is_document => self.answered(&params["response"]),
            "Network.dataReceived" if is_document => {
                self.received(params["dataLength"].as_u64().unwrap_or_default());
            }
            "Network.loadingFinished" => {
                if is_document {
                    self.finished();
                }
                self.closed(id);
            }
            "Network.loadingFailed" => {
                if is_document && params["canceled"] != true {
                    let reason = params["errorText"].as_str().unwrap_or("no reason given").to_owned();
                    self.trouble.get_or_insert(SessionError::Connection { url: self.url(), reason });
                }
                self.closed(id);
            }
            "Page.loadEventFired" => self.loaded = true,
            "Page.frameRequestedNavigation" if params["frameId"] == self.frame.as_str() => {
                self.leaving = Some(Instant::now());
            }
            "Browser.downloadWillBegin" if params["frameId"] == self.frame.as_str() => {
                let url = params["url"].as_str().and_then(|it| Url::parse(it).ok());
                let url = url.map_or_else(|| self.url(), |url| shown(&url));
                self.trouble.get_or_insert(SessionError::Download(url));
            }
            _ => {}
        }
    }

    fn will_be_sent(&mut self, id: &str, params: &Value) {
        self.active = Instant::now();
        let is_document = params["type"] == "Document" && params["frameId"] == self.frame.as_str();
        if is_document && let Some(url) = params["request"]["url"].as_str().and_then(|it| Url::parse(it).ok()) {
            let method = params["request"]["method"].as_str().unwrap_or("GET").to_owned();
            if let (Some(before), Some(status)) = (&self.document, params["redirectResponse"]["status"].as_u64()) {
                self.log.push(format!("{} {} → {status} to {}", before.method, shown(&before.url), shown(&url)));
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
            self.open.insert(id.to_owned());
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
        self.log.push(line);
    }

    fn closed(&mut self, id: &str) {
        if self.open.remove(id) {
            self.active = Instant::now();
        }
    }
}

/// The request that goes out instead of the one that Chromium would have made of an address alone.
fn sent(request: &Request, paused: &Paused) -> Value {
    let mut change = json!({ "requestId": paused.request_id });
    let mut own = request.headers.clone();
    if let Some(body) = &request.body {
        change["method"] = "POST".into();
        change["postData"] = STANDARD.encode(&body.bytes).into();
        own.push(("Content-Type".to_owned(), body.content_type.clone()));
        let origin = request.referrer.as_ref().map(|it| it.origin().ascii_serialization());
        own.extend(origin.map(|origin| ("Origin".to_owned(), origin)));
    }
    if !own.is_empty() {
        change["headers"] = headers(paused, &[], &own);
    }
    change
}

/// A redirect as it goes out: without the script's headers where they are not meant to go.
fn redirected(before: &Request, next: &Request, paused: &Paused) -> Value {
    let mut change = json!({ "requestId": paused.request_id });
    if !before.headers.is_empty() {
        change["headers"] = headers(paused, &before.headers, &next.headers);
    }
    change
}

/// Chromium's own headers without some, and with others.
fn headers(paused: &Paused, without: &[(String, String)], with: &[(String, String)]) -> Value {
    let is_in = |name: &str, list: &[(String, String)]| list.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
    let own = paused.request.headers.iter().filter(|(name, _)| !is_in(name, without) && !is_in(name, with));
    let pairs = own.map(|(name, value)| (name, value)).chain(with.iter().map(|(name, value)| (name, value)));
    pairs.map(|(name, value)| json!({ "name": name, "value": value })).collect()
}
