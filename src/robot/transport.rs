//! Sends one request and receives its response, under the timeouts, the deadline and the size limit of a run. Knows no
//! retries, no redirects and no cache.

use std::future::Future;
use std::time::Instant;

use chrono::Utc;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use url::Url;

use super::client::Client;
use super::connection_error::connection_error;
use super::cookies::CookieJar;
use super::error::SessionError;
use super::manners::{RequestTimeouts, http_cache};
use super::proxy::basic_auth_header;
use super::request::{Credentials, PageRequest, RequestPurpose};
use crate::model::address::{display_url, origin, without_password};
use crate::model::{CachedPage, Page, PageMeta, RobotsTxt};

pub const USER_AGENT: &str = concat!("pieme/", env!("CARGO_PKG_VERSION"));
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const ACCEPT_LANGUAGE: &str = "en,*;q=0.5";
/// How much of a page with an error status is kept for diagnostics. A larger one is truncated, and is no error.
const MAX_ERROR_BYTES: u64 = 1 << 20;

pub struct Transport {
    pub client: Client,
    pub user_agent: HeaderValue,
    pub timeouts: RequestTimeouts,
    pub deadline: Instant,
    pub max_page_bytes: u64,
}

impl Transport {
    /// The headers of a request, without those of authentication and of the cache.
    pub fn headers(
        &self,
        request: &PageRequest,
        purpose: RequestPurpose,
        jar: &CookieJar,
    ) -> Result<HeaderMap, SessionError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
        headers.insert(header::USER_AGENT, self.user_agent.clone());
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(ACCEPT_LANGUAGE));
        if purpose == RequestPurpose::Robots {
            return Ok(headers);
        }
        if let Some(cookies) = jar.header(&request.url)
            && let Ok(value) = HeaderValue::from_str(&cookies)
        {
            headers.insert(header::COOKIE, value);
        }
        if let Some(referrer) = request.referrer.as_ref().filter(|it| origin(it) == origin(&request.url)) {
            if let Ok(value) = HeaderValue::from_str(&display_url(referrer)) {
                headers.insert(header::REFERER, value);
            }
            if request.post
                && let Ok(value) = HeaderValue::from_str(&referrer.origin().ascii_serialization())
            {
                headers.insert(header::ORIGIN, value);
            }
        }
        for (name, value) in &request.headers {
            let bad = || SessionError::Header(name.clone());
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Sends a request and receives the head of the response. A `known` page is asked for only if it has changed.
    pub async fn exchange(
        &self,
        request: &PageRequest,
        headers: HeaderMap,
        known: Option<&CachedPage>,
        credentials: Option<&Credentials>,
    ) -> Result<Response, SessionError> {
        let method = if request.post { Method::POST } else { Method::GET };
        let mut wanted = reqwest::Request::new(method, without_password(&request.url));
        *wanted.headers_mut() = headers;
        if let Some(body) = &request.body {
            let kind = HeaderValue::from_str(&body.content_type);
            let kind = kind.map_err(|_| SessionError::Header(header::CONTENT_TYPE.to_string()))?;
            wanted.headers_mut().insert(header::CONTENT_TYPE, kind);
            *wanted.body_mut() = Some(body.bytes.clone().into());
        }
        if let Some((user, password)) = credentials {
            wanted.headers_mut().insert(header::AUTHORIZATION, basic_auth_header(user, password));
        }
        for (name, value) in known.map(http_cache::conditional_headers).unwrap_or_default() {
            if let Ok(value) = HeaderValue::from_str(&value) {
                wanted.headers_mut().insert(name, value);
            }
        }
        let sent = tokio::time::timeout(self.timeouts.first_byte, self.client.send(wanted));
        match self.before_deadline(sent, &request.url).await? {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(connection_error(&request.url, &*error, self.timeouts.connect)),
            Err(_) => Err(SessionError::NoAnswer { url: display_url(&request.url), waited: self.timeouts.first_byte }),
        }
    }

    /// Reads the body and limits its size after decompression: a gzip bomb is small on the wire.
    pub async fn read_body(
        &self,
        request: &PageRequest,
        mut response: Response,
        started: Instant,
        purpose: RequestPurpose,
    ) -> Result<Page, SessionError> {
        let status = response.status().as_u16();
        let headers = storable_headers(response.headers());
        let too_large = || SessionError::TooLarge { url: display_url(&request.url), max: self.max_page_bytes };
        let (may_be_cut, most) = match purpose {
            RequestPurpose::Robots => (true, RobotsTxt::MAX_BYTES as u64),
            RequestPurpose::Page if status >= 400 => (true, MAX_ERROR_BYTES.min(self.max_page_bytes)),
            RequestPurpose::Page => (false, self.max_page_bytes),
        };
        if !may_be_cut && response.content_length().is_some_and(|length| length > most) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        loop {
            let chunk = self.before_deadline(response.chunk(), &request.url).await?;
            let Some(chunk) = chunk.map_err(|error| connection_error(&request.url, &error, self.timeouts.connect))?
            else {
                break;
            };
            if (body.len() + chunk.len()) as u64 > most {
                if may_be_cut {
                    body.extend_from_slice(&chunk[..chunk.len().min(most as usize - body.len())]);
                    break;
                }
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let url = without_password(&request.url);
        Ok(Page { meta: PageMeta { url, status, headers, fetched_at: Utc::now(), elapsed_ms, saved_as: None }, body })
    }

    /// Awaits `work`, or fails at the run's deadline.
    pub async fn before_deadline<T>(&self, work: impl Future<Output = T>, url: &Url) -> Result<T, SessionError> {
        tokio::time::timeout_at(self.deadline.into(), work).await.map_err(|_| SessionError::Deadline(display_url(url)))
    }
}

/// Where a redirect leads, as written.
pub fn redirect_target(response: &Response) -> Option<String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?;
    // Many servers send raw UTF-8 here; the URL parser escapes it as browsers do.
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

/// The headers without `Set-Cookie`: a session cookie is worth as much as a password and is not stored with a page.
fn storable_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, _)| *name != header::SET_COOKIE)
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}
