//! A page: the response to one request, and what a run keeps of it for conditional requests of the next one.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use url::Url;

/// A fetched page. The bytes are as received, after content decoding; nothing has been parsed yet.
#[derive(Clone, Debug)]
pub struct Page {
    pub meta: PageMeta,
    pub body: Vec<u8>,
}

/// Everything about a page but its bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageMeta {
    /// The final address, after redirects.
    pub url: Url,
    pub status: u16,
    /// Header names in lower case, in the order received.
    pub headers: Vec<(String, String)>,
    pub fetched_at: DateTime<Utc>,
    pub elapsed_ms: u64,
    /// The name given by a script's `save`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_as: Option<String>,
}

impl PageMeta {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// A cached page with the validators for a conditional request. Its bytes are stored beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CachedPage {
    pub url: Url,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// A digest of everything sent with the request that could have changed the response: cookies, login, headers.
    #[serde(rename = "asked_as")]
    pub request_digest: u64,
    /// Header names in lower case, as in [`PageMeta`].
    pub headers: Vec<(String, String)>,
    /// When it was last fetched completely.
    pub fetched_at: DateTime<Utc>,
}

/// robots.txt of an origin; an empty text allows everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsTxt {
    /// Scheme, host and port: `https://example.org`.
    pub origin: String,
    pub text: String,
    pub fetched_at: DateTime<Utc>,
}

impl CachedPage {
    /// Maximum size of a body, compressed: a page of 20 MB, the default limit, has about this.
    pub const MAX_BODY_BYTES: usize = 2 << 20;
    /// Maximum size of everything else as JSON: address, validators and headers.
    pub const MAX_JSON_BYTES: usize = 16 << 10;
}

impl RobotsTxt {
    /// Content after this many bytes is not read, as RFC 9309 allows.
    pub const MAX_BYTES: usize = 500 << 10;
}
