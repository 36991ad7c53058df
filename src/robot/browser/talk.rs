//! Talking with Chromium: orders and their answers, and what is heard while one waits.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Browser;
use super::pipe::{Order, Said};
use super::traffic::Wait;
use crate::robot::trouble::SessionError;

/// What is asked of a page is answered at once, unless its scripts keep it busy.
const ANSWER: Duration = Duration::from_secs(15);

impl Browser {
    /// Waits until the page has come to rest.
    pub(super) async fn settle(&mut self) -> Result<(), SessionError> {
        loop {
            match self.traffic.wait(Instant::now()) {
                Wait::No => return Ok(()),
                Wait::Trouble(SessionError::Connection { reason, .. }) => {
                    let url = self.traffic.document().map(|document| document.url.clone());
                    return Err(
                        url.map_or(SessionError::BrowserGone(self.traffic.url()), |url| self.missed(&url, &reason))
                    );
                }
                Wait::Trouble(trouble) => return Err(trouble),
                Wait::Ask => drop(self.evaluate(json!({ "do": "shows" })).await?),
                Wait::Until(time) => drop(self.hear_until(time).await?),
            }
        }
    }

    /// Hears what happens for a while.
    pub(super) async fn listen(&mut self, until: Instant) -> Result<(), SessionError> {
        while self.hear_until(until).await? {}
        Ok(())
    }

    /// Hears one thing, or nothing until then.
    pub(super) async fn hear_until(&mut self, time: Instant) -> Result<bool, SessionError> {
        match tokio::time::timeout_at(time.min(self.deadline).into(), self.pipe.next()).await {
            Ok(Some(said)) => {
                self.hear(said).await?;
                Ok(true)
            }
            Ok(None) => Err(SessionError::BrowserGone(self.traffic.url())),
            Err(_) if Instant::now() >= self.deadline => Err(SessionError::Deadline(self.traffic.url())),
            Err(_) => Ok(false),
        }
    }

    /// Orders something of our page, and waits for the answer.
    pub(super) async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, SessionError> {
        self.ask(Some(self.page.clone()), method, params, ANSWER).await
    }

    pub(super) async fn ask(
        &mut self,
        session: Option<String>,
        method: &'static str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, SessionError> {
        let gone = SessionError::BrowserGone(self.traffic.url());
        let Some(id) = self.pipe.send(Order { session, method, params }).await else { return Err(gone) };
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
            self.hear(said).await?;
        }
    }

    /// Orders something and does not wait for the answer; a browser that is gone is noticed by who waits next.
    pub(super) async fn tell(&mut self, session: Option<String>, method: &'static str, params: Value) {
        self.pipe.send(Order { session, method, params }).await;
    }

    pub(super) async fn hear(&mut self, said: Said) -> Result<(), SessionError> {
        let Some(method) = said.method else { return Ok(()) };
        match method.as_str() {
            "Fetch.requestPaused" => {
                if let Some(order) = self.traffic.paused(said.session, said.params) {
                    self.pipe.send(order).await;
                }
            }
            "Fetch.authRequired" => {
                let order = self.traffic.password(said.session, &said.params);
                self.pipe.send(order).await;
            }
            _ if method.starts_with("Target.") || method.starts_with("Inspector.") => {
                self.hear_of_target(&method, &said.params, said.session).await;
            }
            "Page.javascriptDialogOpening" => {
                // “Leave this page?” is answered with yes, all else with no.
                let accept = said.params["type"] == "beforeunload";
                self.tell(said.session, "Page.handleJavaScriptDialog", json!({ "accept": accept })).await;
            }
            _ if said.session.as_ref() == Some(&self.page) || method.starts_with("Browser.") => {
                self.traffic.happened(&method, &said.params);
            }
            _ => self.traffic.happened_inside(&method, &said.params),
        }
        self.crashed.take().map_or(Ok(()), Err)
    }
}
