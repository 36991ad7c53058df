//! HTTP cache with conditional requests (`ETag`, `Last-Modified`): a page that the server calls unchanged (304) is
//! taken from the cache.
//!
//! The cache key covers the whole request: cookies, credentials and headers must be identical. So no session ever sees
//! another's page, whatever the server says in `Vary`. Never cached: responses to forms, responses with `no-store` or
//! `Vary: *`, and pages that contain one of the task's secrets.

use std::hash::{Hash, Hasher};
use std::time::Instant;

use chrono::{TimeDelta, Utc};
use reqwest::header::{HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH};
use siphasher::sip::SipHasher13;
use url::Url;

use crate::model::{CachedPage, Page, PageMeta};
use crate::robot::error::SessionError;
use crate::robot::session::{PageRequest, RequestOutcome, RequestPurpose, Session, display_url};

/// A server with wrong validators would freeze the table for ever, so an older page is fetched in full.
const MAX_AGE: TimeDelta = TimeDelta::days(7);

impl Session {
    /// The cache entry for this request.
    pub(in crate::robot) fn cached_page(
        &self,
        request: &PageRequest,
        headers: &HeaderMap,
        purpose: RequestPurpose,
    ) -> Option<CachedPage> {
        if purpose != RequestPurpose::Page || request.post || request.body.is_some() {
            return None;
        }
        let kept = self.run_host.cached_page(&cache_url(&request.url)?)?;
        let fits = kept.request_digest == self.cache_key(request, headers) && Utc::now() - kept.fetched_at < MAX_AGE;
        fits.then(|| kept.clone())
    }

    /// The cached page, after a 304.
    pub(in crate::robot) async fn reuse_cached_page(
        &mut self,
        request: &PageRequest,
        known: CachedPage,
        started: Instant,
    ) -> Result<RequestOutcome, SessionError> {
        let (most, deadline) = (self.limits.max_page_bytes, self.deadline);
        let body = tokio::time::timeout_at(deadline.into(), self.run_host.cached_body(&known.url, most)).await;
        let Some(body) = body.map_err(|_| SessionError::Deadline(display_url(&request.url)))? else {
            self.note(format!("GET {} → 304, but the cached page is gone", display_url(&request.url)));
            self.run_host.evict_page(&known.url);
            return Ok(RequestOutcome::CacheMiss);
        };
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.note(format!("GET {} → 304, unchanged, {elapsed_ms} ms", display_url(&request.url)));
        let meta = PageMeta {
            url: request.url.clone(),
            status: 200,
            headers: known.headers,
            fetched_at: Utc::now(),
            elapsed_ms,
            saved_as: None,
        };
        Ok(RequestOutcome::Page(Page { meta, body }))
    }

    /// Caches a page if that is allowed.
    pub(in crate::robot) fn cache_page(
        &mut self,
        request: &PageRequest,
        headers: &HeaderMap,
        page: &Page,
        purpose: RequestPurpose,
    ) {
        let meta = &page.meta;
        if !is_cacheable(meta) {
            return;
        }
        let Some(url) = cache_url(&request.url) else { return };
        let has_secret = || {
            self.redactor.text_has_secret(url.as_str())
                || meta.headers.iter().any(|(_, value)| self.redactor.text_has_secret(value))
                || self.redactor.bytes_have_secret(&page.body)
        };
        if purpose != RequestPurpose::Page || request.post || request.body.is_some() || has_secret() {
            return;
        }
        let kept = CachedPage {
            etag: meta.header("etag").map(str::to_owned),
            last_modified: meta.header("last-modified").map(str::to_owned),
            request_digest: self.cache_key(request, headers),
            headers: meta.headers.clone(),
            fetched_at: meta.fetched_at,
            url,
        };
        if serde_json::to_string(&kept).is_ok_and(|json| json.len() <= CachedPage::MAX_JSON_BYTES) {
            self.run_host.cache_page(kept, &page.body);
        }
    }

    fn cache_key(&self, request: &PageRequest, headers: &HeaderMap) -> u64 {
        let mut hasher = SipHasher13::new();
        let mut sent: Vec<(&str, &[u8])> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        sent.retain(|(name, _)| *name != "referer");
        sent.sort_unstable();
        sent.hash(&mut hasher);
        self.credentials_for(&request.url).hash(&mut hasher);
        hasher.finish()
    }
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

    #[test]
    fn only_what_can_be_asked_for_again_is_kept() {
        let meta = |status, headers: &[(&str, &str)]| PageMeta {
            url: "https://shop.test/".parse().expect("a URL of the test"),
            status,
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            fetched_at: Utc::now(),
            elapsed_ms: 0,
            saved_as: None,
        };
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
            assert_eq!(is_cacheable(&meta(status, headers)), kept, "{status} {headers:?}");
        }
    }
}
