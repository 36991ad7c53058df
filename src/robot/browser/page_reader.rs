//! Reads the browser's page as a [`Page`]: URL, status and headers of its document, and its DOM as HTML.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use serde_json::json;
use url::Url;

use super::Browser;
use super::traffic::Document;
use crate::model::address::display_url;
use crate::model::{Page, PageMeta};
use crate::robot::error::SessionError;

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
            match self.devtools.evaluate(json!({ "do": "read", "most": most })).await {
                Err(SessionError::Script { .. }) if tries < TRIES => self.devtools.settle().await?,
                other => break other?,
            }
        };
        let Some(document) = self.devtools.traffic.document().cloned() else {
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
        let answer = self.devtools.call("Network.getResponseBody", json!({ "requestId": document.id })).await?;
        let text = answer["body"].as_str().unwrap_or_default();
        let body = if answer["base64Encoded"] == true {
            STANDARD.decode(text).unwrap_or_default()
        } else {
            text.as_bytes().to_vec()
        };
        Ok(Page { meta: page_meta(document, url), body })
    }

    /// A document without content: its status alone is a page.
    pub(super) fn page_without_content(&mut self, url: &Url, text: &str) -> Result<Page, SessionError> {
        if let Some(trouble) = self.devtools.traffic.take_error_if(|it| !matches!(it, SessionError::Connection { .. }))
        {
            return Err(trouble);
        }
        match self.devtools.traffic.document().cloned() {
            Some(document) if document.status >= 204 && document.url == *url => {
                let page = Page { meta: page_meta(&document, url.clone()), body: Vec::new() };
                self.read_at = Some(page.meta.fetched_at);
                Ok(page)
            }
            // The response began, but the browser cannot show it.
            Some(document) if document.status == 200 && text.ends_with("ERR_ABORTED") => {
                Err(SessionError::Download(display_url(&document.url)))
            }
            Some(document) => Err(self.devtools.connect_error(&document.url, text)),
            None => Err(self.devtools.connect_error(url, text)),
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
