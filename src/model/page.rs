//! A page: the response to one request.

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
