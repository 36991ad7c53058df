//! The audit log: who changed what at the dashboard. One line of JSON per request, in the state folder.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use axum::http::StatusCode;
use chrono::{SecondsFormat, Utc};
use serde::Serialize;

use crate::config::Config;

pub const FILE: &str = "audit.log";
/// A full file is kept as `audit.log.1`; an older one is deleted.
const MAX_BYTES: u64 = 8 << 20;
/// Longer paths are cut.
const MAX_PATH_CHARS: usize = 300;

pub(super) struct AuditLog {
    path: PathBuf,
    writing: Mutex<()>,
}

/// A request that changes something.
#[derive(Serialize)]
pub(super) struct AuditEntry {
    pub peer: String,
    /// The first digits of the session's hash, as in `web-sessions.json`; none before a login.
    pub session: Option<String>,
    pub method: String,
    pub path: String,
}

impl AuditLog {
    pub fn new(config: &Config) -> AuditLog {
        AuditLog { path: config.state.join(FILE), writing: Mutex::default() }
    }

    /// Writes a line. If that fails, the journal says so and has the line instead.
    pub fn write(&self, mut entry: AuditEntry, status: StatusCode) {
        #[derive(Serialize)]
        struct Line<'a> {
            at: String,
            #[serde(flatten)]
            entry: &'a AuditEntry,
            status: u16,
        }
        entry.path = entry.path.chars().take(MAX_PATH_CHARS).collect();
        let at = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
        let line = serde_json::to_string(&Line { at, entry: &entry, status: status.as_u16() }).expect("it is JSON");
        if let Err(error) = self.append(&line) {
            tracing::error!(%error, line, "dashboard: {FILE} was not written");
        }
    }

    fn append(&self, line: &str) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if fs::symlink_metadata(&self.path).is_ok_and(|meta| meta.len() >= MAX_BYTES) {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
        // In one write, so that a crash leaves no half line before the next.
        file.write_all(format!("{line}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_set_aside_once() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let log = AuditLog { path: scratch.path().join(FILE), writing: Mutex::default() };
        let written = |name: &str| fs::read_to_string(scratch.path().join(name)).unwrap_or_default();
        let entry = |path: &str| AuditEntry {
            peer: "127.0.0.1".to_owned(),
            session: None,
            method: "POST".to_owned(),
            path: path.to_owned(),
        };
        log.write(entry("/a"), StatusCode::OK);
        log.write(entry("/b\n\u{1b}[2J"), StatusCode::FORBIDDEN);
        assert_eq!(written(FILE).lines().count(), 2, "{}", written(FILE));
        assert!(!written(FILE).contains('\u{1b}'));
        fs::write(scratch.path().join(FILE), vec![b'x'; MAX_BYTES as usize]).expect("a large file");
        log.write(entry("/c"), StatusCode::OK);
        assert!(written(FILE).contains("/c") && written("audit.log.1").len() == MAX_BYTES as usize);
    }
}
