//! Logins: HTTP basic authentication, and a club that asks for name, password and one-time code on a page each.

use std::sync::Arc;

use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::super::shop::Shop;
use super::super::{PASSWORD, USER};
use super::{framed, list, products_of_page};

/// The key of the club's one-time codes, in base32.
pub const CODE_KEY: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
/// User and password in base64.
const BASIC: &str = "Basic ZGVtbzpvcGVuLXNlc2FtZS03";
/// Pages that a member may fetch until the session ends.
const VISITS_PER_LOGIN: u32 = 3;

#[derive(Deserialize)]
pub struct MemberPageQuery {
    page: Option<usize>,
}

pub async fn basic(headers: HeaderMap, Query(query): Query<MemberPageQuery>) -> Response {
    if headers.get(header::AUTHORIZATION).is_none_or(|value| value != BASIC) {
        let asks = [(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"practice\""))];
        return (StatusCode::UNAUTHORIZED, asks, "Who are you?").into_response();
    }
    Html(paged("Basic", "/ways/basic", query.page.unwrap_or(1))).into_response()
}

/// The list for members; the first login form for everybody else.
pub async fn club(State(shop): State<Arc<Shop>>, headers: HeaderMap, Query(query): Query<MemberPageQuery>) -> Response {
    if shop.club.visit(&headers) {
        return Html(paged("Club", "/ways/club", query.page.unwrap_or(1))).into_response();
    }
    let content = "<form id=\"door\" method=\"post\" action=\"/ways/club/name\">\
        <label>Login name <input name=\"username\"></label>\
        <button>Next</button></form>";
    Html(framed("Log in", content)).into_response()
}

#[derive(Deserialize)]
pub struct LoginStepForm {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
    #[serde(default)]
    otp: String,
}

pub async fn name(Form(form): Form<LoginStepForm>) -> Response {
    if form.username != USER {
        return Html(framed("Log in", "<p class=\"error\">No such member.</p>")).into_response();
    }
    Html(framed("Log in", &password_form(""))).into_response()
}

fn password_form(complaint: &str) -> String {
    format!(
        "{complaint}<form method=\"post\" action=\"/ways/club/password\">\
         <input type=\"hidden\" name=\"username\" value=\"{USER}\">\
         <label>Password <input type=\"password\" name=\"secret\"></label><button>Log in</button></form>"
    )
}

pub async fn password(Form(form): Form<LoginStepForm>) -> Response {
    if form.username != USER || form.secret != PASSWORD {
        let complaint = "<p class=\"error\">That is not the password.</p>";
        return Html(framed("Log in", &password_form(complaint))).into_response();
    }
    Html(framed("Log in", &code_form(""))).into_response()
}

fn code_form(complaint: &str) -> String {
    format!(
        "{complaint}<form method=\"post\" action=\"/ways/club/code\"><label>Code from your app \
         <input name=\"otp\" autocomplete=\"one-time-code\"></label><button>Verify</button></form>"
    )
}

pub async fn code(State(shop): State<Arc<Shop>>, Form(form): Form<LoginStepForm>) -> Response {
    if !is_code(&form.otp) {
        return Html(framed("Log in", &code_form("<p class=\"error\">Wrong code.</p>"))).into_response();
    }
    let mut response = Redirect::to("/ways/club").into_response();
    response.headers_mut().insert(header::SET_COOKIE, shop.club.admit(VISITS_PER_LOGIN));
    response
}

/// Accepts the current code and the previous one, which may have expired on the way.
fn is_code(code: &str) -> bool {
    let key = totp_rs::Secret::try_from_base32(CODE_KEY).expect("a constant key");
    let totp = totp_rs::Builder::new().with_secret(key).build_noncompliant();
    totp.check(code, chrono::Utc::now().timestamp().unsigned_abs()).is_some()
}

fn paged(title: &str, path: &str, page: usize) -> String {
    let next = if products_of_page(page + 1).is_empty() {
        String::new()
    } else {
        format!("<a rel=\"next\" href=\"{path}?page={}\">Next</a>\n", page + 1)
    };
    framed(title, &format!("{}{next}", list(&products_of_page(page))))
}
