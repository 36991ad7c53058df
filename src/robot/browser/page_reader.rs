//! Reads the browser's page as a [`Page`]: URL, status and headers of its document, and its DOM as HTML.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use serde_json::{Value, json};
use url::Url;

use super::Browser;
use super::traffic::Document;
use crate::model::{ConnectError, Page, PageMeta};
use crate::robot::error::{ConnectionLoss, SessionError};
use crate::robot::manners::CONNECT_TIMEOUT;
use crate::robot::redirect::MAX_HOPS;
use crate::robot::session::display_url;

/// Our functions on the page; they run in an isolated world, out of reach of the page's scripts.
const SCRIPT: &str = include_str!("page.js");
/// How often a page that navigates while it is read is read again.
const TRIES: u32 = 3;

/// The size limit of a message: in JSON, a byte of a page becomes at most six (`\u0000`).
pub fn largest_message(max_page_bytes: u64) -> u64 {
    max_page_bytes.saturating_mul(6).saturating_add(1 << 20)
}

impl Browser {
    pub(super) async fn read(&mut self) -> Result<Page, SessionError> {
        let most = self.max_page_bytes;
        let mut tries = 0;
        let shown_now = loop {
            tries += 1;
            match self.evaluate(json!({ "do": "read", "most": most })).await {
                Err(SessionError::Script { .. }) if tries < TRIES => self.settle().await?,
                other => break other?,
            }
        };
        let Some(document) = self.traffic.document().cloned() else {
            return Err(SessionError::Script {
                url: "about:blank".to_owned(),
                reason: "there is no page yet".to_owned(),
            });
        };
        let url = shown_now["url"].as_str().and_then(|it| Url::parse(it).ok()).unwrap_or_else(|| document.url.clone());
        let too_large = SessionError::TooLarge { url: display_url(&url), max: most };
        let page = match shown_now["html"].as_str() {
            Some(html) => as_html(&document, url, html),
            None if shown_now["large"] == true => return Err(too_large),
            None => self.read_raw(&document, url).await?,
        };
        if page.body.len() as u64 > most { Err(too_large) } else { Ok(page) }
    }

    /// The raw body of a document that is not HTML, usually JSON.
    async fn read_raw(&mut self, document: &Document, url: Url) -> Result<Page, SessionError> {
        let answer = self.call("Network.getResponseBody", json!({ "requestId": document.id })).await?;
        let text = answer["body"].as_str().unwrap_or_default();
        let body = if answer["base64Encoded"] == true {
            STANDARD.decode(text).unwrap_or_default()
        } else {
            text.as_bytes().to_vec()
        };
        Ok(Page { meta: page_meta(document, url), body })
    }

    /// Runs a function of `page.js` on the page.
    pub(super) async fn evaluate(&mut self, order: Value) -> Result<Value, SessionError> {
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

    /// A document without content: its status alone is a page.
    pub(super) fn page_without_content(&mut self, url: &Url, text: &str) -> Result<Page, SessionError> {
        if let Some(trouble) = self.traffic.take_error_if(|it| !matches!(it, SessionError::Connection { .. })) {
            return Err(trouble);
        }
        match self.traffic.document().cloned() {
            Some(document) if document.status >= 204 && document.url == *url => {
                let page = Page { meta: page_meta(&document, url.clone()), body: Vec::new() };
                self.read_at = Some(page.meta.fetched_at);
                Ok(page)
            }
            // The response began, but the browser cannot show it.
            Some(document) if document.status == 200 && text.ends_with("ERR_ABORTED") => {
                Err(SessionError::Download(display_url(&document.url)))
            }
            Some(document) => Err(self.connect_error(&document.url, text)),
            None => Err(self.connect_error(url, text)),
        }
    }
}

fn as_html(document: &Document, url: Url, html: &str) -> Page {
    let mut meta = page_meta(document, url);
    // The DOM is returned in UTF-8, whatever the document's charset is.
    meta.headers.retain(|(name, _)| name != "content-type");
    meta.headers.push(("content-type".to_owned(), "text/html; charset=utf-8".to_owned()));
    Page { meta, body: html.as_bytes().to_vec() }
}

fn page_meta(document: &Document, mut url: Url) -> PageMeta {
    // An error means that this kind of URL can have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let (status, headers) = (document.status, document.headers.clone());
    let elapsed_ms = u64::try_from(document.elapsed().as_millis()).unwrap_or(u64::MAX);
    PageMeta { url, status, headers, fetched_at: Utc::now(), elapsed_ms, saved_as: None }
}

/// Converts Chromium's network error to the error that the http engine would report. `missed` is the proxy's error.
pub fn navigation_error(url: &Url, text: &str, missed: Option<ConnectError>) -> SessionError {
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
