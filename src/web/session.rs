//! Login sessions. They are kept in the state folder, so that a restart of the daemon logs nobody out; only hashes of
//! their ids are, so that who reads the file cannot use them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::header::{self, HeaderMap, HeaderValue};
use chrono::{DateTime, TimeDelta, Utc};
use ring::digest;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::tasks::FileError;
use crate::tasks::folder::{Folder, PRIVATE_FILE};

use super::{password, token};

const FILE: &str = "web-sessions.json";
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A session ends after this time without a request.
const IDLE_LIMIT: TimeDelta = TimeDelta::hours(12);
/// A session ends after this time in any case.
const MAX_AGE: TimeDelta = TimeDelta::days(7);
/// One more login ends the session that was idle longest.
const MAX_SESSIONS: usize = 100;
/// The file need not know the last use more exactly.
const SAVE_INTERVAL: TimeDelta = TimeDelta::minutes(5);

/// A logged-in user. As an extractor (`auth`) it answers 401 to everybody else.
#[derive(Clone, Debug)]
pub(super) struct SessionUser {
    /// The CSRF token of the user's forms.
    pub csrf_token: String,
}

/// By the hash of their ids.
#[derive(Default)]
pub(super) struct Sessions(Mutex<BTreeMap<String, LoginSession>>);

#[derive(Serialize, Deserialize)]
struct LoginSession {
    opened: DateTime<Utc>,
    last_used: DateTime<Utc>,
    #[serde(skip)]
    saved: Option<DateTime<Utc>>,
    /// Hash of the password's hash: a new password ends the session.
    password: String,
}

impl Sessions {
    /// Those of the state folder. A file that cannot be read logs everybody out, no more.
    pub fn open_file(config: &Config) -> Sessions {
        let bytes = Folder::open(&config.state).and_then(|folder| folder.read_private(FILE, MAX_FILE_BYTES));
        let read = bytes.map(|bytes| bytes.map(|bytes| serde_json::from_slice(&bytes)));
        Sessions(Mutex::new(match read {
            Ok(None) => BTreeMap::new(),
            Ok(Some(Ok(sessions))) => sessions,
            Ok(Some(Err(error))) => {
                tracing::warn!(%error, "dashboard: {FILE} is damaged; everybody has to log in again");
                BTreeMap::new()
            }
            Err(error) => {
                tracing::warn!(%error, "dashboard: {FILE} cannot be read; everybody has to log in again");
                BTreeMap::new()
            }
        }))
    }

    /// Opens a session and returns its id.
    pub fn open(&self, config: &Config, password: &str) -> String {
        let mut sessions = self.lock();
        if sessions.len() >= MAX_SESSIONS
            && let Some(oldest) = sessions.iter().min_by_key(|(_, it)| it.last_used).map(|(id, _)| id.clone())
        {
            sessions.remove(&oldest);
        }
        let (id, now) = (token::random_id(), Utc::now());
        let session = LoginSession { opened: now, last_used: now, saved: None, password: hash(password) };
        sessions.insert(hash(&id), session);
        save(config, &mut sessions);
        id
    }

    pub fn is_open(&self, config: &Config, id: &str) -> bool {
        let (mut sessions, now) = (self.lock(), Utc::now());
        let Some(session) = sessions.get_mut(&hash(id)) else { return false };
        let is_good = now - session.last_used < IDLE_LIMIT
            && now - session.opened < MAX_AGE
            && password::read(config).is_ok_and(|it| it.is_some_and(|it| hash(&it) == session.password));
        if !is_good {
            sessions.remove(&hash(id));
            save(config, &mut sessions);
            return false;
        }
        session.last_used = now;
        if session.saved.is_none_or(|saved| now - saved > SAVE_INTERVAL) {
            save(config, &mut sessions);
        }
        true
    }

    pub fn close(&self, config: &Config, id: &str) {
        let mut sessions = self.lock();
        if sessions.remove(&hash(id)).is_some() {
            save(config, &mut sessions);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, LoginSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// If the disk is full, the sessions are good until a restart.
fn save(config: &Config, sessions: &mut BTreeMap<String, LoginSession>) {
    let now = Utc::now();
    sessions.values_mut().for_each(|session| session.saved = Some(now));
    if let Err(error) = write(config, sessions) {
        tracing::warn!(%error, "dashboard: {FILE} was not written");
    }
}

fn write(config: &Config, sessions: &BTreeMap<String, LoginSession>) -> Result<(), FileError> {
    let text = serde_json::to_vec(sessions).expect("sessions are JSON");
    Folder::open(&config.state)?.replace(FILE, &text, PRIVATE_FILE)
}

/// The SHA-256 of a text, in hexadecimal.
pub(super) fn hash(text: &str) -> String {
    token::hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

/// Reads a cookie of the request.
pub(super) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(';'));
    let mut named = all.filter_map(|pair| pair.trim().split_once('='));
    named.find(|(it, _)| *it == name).map(|(_, value)| value.to_owned())
}

/// The `Set-Cookie` header of a session cookie; without a value it deletes the cookie.
pub(super) fn set_cookie(name: &str, value: Option<&str>, is_secure: bool) -> HeaderValue {
    let more = if value.is_none() { "; Max-Age=0" } else { "" };
    cookie_header(name, value.unwrap_or_default(), more, is_secure)
}

/// The `Set-Cookie` header of a cookie that stays for a year.
pub(super) fn set_lasting_cookie(name: &str, value: &str, is_secure: bool) -> HeaderValue {
    cookie_header(name, value, "; Max-Age=31536000", is_secure)
}

fn cookie_header(name: &str, value: &str, more: &str, is_secure: bool) -> HeaderValue {
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; SameSite=Strict; HttpOnly{more}{secure}");
    HeaderValue::from_str(&text).expect("our names and values are plain letters and digits")
}
