//! Steps that send requests to a site.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Condition;

/// `get = "URL"`, or a table; `post` likewise. The URL may be relative to the current page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct RequestStep {
    pub url: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Only for `post`: fields, sent as a form.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub form: BTreeMap<String, String>,
    /// Only for `post`: a JSON document instead of fields. Its texts may contain variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<serde_json::Value>,
}

/// Fills and sends a form of the current page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmitStep {
    /// `"login"`, `"search"`, the form's name or id, or a CSS selector.
    pub form: String,
    /// The values that a person would type or choose; all other fields are sent as the page has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
    /// Name, id or text of the button to press; absent: the first one, as a browser does on Enter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<String>,
}

/// Logs in, unless the kept session is still logged in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginStep {
    /// The page with the form; absent: the current page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub user: String,
    pub password: String,
    /// Which form, as in `submit`; absent: it is found automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// Other fields to fill in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
    /// The TOTP secret in base32, as the site showed it beside its QR code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totp: Option<String>,
    /// HTTP basic authentication instead of a form.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub basic: bool,
    /// Condition of a page that shows that the session is logged out; absent: the page has a login form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged_out_if: Option<Condition>,
}

/// Follows the first link of the current page that meets all conditions. `click` uses the same keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSelector {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub css: Option<String>,
    /// Part of the link's text, case-insensitive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rel: Option<String>,
}

/// Extracts from the current page and the pages after it. Without keys the next link is found automatically.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PaginateStep {
    /// How to find the next link, post-back or button.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<LinkSelector>,
    /// A query parameter that counts pages (`page`) or rows (`start`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The address of the pages after this one, with `${page}` or `${cursor}` in it: load-more and JSON endpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The value of `param` or `${page}` on the page after this one; absent: one step on from the current value, or 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The increment from page to page; absent: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Path in a JSON response to the next page, as in `meta.next_cursor`; the value becomes `${cursor}`, or is the
    /// address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Path in a JSON response to HTML with the rows, as in `data.html`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// The last page may have no rows although the page before leads to it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ends_empty: bool,
    /// Scroll down until no new rows appear (browser engine).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scroll: bool,
    /// At most the task's `limits.max_pages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<u32>,
}

/// Follows one link of each record extracted so far, and adds the columns of the detail page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DetailsStep {
    /// The column with the link; absent: the one whose addresses differ from row to row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Maximum number of detail pages; the other records stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

/// Scrolls to the end of the page (browser engine).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScrollStep {
    pub times: u32,
}

impl Default for ScrollStep {
    fn default() -> ScrollStep {
        ScrollStep { times: 1 }
    }
}

impl RequestStep {
    /// A request with only a URL.
    pub fn url(url: impl Into<String>) -> RequestStep {
        RequestStep { url: url.into(), ..RequestStep::default() }
    }
}

// The derived functions are those of the table; a text alone is its `url`.
impl Serialize for RequestStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RequestStep::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for RequestStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RequestStep, D::Error> {
        struct ShortOrLong;
        impl<'de> de::Visitor<'de> for ShortOrLong {
            type Value = RequestStep;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a URL, or a table with `url`")
            }

            fn visit_str<E: de::Error>(self, url: &str) -> Result<RequestStep, E> {
                Ok(RequestStep::url(url))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RequestStep, A::Error> {
                RequestStep::deserialize(de::value::MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(ShortOrLong)
    }
}
