//! The gate before every page: asked for by our name, from our own pages, with a token, by somebody who has logged in. It stands
//! before the router's table, so that no page can forget it.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::Method;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use url::{Url, form_urlencoded};

use crate::config::Config;
use crate::daemon::http::is_loopback_host;

use super::error;
use super::error::WebError;
use super::route::{Access, MAX_BODY_BYTES};
use super::session::{LOGIN_COOKIE, SESSION_COOKIE, cookie};
use super::{DashboardState, SharedState};

/// docs/design/safety.md 3. A page that shows a stranger's page sets a stricter one of its own.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const SECURITY_HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    // What a task found may be nobody else's business: no copy stays behind.
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Where scripts say the token that forms have in a field.
pub const CSRF_HEADER: &str = "x-pieme-token";
pub const CSRF_FIELD: &str = "token";

/// Who has come through the gate.
#[derive(Clone, Debug)]
pub struct SessionUser {
    /// What their forms carry.
    pub csrf_token: String,
}

impl FromRequestParts<SharedState> for SessionUser {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &SharedState) -> Result<SessionUser, WebError> {
        parts.extensions.get::<SessionUser>().cloned().ok_or(WebError::LogIn)
    }
}

/// What every response carries, unless it says something of its own.
pub async fn add_security_headers(request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let mut response = next.run(request).await;
    if is_api {
        response = error::as_json(response);
    }
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().entry(*name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// A page of the web whose name leads to our address gets nothing here.
pub async fn check_host(State(web): State<SharedState>, request: Request, next: Next) -> Response {
    if is_allowed_host(&web.config, request.headers()) {
        next.run(request).await
    } else {
        WebError::ForeignHost.into_response()
    }
}

/// Is it asked for by a name of loopback, or by one that config.toml lists?
pub fn is_allowed_host(config: &Config, headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    is_loopback_host(headers) || config.web.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Before each route.
pub async fn authorize(
    State((web, access)): State<(SharedState, Access)>,
    mut request: Request,
    next: Next,
) -> Response {
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if changes && !is_same_origin(request.headers()) {
        return WebError::ForeignOrigin.into_response();
    }
    let session = cookie(request.headers(), SESSION_COOKIE).filter(|id| web.sessions.is_open(&web.config, id));
    if access == Access::LoggedIn && session.is_none() {
        return redirect_to_login(&request);
    }
    // Who has not logged in yet is known by the cookie that came with the form.
    let known_by = session.clone().or_else(|| cookie(request.headers(), LOGIN_COOKIE));
    if changes {
        request = match check_csrf_token(&web, known_by.as_deref(), request).await {
            Ok(request) => request,
            Err(trouble) => return trouble.into_response(),
        };
    }
    if let Some(id) = session {
        request.extensions_mut().insert(SessionUser { csrf_token: web.csrf_key.token(&id) });
    }
    next.run(request).await
}

/// To where they wanted to go, once they have logged in.
fn redirect_to_login(request: &Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
    if *request.method() != Method::GET || path.starts_with("/api/") || path.starts_with("/events") {
        return WebError::LogIn.into_response();
    }
    let next: String = form_urlencoded::byte_serialize(path.as_bytes()).collect();
    Redirect::to(&format!("/log-in?next={next}")).into_response()
}

/// A browser names the page that a request comes from. Forms of a page without referrer name none; then it says beside it that
/// the page is ours, which no page can say of itself.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|it| it.to_str().ok());
    let (Some(origin), Some(host)) = (text(header::ORIGIN), text(header::HOST)) else { return false };
    let site = text(HeaderName::from_static("sec-fetch-site"));
    if site.is_some_and(|site| site != "same-origin") {
        return false;
    }
    if origin == "null" {
        return site.is_some();
    }
    let asked = |scheme: &str| Url::parse(&format!("{scheme}://{host}")).ok();
    let Ok(origin) = Url::parse(origin) else { return false };
    matches!(origin.scheme(), "http" | "https")
        && asked(origin.scheme()).is_some_and(|it| it.origin() == origin.origin())
}

/// The request as it came, if its token is the one that was given to who is known by this.
async fn check_csrf_token(
    web: &Arc<DashboardState>,
    known_by: Option<&str>,
    request: Request,
) -> Result<Request, WebError> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY_BYTES).await.map_err(|_| WebError::TooLarge)?;
    let said = parts.headers.get(CSRF_HEADER).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let said = said.or_else(|| {
        let mut fields = form_urlencoded::parse(&body);
        fields.find(|(name, _)| name == CSRF_FIELD).map(|(_, value)| value.into_owned())
    });
    match (known_by, said) {
        (Some(id), Some(token)) if web.csrf_key.verify(id, &token) => Ok(Request::from_parts(parts, Body::from(body))),
        _ => Err(WebError::NoToken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn only_our_own_pages_may_change_something() {
        let ours = ("host", "127.0.0.1:8642");
        for (pairs, is_ours) in [
            (&[ours, ("origin", "http://127.0.0.1:8642")][..], true),
            (&[("host", "pieme.example"), ("origin", "https://pieme.example")], true),
            (&[("host", "pieme.example:443"), ("origin", "https://pieme.example")], true),
            (&[ours], false),
            (&[ours, ("origin", "http://evil.test")], false),
            (&[ours, ("origin", "http://127.0.0.1:9999")], false),
            (&[ours, ("origin", "http://127.0.0.1:8642.evil.test")], false),
            (&[ours, ("origin", "file://")], false),
            (&[ours, ("origin", "null")], false),
            (&[ours, ("origin", "null"), ("sec-fetch-site", "cross-site")], false),
            (&[ours, ("origin", "null"), ("sec-fetch-site", "same-origin")], true),
            (&[ours, ("origin", "http://127.0.0.1:8642"), ("sec-fetch-site", "same-site")], false),
        ] {
            assert_eq!(is_same_origin(&headers(pairs)), is_ours, "{pairs:?}");
        }
    }
}
