//! DevTools calls: sends commands, waits for their answers, and handles events meanwhile.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Browser;
use super::pipe::{DevToolsCommand, DevToolsMessage};
use super::traffic::SettleState;
use crate::robot::error::SessionError;

/// A page answers at once, unless its scripts keep it busy.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

impl Browser {
    /// Waits until the page has settled.
    pub(super) async fn settle(&mut self) -> Result<(), SessionError> {
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
    pub(super) async fn handle_messages_until(&mut self, until: Instant) -> Result<(), SessionError> {
        while self.handle_next_until(until).await? {}
        Ok(())
    }

    /// Handles the next message; false if none came until the given time.
    pub(super) async fn handle_next_until(&mut self, time: Instant) -> Result<bool, SessionError> {
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
    pub(super) async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, SessionError> {
        self.call_in(Some(self.page_session.clone()), method, params, ANSWER_TIMEOUT).await
    }

    pub(super) async fn call_in(
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

    /// Sends a command without waiting for the answer. If Chromium is gone, the next call that waits reports it.
    pub(super) async fn send_command(&mut self, session: Option<String>, method: &'static str, params: Value) {
        self.pipe.send(DevToolsCommand { session, method, params }).await;
    }

    pub(super) async fn handle_message(&mut self, said: DevToolsMessage) -> Result<(), SessionError> {
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
}
