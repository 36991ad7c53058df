//! Real web applications from the package registries, on loopback: log in, search, paginate through everything, extract
//! every row.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::stage::{Stage, apps_python};

mod mediawiki;
mod reader;
mod redmine;
mod server;

const SECRET: &str = "correct-horse-9";

/// An application that serves until this is dropped.
struct App {
    server: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl App {
    fn start(program: &str) -> App {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = apps_python();
        let folder = tempfile::tempdir().expect("a scratch folder");
        let mut server = Command::new(&python)
            .arg(root.join("tests/apps").join(program))
            .args([folder.path().as_os_str(), SECRET.as_ref()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; tests/all.sh sets it up", python.display()));
        let mut port = String::new();
        BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut port).expect("the port");
        assert!(port.trim().parse::<u16>().is_ok(), "{program} did not start");
        App { server, url: format!("http://127.0.0.1:{}", port.trim()), _folder: folder }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // An error means that it has ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Runs a task on the application with the real programs, accepts the proposed list, and returns all rows.
fn rows(app: &App, path: &str, robot: &str) -> Vec<Value> {
    let stage = Stage::new();
    stage.write("secrets/app", SECRET);
    stage.make_private("secrets/app");
    let task = format!("url = \"{}{path}\"\nfetch = {{ delay = \"0s\" }}\n", app.url);
    stage.grant_private(&app.url);
    stage.grant("app", &app.url);
    stage.write("tasks/app/task.toml", &task);
    stage.write("tasks/app/robot.toml", robot);
    let said = stage.pieme(&["run", "app"]);
    let log = stage.pieme(&["log", "app"]).stdout;
    assert!([0, 3].contains(&said.code), "{}{}\n{log}", said.stdout, said.stderr);
    assert!(!log.contains(SECRET), "{log}");
    assert_eq!(stage.pieme(&["label", "app", "--yes"]).code, 0);
    stage.pieme(&["run", "app"]);
    let records = stage.pieme(&["records", "app", "--limit", "1000", "--json"]).json();
    assert!(stage.pieme(&["log", "app"]).stdout.contains("the kept session is still logged in"), "one login is enough");
    records["records"].as_array().cloned().unwrap_or_default()
}

/// The wanted texts that are a cell of some row.
fn cells(rows: &[Value]) -> BTreeSet<&str> {
    rows.iter().filter_map(Value::as_object).flat_map(|row| row.values()).filter_map(Value::as_str).collect()
}

#[test]
fn djangos_admin_is_entered_searched_and_paged_through() {
    let app = App::start("django_admin.py");
    let robot = "[[step]]\nlogin = { user = 'admin', password = '${secret:app}', url = '/admin/auth/user/' }\n\
        [[step]]\nget = '/admin/auth/user/'\n[[step]]\nsubmit = { form = 'search', fields = { q = 'customer' } }\n\
        [[step]]\npaginate = {}\n";
    let rows = rows(&app, "/admin/auth/user/", robot);
    assert_eq!(rows.len(), 250, "three pages of a hundred: {:?}", rows.first());
    let cells = cells(&rows);
    for number in 1..=250 {
        assert!(cells.contains(format!("customer{number:03}").as_str()), "customer{number:03}");
        assert!(cells.contains(format!("customer{number:03}@example.org").as_str()), "the mail of customer{number:03}");
    }
    assert!(!cells.contains("staff001"));
}

#[test]
fn a_roundup_tracker_is_entered_searched_and_paged_through() {
    let app = App::start("roundup_tracker.py");
    let robot = "[[step]]\nlogin = { user = 'demo', password = '${secret:app}', url = '/' }\n\
        [[step]]\nsubmit = { form = 'search', fields = { '@search_text' = 'lamp' } }\n[[step]]\npaginate = {}\n";
    let rows = rows(&app, "/", robot);
    assert_eq!(rows.len(), 65, "two pages of fifty: {:?}", rows.first());
    let cells = cells(&rows);
    for number in (2..=130).step_by(2) {
        let title = format!("Broken lamp in room {number:03}");
        assert!(cells.contains(title.as_str()), "{title}");
    }
}
