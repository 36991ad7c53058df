//! What a run leaves for the next one, so that a site is not asked for the same thing twice.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use url::Url;

/// A page that its server will say is unchanged, or not. Its bytes are kept beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CachedPage {
    pub url: Url,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// A digest of all that was sent with the request and could have changed the answer: cookies, log-in, headers.
    #[serde(rename = "asked_as")]
    pub request_digest: u64,
    /// Header names in lower case, as in [`super::PageMeta`].
    pub headers: Vec<(String, String)>,
    /// When it was last fetched in full.
    pub fetched_at: DateTime<Utc>,
}

/// What an origin says about robots; an empty text allows everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsTxt {
    /// Scheme, host and port: `https://example.org`.
    pub origin: String,
    pub text: String,
    pub fetched_at: DateTime<Utc>,
}

impl CachedPage {
    /// Of a body, compressed: a page of 20 MB, the default limit, has about this.
    pub const MAX_BODY_BYTES: usize = 2 << 20;
    /// Of all else as JSON: address, validators and headers.
    pub const MAX_JSON_BYTES: usize = 16 << 10;
}

impl RobotsTxt {
    /// What comes after these is not read, as RFC 9309 allows.
    pub const MAX_BYTES: usize = 500 << 10;
}
