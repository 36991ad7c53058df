//! Login and logout.

use std::sync::Arc;
use std::time::Instant;

use axum::Form;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::HeaderMap;
use axum::http::header::{ORIGIN, SET_COOKIE};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use crate::daemon::http::peer::Peer;

use super::error::WebError;
use super::route::Route;
use super::session::{cookie, set_cookie, set_lasting_cookie};
use super::threads::blocking;
use super::token::CSRF_FIELD;
use super::{SharedState, layout, password, token};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/log-in", form).public(),
        Route::post("/log-in", log_in).public(),
        Route::post("/log-out", log_out),
    ]
}

#[derive(Deserialize)]
struct LoginQuery {
    next: Option<String>,
}

async fn form(
    State(web): State<SharedState>,
    headers: HeaderMap,
    Query(wish): Query<LoginQuery>,
) -> Result<Response, WebError> {
    let Some(_) = password::read(&web.config).map_err(password_file_error)? else {
        return Ok(layout::public_page("No password yet", no_password_notice(&web)).into_response());
    };
    // An existing cookie is kept, so that login forms in two windows both stay valid.
    let known_by = cookie(&headers, &web.instance.login_cookie).unwrap_or_else(token::random_id);
    let body = login_markup(&web.instance.csrf_key.token(&known_by), wish.next.as_deref(), None);
    let door = set_cookie(&web.instance.login_cookie, Some(&known_by), false);
    Ok(([(SET_COOKIE, door)], layout::public_page("Log in", body)).into_response())
}

#[derive(Deserialize)]
struct PasswordForm {
    password: String,
    next: Option<String>,
}

async fn log_in(
    State(web): State<SharedState>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Form(said): Form<PasswordForm>,
) -> Result<Response, WebError> {
    let hash = password::read(&web.config).map_err(password_file_error)?.ok_or(WebError::LogIn)?;
    // Wrong passwords of others do not lock out a browser that has logged in before; its own count.
    let device = web.instance.device(&headers);
    let peer = device.clone().map_or(peer, Peer::Device);
    web.throttle.admit(&peer, Instant::now()).map_err(WebError::TooFast)?;
    let (known, tried) = (hash.clone(), said.password);
    let is_right = blocking(move || password::verify(&known, &tried)).await?;
    if !is_right {
        tracing::warn!(?peer, "dashboard: wrong password");
        let known_by = cookie(&headers, &web.instance.login_cookie).unwrap_or_default();
        let body = login_markup(&web.instance.csrf_key.token(&known_by), said.next.as_deref(), Some("Wrong password."));
        return Ok((axum::http::StatusCode::FORBIDDEN, layout::public_page("Log in", body)).into_response());
    }
    web.throttle.forget(&peer);
    let is_secure = headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https:"));
    let (cookies, next) = (Arc::clone(&web), local_path(said.next.as_deref()));
    let id = blocking(move || cookies.sessions.open(&cookies.config, &hash)).await?;
    let session = set_cookie(&web.instance.session_cookie, Some(&id), is_secure);
    let device = device.is_none().then(|| web.instance.new_device());
    let device = device.map(|it| set_lasting_cookie(&web.instance.device_cookie, &it, is_secure));
    let cookies = AppendHeaders([Some(session), device].into_iter().flatten().map(|it| (SET_COOKIE, it)));
    Ok((cookies, Redirect::to(&next)).into_response())
}

async fn log_out(State(web): State<SharedState>, headers: HeaderMap) -> Response {
    let name = &web.instance.session_cookie;
    if let Some(id) = cookie(&headers, name) {
        web.sessions.close(&web.config, &id);
    }
    ([(SET_COOKIE, set_cookie(name, None, false))], Redirect::to("/log-in")).into_response()
}

/// The path if it is one of the dashboard, else `/`. `//elsewhere.test` and `/\elsewhere.test` would leave it.
pub(super) fn local_path(next: Option<&str>) -> String {
    let is_ours = |path: &&str| {
        let mut letters = path.chars();
        letters.next() == Some('/') && !matches!(letters.next(), Some('/' | '\\')) && !path.contains(char::is_control)
    };
    next.filter(is_ours).unwrap_or("/").to_owned()
}

fn login_markup(token: &str, next: Option<&str>, wrong: Option<&str>) -> Markup {
    html! {
        h1 { "Log in" }
        form.card.narrow method="post" action="/log-in" {
            input type="hidden" name=(CSRF_FIELD) value=(token);
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            label for="password" { "Password" }
            input #password type="password" name="password" required autofocus autocomplete="current-password"
                aria-describedby=[wrong.map(|_| "wrong")];
            @if let Some(wrong) = wrong { p #wrong .off { (wrong) } }
            button.main { "Log in" }
        }
    }
}

fn no_password_notice(web: &SharedState) -> Markup {
    html! {
        h1 { "No password yet" }
        p { "The dashboard shows nothing until you set a password. On the machine where the daemon runs, type:" }
        pre { code { "pieme --config " (web.config.file.display()) " web password" } }
        p { "Then reload this page." }
    }
}

fn password_file_error(error: password::PasswordError) -> WebError {
    WebError::Refused(format!("The password file cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::local_path;

    #[test]
    fn a_log_in_leads_to_no_other_site() {
        for (next, path) in [
            (Some("/task/hotels?page=2"), "/task/hotels?page=2"),
            (Some("//evil.test"), "/"),
            (Some("/\\evil.test"), "/"),
            (Some("https://evil.test"), "/"),
            (Some("javascript:alert(1)"), "/"),
            (Some("/a\r\nSet-Cookie: x"), "/"),
            (Some(""), "/"),
            (None, "/"),
        ] {
            assert_eq!(local_path(next), path, "{next:?}");
        }
    }
}
