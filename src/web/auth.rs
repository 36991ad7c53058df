//! Middleware: Host allow-list, Origin check, CSRF token, session, security headers. The router adds it to every route,
//! so that no page can omit it.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::Method;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use url::{Url, form_urlencoded};

use crate::config::Config;
use crate::daemon::http::peer::Peer;
use crate::daemon::http::server::is_loopback_host;

use super::audit::AuditEntry;
use super::error;
use super::error::WebError;
use super::route::{Access, MAX_BODY_BYTES};
use super::session::{SessionUser, cookie, hash};
use super::threads::blocking;
use super::token::{CSRF_FIELD, CSRF_HEADER};
use super::{DashboardState, SharedState};

/// See docs/design/safety.md 3. Responses with an untrusted page set a stricter policy.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                                       img-src 'self' data:; connect-src 'self'; frame-src 'self'; \
                                       frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const SECURITY_HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    // Rows may be confidential: browsers and proxies keep no copy.
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

impl FromRequestParts<SharedState> for SessionUser {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &SharedState) -> Result<SessionUser, WebError> {
        parts.extensions.get::<SessionUser>().cloned().ok_or(WebError::LogIn)
    }
}

/// Adds the security headers that the response does not set itself, and turns errors of `/api/` into JSON.
pub(super) async fn add_security_headers(request: Request, next: Next) -> Response {
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

/// Refuses requests with a foreign Host header. This stops DNS rebinding.
pub(super) async fn check_host(State(web): State<SharedState>, request: Request, next: Next) -> Response {
    if is_allowed_host(&web.config, request.headers()) {
        next.run(request).await
    } else {
        WebError::ForeignHost.into_response()
    }
}

/// Whether the Host header is a loopback name or one of `web_hosts`.
pub(super) fn is_allowed_host(config: &Config, headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    is_loopback_host(headers) || config.web.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Checks Origin, session and CSRF token before each route.
pub(super) async fn authorize(
    State((web, access)): State<(SharedState, Access)>,
    mut request: Request,
    next: Next,
) -> Response {
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if changes && !is_same_origin(request.headers()) {
        return WebError::ForeignOrigin.into_response();
    }
    let named = cookie(request.headers(), &web.instance.session_cookie);
    let session = named.filter(|id| web.sessions.is_open(&web.config, id));
    if access == Access::LoggedIn && session.is_none() {
        return redirect_to_login(&request);
    }
    // The CSRF token of the login form belongs to the cookie that came with it.
    let known_by = match access {
        Access::LoggedIn => session.clone(),
        Access::Public => cookie(request.headers(), &web.instance.login_cookie),
    };
    if changes {
        request = match check_csrf_token(&web, known_by.as_deref(), request).await {
            Ok(request) => request,
            Err(trouble) => return trouble.into_response(),
        };
    }
    let entry = changes.then(|| audit_entry(&request, session.as_deref()));
    if let Some(id) = session {
        request.extensions_mut().insert(SessionUser { csrf_token: web.instance.csrf_key.token(&id) });
    }
    let response = next.run(request).await;
    if let Some(entry) = entry {
        let status = response.status();
        // A log that cannot be written does not hold up the answer.
        let _ = blocking(move || web.audit.write(entry, status)).await;
    }
    response
}

fn audit_entry(request: &Request, session: Option<&str>) -> AuditEntry {
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map(|ConnectInfo(peer)| peer);
    AuditEntry {
        peer: match peer {
            Some(Peer::Address(address)) => address.to_string(),
            _ => "socket".to_owned(),
        },
        session: session.map(|id| hash(id)[..8].to_owned()),
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
    }
}

/// Leads to the login, which leads back to the requested page. Programs get 401 instead.
fn redirect_to_login(request: &Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
    if *request.method() != Method::GET || path.starts_with("/api/") || path.starts_with("/events") {
        return WebError::LogIn.into_response();
    }
    let next: String = form_urlencoded::byte_serialize(path.as_bytes()).collect();
    Redirect::to(&format!("/log-in?next={next}")).into_response()
}

/// Compares Origin with Host. With `Referrer-Policy: no-referrer` browsers send `Origin: null`; then `Sec-Fetch-Site`
/// decides, a header that no page can set.
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

/// Returns the request unchanged if its CSRF token belongs to the cookie `known_by`.
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
        (Some(id), Some(token)) if web.instance.csrf_key.verify(id, &token) => {
            Ok(Request::from_parts(parts, Body::from(body)))
        }
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
