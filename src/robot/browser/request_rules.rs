//! Decides about every request of a page: continue, change or block. Pure: takes Chromium's events, returns commands.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::pipe::DevToolsCommand;
use super::traffic::Traffic;
use crate::model::Refusal;
use crate::model::address::display_url;
use crate::robot::error::SessionError;
use crate::robot::redirect::{self, MAX_HOPS};
use crate::robot::request::{PageRequest, RequestBody};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PausedRequest {
    request_id: String,
    request: InterceptedRequest,
    #[serde(default)]
    frame_id: String,
    #[serde(default)]
    resource_type: String,
    redirected_request_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InterceptedRequest {
    url: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    headers: HashMap<String, String>,
    #[serde(default)]
    post_data: String,
}

impl InterceptedRequest {
    fn accept(&self) -> &str {
        self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("accept")).map_or("", |(_, value)| value)
    }
}

impl Traffic {
    /// Answers a paused request.
    pub fn on_request_paused(&mut self, session: Option<String>, params: Value) -> Option<DevToolsCommand> {
        let id = params["requestId"].as_str().unwrap_or_default().to_owned();
        let order = |method, params| Some(DevToolsCommand { session: session.clone(), method, params });
        let refuse = || order("Fetch.failRequest", json!({ "requestId": id, "errorReason": "BlockedByClient" }));
        let Ok(paused) = serde_json::from_value::<PausedRequest>(params) else { return refuse() };
        match self.decide(&paused) {
            Ok(change) => order("Fetch.continueRequest", change),
            Err(error) => {
                if self.is_document(&paused) {
                    self.error.get_or_insert(error);
                }
                refuse()
            }
        }
    }

    fn is_document(&self, paused: &PausedRequest) -> bool {
        paused.resource_type == "Document" && paused.frame_id == self.main_frame
    }

    /// The parameters with which the request continues, or why it is blocked.
    fn decide(&mut self, paused: &PausedRequest) -> Result<Value, SessionError> {
        let as_it_is = json!({ "requestId": paused.request_id });
        let refused = |refusal| SessionError::Refused { url: paused.request.url.chars().take(200).collect(), refusal };
        let url = Url::parse(&paused.request.url).map_err(|_| refused(Refusal::NoHost))?;
        if self.is_document(paused) {
            return self.decide_document(paused, &url);
        }
        match paused.resource_type.as_str() {
            // Frames only of the task's hosts; images, media and fonts are never loaded.
            "Document" => self.guard.check_url(&url).map_err(refused)?,
            "Image" | "Media" | "Font" | "Ping" | "CSPViolationReport" | "Manifest" | "Prefetch" => {
                return Err(refused(Refusal::NoHost));
            }
            // The favicon.
            "Other" if paused.request.accept().starts_with("image/") => return Err(refused(Refusal::NoHost)),
            _ => self.guard.check_subresource(&url).map_err(refused)?,
        }
        self.check_secrets(paused, &url).inspect_err(|_| {
            self.note(format!("blocked: the page tried to send a secret to {}", url.origin().ascii_serialization()));
        })?;
        Ok(as_it_is)
    }

    /// By value: what a page sends is its own.
    fn check_secrets(&self, paused: &PausedRequest, url: &Url) -> Result<(), SessionError> {
        let InterceptedRequest { url: address, headers, post_data, .. } = &paused.request;
        let headers = headers.values().map(String::as_bytes);
        self.secrets.check_bytes(headers.chain([address.as_bytes(), post_data.as_bytes()]), url)
    }

    fn decide_document(&mut self, paused: &PausedRequest, url: &Url) -> Result<Value, SessionError> {
        self.guard.check_url(url).map_err(|refusal| SessionError::Refused { url: display_url(url), refusal })?;
        self.check_secrets(paused, url)?;
        self.documents += 1;
        if self.documents > MAX_HOPS + 1 {
            return Err(SessionError::TooManyHops(display_url(url)));
        }
        if self.documents > self.max_documents {
            return Err(SessionError::TooManyRequests(self.max_requests));
        }
        let post = paused.request.method == "POST";
        let before = self.document_request.take();
        let (Some(request), true) = (before, paused.redirected_request_id.is_some()) else {
            let ordered = self.pending_request.take_if(|ordered| is_same_url(&ordered.url, url));
            let change = ordered.as_ref().map(|ordered| continue_as_request(ordered, paused));
            // Otherwise it comes from a form or link of the page. It is remembered in case it is redirected.
            let body = RequestBody { content_type: String::new(), bytes: Vec::new() };
            let own = || PageRequest { post, body: post.then_some(body), ..PageRequest::get(url.clone()) };
            self.document_request = Some(ordered.unwrap_or_else(own));
            return Ok(change.unwrap_or_else(|| json!({ "requestId": paused.request_id })));
        };
        let status = if post { 307 } else { 302 };
        let next = redirect::follow(&request, status, url.as_str(), |url| self.jar.header(url).is_some())
            .map_err(|error| SessionError::Redirect { from: display_url(&request.url), error })?;
        self.secrets.check_request(&next)?;
        let change = continue_as_redirect(&request, &next, paused);
        self.document_request = Some(next);
        Ok(change)
    }

    /// Answers an authentication challenge of our own proxy, or of a site that the script has a password for. A second
    /// challenge for the same request is cancelled.
    pub fn on_auth_required(&mut self, session: Option<String>, params: &Value) -> DevToolsCommand {
        let id = params["requestId"].as_str().unwrap_or_default().to_owned();
        let challenge = |key: &str| params["authChallenge"][key].as_str().unwrap_or_default().to_owned();
        let who = format!("{} {}", challenge("source"), challenge("origin"));
        let known = self.passwords.get(&who).filter(|_| self.tried_passwords.insert(format!("{id} {who}")));
        let answer = match known {
            Some((user, password)) => {
                json!({ "response": "ProvideCredentials", "username": user, "password": password })
            }
            None => json!({ "response": "CancelAuth" }),
        };
        DevToolsCommand {
            session,
            method: "Fetch.continueWithAuth",
            params: json!({ "requestId": id, "authChallengeResponse": answer }),
        }
    }
}

/// Whether the URLs are equal except for the fragment, which is not sent.
fn is_same_url(a: &Url, b: &Url) -> bool {
    let plain = |url: &Url| {
        let mut url = url.clone();
        url.set_fragment(None);
        url
    };
    plain(a) == plain(b)
}

/// Continues a navigation with the walk's method, headers and body.
fn continue_as_request(request: &PageRequest, paused: &PausedRequest) -> Value {
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

/// Continues a redirect, without the script's headers if it leads to another site.
fn continue_as_redirect(before: &PageRequest, next: &PageRequest, paused: &PausedRequest) -> Value {
    let mut change = json!({ "requestId": paused.request_id });
    if !before.headers.is_empty() {
        change["headers"] = headers(paused, &before.headers, &next.headers);
    }
    change
}

/// Chromium's headers without those of `without` and with those of `with`.
fn headers(paused: &PausedRequest, without: &[(String, String)], with: &[(String, String)]) -> Value {
    let is_in = |name: &str, list: &[(String, String)]| list.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
    let own = paused.request.headers.iter().filter(|(name, _)| !is_in(name, without) && !is_in(name, with));
    let pairs = own.chain(with.iter().map(|(name, value)| (name, value)));
    pairs.map(|(name, value)| json!({ "name": name, "value": value })).collect()
}
