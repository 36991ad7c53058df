//! DevTools calls: sends commands, waits for their answers, and handles events meanwhile.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use url::Url;

use super::pipe::{DevToolsCommand, DevToolsMessage, Pipe};
use super::proxy::EgressProxy;
use super::traffic::{SettleState, Traffic};
use crate::model::ConnectError;
use crate::model::address::display_url;
use crate::robot::error::{ConnectionLoss, SessionError};
use crate::robot::manners::CONNECT_TIMEOUT;
use crate::robot::redirect::MAX_HOPS;

/// Our functions on the page; they run in an isolated world, out of reach of the page's scripts.
const SCRIPT: &str = include_str!("page.js");

/// A page answers at once, unless its scripts keep it busy.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// The DevTools protocol with one Chromium: its page, and what the page does.
pub struct DevTools {
    pipe: Pipe,
    proxy: EgressProxy,
    pub traffic: Traffic,
    /// The DevTools session of our page.
    pub(super) page_session: String,
    pub(super) user_agent: String,
    deadline: Instant,
    /// Set when the page has crashed.
    pub(super) page_crash: Option<SessionError>,
}

impl DevTools {
    pub fn new(pipe: Pipe, proxy: EgressProxy, traffic: Traffic, deadline: Instant) -> DevTools {
        let (page_session, user_agent) = (String::new(), String::new());
        DevTools { pipe, proxy, traffic, page_session, user_agent, deadline, page_crash: None }
    }

    /// Waits until the page has settled.
    pub async fn settle(&mut self) -> Result<(), SessionError> {
        loop {
            match self.traffic.settle_state(Instant::now()) {
                SettleState::Settled => return Ok(()),
                SettleState::Failed(SessionError::Connection { reason, .. }) => {
                    let url = self.traffic.document().map(|document| document.url.clone());
                    return Err(url.map_or(SessionError::BrowserGone(self.traffic.url()), |url| {
                        self.connect_error(&url, &reason)
                    }));
                }
                SettleState::Failed(trouble) => return Err(trouble),
                SettleState::Probe => drop(self.evaluate(json!({ "do": "shows" })).await?),
                SettleState::Until(time) => drop(self.handle_next_until(time).await?),
            }
        }
    }

    /// Handles messages until the given time.
    pub async fn handle_messages_until(&mut self, until: Instant) -> Result<(), SessionError> {
        while self.handle_next_until(until).await? {}
        Ok(())
    }

    /// Handles the next message; false if none came until the given time.
    pub async fn handle_next_until(&mut self, time: Instant) -> Result<bool, SessionError> {
        match tokio::time::timeout_at(time.min(self.deadline).into(), self.pipe.next()).await {
            Ok(Some(said)) => {
                self.handle_message(said).await?;
                Ok(true)
            }
            Ok(None) => Err(SessionError::BrowserGone(self.traffic.url())),
            Err(_) if Instant::now() >= self.deadline => Err(SessionError::Deadline(self.traffic.url())),
            Err(_) => Ok(false),
        }
    }

    /// Sends a command to our page and waits for the answer.
    pub async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, SessionError> {
        self.call_within(method, params, ANSWER_TIMEOUT).await
    }

    /// As [`DevTools::call`], with another timeout.
    pub async fn call_within(
        &mut self,
        method: &'static str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, SessionError> {
        self.call_in(Some(self.page_session.clone()), method, params, patience).await
    }

    pub async fn call_in(
        &mut self,
        session: Option<String>,
        method: &'static str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, SessionError> {
        let gone = SessionError::BrowserGone(self.traffic.url());
        let Some(id) = self.pipe.send(DevToolsCommand { session, method, params }).await else { return Err(gone) };
        let until = Instant::now() + patience;
        loop {
            let said = match tokio::time::timeout_at(until.min(self.deadline).into(), self.pipe.next()).await {
                Ok(Some(said)) => said,
                Ok(None) => return Err(gone),
                Err(_) if Instant::now() >= self.deadline => return Err(SessionError::Deadline(self.traffic.url())),
                Err(_) => return Err(SessionError::PageBusy { url: self.traffic.url(), waited: patience }),
            };
            if said.id == Some(id) {
                let url = self.traffic.url();
                return match said.error {
                    Some(complaint) => Err(SessionError::Script { url, reason: complaint.message }),
                    None => Ok(said.result),
                };
            }
            self.handle_message(said).await?;
        }
    }

