//! HTTP cache with conditional requests (`ETag`, `Last-Modified`): a page that the server calls unchanged (304) is
//! taken from the cache.
//!
//! The cache key covers the whole request: cookies, credentials and headers must be identical. So no session ever sees
//! another's page, whatever the server says in `Vary`. Never cached: responses to forms, responses with `no-store` or
//! `Vary: *`, and pages that contain one of the task's secrets.

use std::hash::{Hash, Hasher};

use chrono::{TimeDelta, Utc};
use reqwest::header::{HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH};
use siphasher::sip::SipHasher13;
use url::Url;

use crate::model::{CachedPage, Page, PageMeta};
use crate::robot::redact::Redactor;
use crate::robot::request::{Credentials, PageRequest, RequestPurpose};
use crate::robot::run_host::RunHost;

/// A server with wrong validators would freeze the table for ever, so an older page is fetched in full.
const MAX_AGE: TimeDelta = TimeDelta::days(7);

/// Whether requests of this kind are cached at all.
fn may_cache(request: &PageRequest, purpose: RequestPurpose) -> bool {
    purpose == RequestPurpose::Page && !request.post && request.body.is_none()
}

/// The cache entry for this request.
pub fn lookup(
    run_host: &dyn RunHost,
    request: &PageRequest,
    purpose: RequestPurpose,
    headers: &HeaderMap,
    credentials: Option<&Credentials>,
) -> Option<CachedPage> {
    if !may_cache(request, purpose) {
        return None;
    }
    let kept = run_host.cached_page(&cache_url(&request.url)?)?;
    let fits = kept.request_digest == cache_key(headers, credentials) && Utc::now() - kept.fetched_at < MAX_AGE;
    fits.then(|| kept.clone())
}

/// The cached page, which the server calls unchanged.
pub fn unchanged_page(request: &PageRequest, known: CachedPage, body: Vec<u8>, elapsed_ms: u64) -> Page {
    let meta = PageMeta {
        url: request.url.clone(),
        status: 200,
        headers: known.headers,
        fetched_at: Utc::now(),
        elapsed_ms,
        saved_as: None,
    };
    Page { meta, body }
}

/// The cache entry of a page; `None` if it must not be cached.
pub fn entry(
    request: &PageRequest,
    purpose: RequestPurpose,
    headers: &HeaderMap,
    credentials: Option<&Credentials>,
    page: &Page,
    secrets: &Redactor,
) -> Option<CachedPage> {
    let meta = &page.meta;
    if !is_cacheable(meta) || !may_cache(request, purpose) {
        return None;
    }
    let url = cache_url(&request.url)?;
    let has_secret = secrets.text_has_secret(url.as_str())
        || meta.headers.iter().any(|(_, value)| secrets.text_has_secret(value))
        || secrets.bytes_have_secret(&page.body);
    let kept = CachedPage {
        etag: meta.header("etag").map(str::to_owned),
        last_modified: meta.header("last-modified").map(str::to_owned),
        request_digest: cache_key(headers, credentials),
        headers: meta.headers.clone(),
        fetched_at: meta.fetched_at,
        url,
    };
    let is_small = || serde_json::to_string(&kept).is_ok_and(|json| json.len() <= CachedPage::MAX_JSON_BYTES);
    (!has_secret && is_small()).then_some(kept)
}

fn cache_key(headers: &HeaderMap, credentials: Option<&Credentials>) -> u64 {
    let mut hasher = SipHasher13::new();
    let mut sent: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    sent.retain(|(name, _)| *name != "referer");
    sent.sort_unstable();
    sent.hash(&mut hasher);
    credentials.hash(&mut hasher);
    hasher.finish()
}

/// The headers that ask for the page only if it has changed.
pub fn conditional_headers(known: &CachedPage) -> Vec<(HeaderName, String)> {
    let pair = |name: HeaderName, value: &Option<String>| value.clone().map(|value| (name, value));
    [pair(IF_NONE_MATCH, &known.etag), pair(IF_MODIFIED_SINCE, &known.last_modified)].into_iter().flatten().collect()
}

fn is_cacheable(meta: &PageMeta) -> bool {
    let says = |name: &str, word: &str| {
        let all = meta.headers.iter().filter(|(key, _)| key == name);
        all.flat_map(|(_, value)| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    let has_validator = meta.header("etag").is_some() || meta.header("last-modified").is_some();
    meta.status == 200 && has_validator && !says("cache-control", "no-store") && !says("vary", "*")
}

/// The URL under which a page is cached; `None` if it contains a password.
fn cache_url(url: &Url) -> Option<Url> {
    let mut url = url.clone();
    url.set_fragment(None);
    (url.username().is_empty() && url.password().is_none()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::tests::meta;

    #[test]
    fn only_what_can_be_asked_for_again_is_kept() {
        for (status, headers, kept) in [
            (200, &[("etag", "\"1\"")][..], true),
            (200, &[("last-modified", "Mon, 16 Nov 2026 07:00:00 GMT")], true),
            (200, &[("etag", "\"1\""), ("cache-control", "private, max-age=0")], true),
            (200, &[("etag", "\"1\""), ("cache-control", "private, No-Store")], false),
            (200, &[("etag", "\"1\""), ("vary", "Accept, *")], false),
            (200, &[("content-type", "text/html")], false),
            (203, &[("etag", "\"1\"")], false),
            (404, &[("etag", "\"1\"")], false),
        ] {
            assert_eq!(is_cacheable(&meta("https://shop.test/", status, headers)), kept, "{status} {headers:?}");
        }
    }
}
