//! Login sessions, in memory only: a restart of the daemon logs everybody out, and no session id is on the disk.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{self, HeaderMap, HeaderValue};

use crate::config::Config;

use super::{password, token};

/// Cookie of a logged-in user.
pub(super) const SESSION_COOKIE: &str = "pieme_session";
/// Cookie of the login form, which its CSRF token belongs to.
pub(super) const LOGIN_COOKIE: &str = "pieme_door";

/// A session ends after this time without a request.
const IDLE_LIMIT: Duration = Duration::from_secs(12 * 3600);
/// A session ends after this time in any case.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// One more login ends the session that was idle longest.
const MAX_SESSIONS: usize = 100;

/// A logged-in user. As an extractor (`auth`) it answers 401 to everybody else.
#[derive(Clone, Debug)]
pub(super) struct SessionUser {
    /// The CSRF token of the user's forms.
    pub csrf_token: String,
}

#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<String, LoginSession>>);

struct LoginSession {
    opened: Instant,
    last_used: Instant,
    /// Hash of the password that opened it: a new password ends the session.
    password: String,
}

impl Sessions {
    /// Opens a session and returns its id.
    pub fn open(&self, password: String) -> String {
        let mut sessions = self.lock();
        if sessions.len() >= MAX_SESSIONS
            && let Some(oldest) = sessions.iter().min_by_key(|(_, it)| it.last_used).map(|(id, _)| id.clone())
        {
            sessions.remove(&oldest);
        }
        let (id, now) = (token::random_id(), Instant::now());
        sessions.insert(id.clone(), LoginSession { opened: now, last_used: now, password });
        id
    }

    pub fn is_open(&self, config: &Config, id: &str) -> bool {
        let mut sessions = self.lock();
        let Some(session) = sessions.get_mut(id) else { return false };
        let is_good = session.last_used.elapsed() < IDLE_LIMIT
            && session.opened.elapsed() < MAX_AGE
            && password::read(config).is_ok_and(|now| now.as_ref() == Some(&session.password));
        if is_good {
            session.last_used = Instant::now();
        } else {
            sessions.remove(id);
        }
        is_good
    }

    pub fn close(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LoginSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a cookie of the request.
pub(super) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(';'));
    let mut named = all.filter_map(|pair| pair.trim().split_once('='));
    named.find(|(it, _)| *it == name).map(|(_, value)| value.to_owned())
}

/// The `Set-Cookie` header of a session cookie; without a value it deletes the cookie.
pub(super) fn set_cookie(name: &str, value: Option<&str>, is_secure: bool) -> HeaderValue {
    let age = if value.is_none() { "; Max-Age=0" } else { "" };
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{name}={}; Path=/; SameSite=Strict; HttpOnly{age}{secure}", value.unwrap_or_default());
    HeaderValue::from_str(&text).expect("our names and values are plain letters and digits")
}