    /// Runs a function of `page.js` on the page.
    pub async fn evaluate(&mut self, order: Value) -> Result<Value, SessionError> {
        let world = json!({ "frameId": self.traffic.main_frame, "worldName": "pieme" });
        let context = self.call("Page.createIsolatedWorld", world).await?["executionContextId"].clone();
        let expression = format!("({})({order})", SCRIPT.trim_start_matches(|c| c != '('));
        let params = json!({ "expression": expression, "contextId": context, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", params).await?;
        match answer["exceptionDetails"]["exception"]["description"].as_str() {
            Some(reason) => {
                let reason = reason.lines().next().unwrap_or_default().to_owned();
                Err(SessionError::Script { url: self.traffic.url(), reason })
            }
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Sends a command to our page without waiting for the answer.
    pub async fn send_to_page(&mut self, method: &'static str, params: Value) {
        self.send_command(Some(self.page_session.clone()), method, params).await;
    }

    /// Sends a command without waiting for the answer. If Chromium is gone, the next call that waits reports it.
    pub async fn send_command(&mut self, session: Option<String>, method: &'static str, params: Value) {
        self.pipe.send(DevToolsCommand { session, method, params }).await;
    }

    async fn handle_message(&mut self, said: DevToolsMessage) -> Result<(), SessionError> {
        let Some(method) = said.method else { return Ok(()) };
        match method.as_str() {
            "Fetch.requestPaused" => {
                if let Some(order) = self.traffic.on_request_paused(said.session, said.params) {
                    self.pipe.send(order).await;
                }
            }
            "Fetch.authRequired" => {
                let order = self.traffic.on_auth_required(said.session, &said.params);
                self.pipe.send(order).await;
            }
            _ if method.starts_with("Target.") || method.starts_with("Inspector.") => {
                self.on_target_event(&method, &said.params, said.session).await;
            }
            "Page.javascriptDialogOpening" => {
                // “Leave this page?” (beforeunload) is accepted, every other dialog is dismissed.
                let accept = said.params["type"] == "beforeunload";
                self.send_command(said.session, "Page.handleJavaScriptDialog", json!({ "accept": accept })).await;
            }
            _ if said.session.as_ref() == Some(&self.page_session) || method.starts_with("Browser.") => {
                self.traffic.on_page_event(&method, &said.params);
            }
            _ => self.traffic.on_subframe_event(&method, &said.params),
        }
        self.page_crash.take().map_or(Ok(()), Err)
    }

    /// Why a URL could not be reached, from the proxy's own error if it has one.
    pub fn connect_error(&self, url: &Url, text: &str) -> SessionError {
        navigation_error(
            url,
            text,
            url.host_str().and_then(|host| self.proxy.failure_for(host.trim_matches(['[', ']']))),
        )
    }
}

/// Converts Chromium's network error to the error that the http engine would report. `missed` is the proxy's error.
fn navigation_error(url: &Url, text: &str, missed: Option<ConnectError>) -> SessionError {
    let url = display_url(url);
    let reason = text.trim_start_matches("net::").to_owned();
    match missed {
        Some(ConnectError::Refused(refusal)) => return SessionError::Refused { url, refusal },
        Some(ConnectError::Name(reason)) => return SessionError::UnknownHost { url, reason },
        Some(ConnectError::Shortage(reason)) => return SessionError::ResourceShortage { url, reason },
        Some(ConnectError::TooLong) => return SessionError::NoConnection { url, waited: CONNECT_TIMEOUT },
        Some(ConnectError::Connection(reason) | ConnectError::Declined(reason)) => {
            return SessionError::Connection { url, reason, loss: ConnectionLoss::AfterSend };
        }
        None => {}
    }
    if reason.starts_with("ERR_CERT") || reason.starts_with("ERR_SSL") || reason.contains("_TLS_") {
        return SessionError::Tls { url, reason };
    }
    match reason.as_str() {
        "ERR_TOO_MANY_REDIRECTS" => SessionError::TooManyHops(format!("{url} (more than {MAX_HOPS})")),
        _ => SessionError::Connection { url, reason, loss: ConnectionLoss::AfterSend },
    }
}
