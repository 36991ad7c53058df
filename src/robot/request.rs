//! A request and what can come of it.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use url::Url;

use crate::model::Page;
use crate::page::form::BrowserInput;

/// Names of secrets that went into a text or a request.
pub type SecretNames = BTreeSet<String>;

/// One request, before cookies and the session's own headers.
#[derive(Clone, Debug)]
pub struct PageRequest {
    pub post: bool,
    pub url: Url,
    /// Headers from the script; they are never sent to another origin.
    pub headers: Vec<(String, String)>,
    pub body: Option<RequestBody>,
    /// The secrets in URL, headers and body, also in disguise: as a variable, or as a one-time code.
    pub secrets: SecretNames,
    /// The page that the request comes from.
    pub referrer: Option<Url>,
    /// With the browser engine: the input into the page's form that makes this request.
    pub browser_input: Option<BrowserInput>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBody {
    pub content_type: String,
    pub bytes: Vec<u8>,
}

impl PageRequest {
    pub fn get(url: Url) -> PageRequest {
        PageRequest {
            post: false,
            url,
            headers: Vec::new(),
            body: None,
            secrets: SecretNames::new(),
            referrer: None,
            browser_input: None,
        }
    }

    pub fn method(&self) -> &'static str {
        if self.post { "POST" } else { "GET" }
    }
}

/// User and password of HTTP basic authentication.
pub type Credentials = (String, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPurpose {
    Page,
    /// A robots.txt: sent without cookies, credentials and headers of the script, and its cookies are not stored.
    Robots,
}

pub enum RequestOutcome {
    Page(Page),
    Redirect {
        status: u16,
        location: String,
    },
    /// The server answered 304, but the cached page is gone.
    CacheMiss,
}

/// A line of the trace with its time.
#[derive(Clone, Debug)]
pub struct LogLine {
    pub at: DateTime<Utc>,
    pub text: String,
}

impl LogLine {
    pub fn now(text: impl Into<String>) -> LogLine {
        LogLine { at: Utc::now(), text: text.into() }
    }
}
