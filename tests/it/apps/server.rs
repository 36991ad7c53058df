//! A web application that a script of tests/apps/ has prepared: it serves a copy of the prepared state on loopback.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// An application answers within this time of its start, or the test fails.
const PATIENCE: Duration = Duration::from_secs(90);

/// Serves until this is dropped.
pub struct AppServer {
    server: Child,
    folder: TempDir,
    pub url: String,
}

/// Where tests/all.sh has prepared the application.
pub fn prepared_folder(app: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/apps").join(app);
    assert!(folder.join("prepared").exists(), "{} is not complete; tests/all.sh prepares it", folder.display());
    folder
}

impl AppServer {
    /// Copies the state of the application and starts its server, which takes a free port and prints its address.
    pub fn start(app: &str, server: impl FnOnce(&Path) -> Command) -> AppServer {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let copied = Command::new("cp").arg("-r").arg(prepared_folder(app).join("state")).arg(folder.path()).status();
        assert!(copied.expect("cp is there").success(), "the state of {app} can be copied");
        let log = fs::File::create(folder.path().join("log")).expect("a log file");
        let mut command = server(&folder.path().join("state"));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log file")).stderr(log);
        let server = command.spawn().unwrap_or_else(|error| panic!("{app}: {error}; tests/all.sh installs it"));
        let mut app = AppServer { server, folder, url: String::new() };
        app.url = app.wait_for_address();
        app
    }

    fn wait_for_address(&mut self) -> String {
        let started = Instant::now();
        loop {
            let log = self.log();
            let port = log.split_once("http://127.0.0.1:").map(|(_, rest)| rest).unwrap_or_default();
            // Followed by something else, the number is complete.
            if let Some(end) = port.find(|c: char| !c.is_ascii_digit()).filter(|&end| end > 0) {
                return format!("http://127.0.0.1:{}", &port[..end]);
            }
            let has_ended = self.server.try_wait().is_ok_and(|ended| ended.is_some());
            assert!(!has_ended && started.elapsed() < PATIENCE, "the application does not start:\n{log}");
            std::thread::park_timeout(Duration::from_millis(30));
        }
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// What the server has printed.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for AppServer {
    fn drop(&mut self) {
        // An error means that it has ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The rows that a query of the application's own database gives.
pub fn query(database: &Path, sql: &str) -> Vec<Value> {
    let done = Command::new("sqlite3").args(["-json", "-cmd", ".timeout 20000"]).arg(database).arg(sql).output();
    let done = done.expect("sqlite3 is installed");
    assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
    // Without rows, nothing is printed.
    serde_json::from_slice(&done.stdout).unwrap_or_default()
}

pub fn text(row: &Value, column: &str) -> String {
    row[column].as_str().unwrap_or_default().to_owned()
}
