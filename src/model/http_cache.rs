//! HTTP cache entries: what a run keeps for conditional requests of the next one.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use url::Url;

/// A cached page with the validators for a conditional request. Its bytes are stored beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CachedPage {
    pub url: Url,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// A digest of everything sent with the request that could have changed the response: cookies, login, headers.
    #[serde(rename = "asked_as")]
    pub request_digest: u64,
    /// Header names in lower case, as in [`super::PageMeta`].
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
