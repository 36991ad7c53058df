//! The dashboard under slow, greedy and guessing clients; its sessions; its audit log.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::stage::{Said, Stage};
use crate::web::{PASSWORD, gate::Guest, open};

/// A browser without a screen: curl with a cookie jar.
struct Curl {
    jar: std::path::PathBuf,
    url: String,
}

impl Curl {
    fn get(&self, path: &str) -> Said {
        self.ask(path, &[])
    }

    fn ask(&self, path: &str, more: &[&str]) -> Said {
        Command::new("curl")
            .args(["-sS", "-i", "--max-time", "30", "-b"])
            .arg(&self.jar)
            .arg("-c")
            .arg(&self.jar)
            .args(more)
            .arg(format!("{}{path}", self.url))
            .output()
            .expect("curl is installed")
            .into()
    }

    /// The status of an attempt to log in.
    fn log_in(&self, password: &str) -> u16 {
        let form = self.get("log-in").stdout;
        let token = form.split("name=\"token\" value=\"").nth(1).and_then(|it| it.split('"').next());
        let origin = format!("Origin: {}", self.url.trim_end_matches('/'));
        let fields = format!("token={}&password={}", token.expect("a form"), password.replace(' ', "+"));
        code(&self.ask("log-in", &["-H", &origin, "-d", &fields]))
    }

    fn is_logged_in(&self) -> bool {
        code(&self.get("api/status")) == 200
    }
}

fn code(said: &Said) -> u16 {
    said.stdout.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

fn host(url: &str) -> &str {
    url.trim_start_matches("http://").trim_end_matches('/')
}

#[test]
fn a_client_that_sends_its_head_byte_by_byte_is_cut_off() {
    let mut stage = Stage::new();
    let url = open(&mut stage);
    let mut slow = TcpStream::connect(host(&url)).expect("the dashboard listens");
    slow.set_read_timeout(Some(Duration::from_millis(500))).expect("a socket");
    slow.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n").expect("some bytes");
    let began = Instant::now();
    let mut answer = [0; 512];
    let cut = loop {
        match slow.read(&mut answer) {
            Ok(_) => break true,
            Err(_) if began.elapsed() > Duration::from_secs(30) => break false,
            Err(_) => drop(slow.write_all(b"A: b\r\n")),
        }
    };
    assert!(cut, "it still listens after 30 s");
}

#[test]
fn one_peer_cannot_take_all_connections() {
    let mut stage = Stage::new();
    let url = open(&mut stage);
    let mut silent: Vec<TcpStream> = (0..280).map(|_| TcpStream::connect(host(&url)).expect("a connection")).collect();
    let began = Instant::now();
    let other = Command::new("curl")
        .args(["-sS", "-i", "--interface", "127.0.0.2", "--max-time", "8"])
        .arg(format!("{url}log-in"))
        .output()
        .map(Said::from)
        .expect("curl is installed");
    assert_eq!(code(&other), 200, "after {:?}: {}", began.elapsed(), other.stderr);
    let mut last = silent.pop().expect("the last one");
    last.write_all(b"GET / HTTP/1.1\r\n\r\n").ok();
    let mut answer = String::new();
    last.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("Too many connections"), "{answer}");
}

#[test]
fn a_session_survives_a_restart_and_ends_with_the_password() {
    let mut stage = Stage::new();
    let mut browser = Curl { jar: stage.path("jar"), url: open(&mut stage) };
    assert_eq!(browser.log_in(PASSWORD), 303);
    assert!(browser.is_logged_in());
    stage.signal_daemon("-TERM");
    stage.daemon_ended();
    let kept = stage.read("state/web-sessions.json");
    let session = stage.read("jar");
    let session = session.lines().find(|line| line.contains("pieme_session_")).expect("a session");
    assert!(!kept.contains(session.rsplit('\t').next().expect("its id")), "an id on the disk: {kept}");
    for file in ["state/web-sessions.json", "state/web-key"] {
        let mode = stage.path(file).metadata().expect(file).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    browser.url = open(&mut stage);
    assert!(!browser.is_logged_in(), "a new password was set meanwhile");
    assert_eq!(browser.log_in(PASSWORD), 303);
    stage.signal_daemon("-TERM");
    stage.daemon_ended();
    std::fs::remove_file(stage.path("state/web-url")).expect("the old address");
    stage.start_daemon();
    stage.wait_for("the dashboard", || !stage.read("state/web-url").is_empty());
    browser.url = stage.read("state/web-url").trim().to_owned();
    assert!(browser.is_logged_in());
}

#[test]
fn two_daemons_of_one_host_do_not_log_each_other_out() {
    let (mut one, mut two) = (Stage::new(), Stage::new());
    let jar = one.path("jar");
    let (first, second) = (Curl { jar: jar.clone(), url: open(&mut one) }, Curl { jar, url: open(&mut two) });
    assert_eq!((first.log_in(PASSWORD), second.log_in(PASSWORD)), (303, 303));
    assert!(first.is_logged_in() && second.is_logged_in());
}

#[test]
fn wrong_passwords_of_others_do_not_lock_out_a_known_browser() {
    let mut stage = Stage::new();
    let url = open(&mut stage);
    let owner = Curl { jar: stage.path("owner"), url: url.clone() };
    assert_eq!(owner.log_in(PASSWORD), 303);
    let stranger = Curl { jar: stage.path("stranger"), url: url.clone() };
    let codes: Vec<u16> = (0..12).map(|_| stranger.log_in("a wrong password")).collect();
    assert_eq!(codes.last(), Some(&429), "{codes:?}");
    assert_eq!(owner.log_in(PASSWORD), 303, "it is known");
    assert_eq!(Curl { jar: stage.path("new"), url }.log_in(PASSWORD), 429, "a new browser has to wait");
    let codes: Vec<u16> = (0..12).map(|_| owner.log_in("a wrong password")).collect();
    assert_eq!(codes.last(), Some(&429), "its own wrong passwords count: {codes:?}");
}

#[test]
fn what_is_done_at_the_dashboard_is_in_the_audit_log() {
    let mut stage = Stage::new();
    stage.drop_folder("practice-shop");
    let url = open(&mut stage);
    assert_eq!(Curl { jar: stage.path("jar"), url: url.clone() }.log_in("a wrong password"), 403);
    let guest = Guest::log_in(&url);
    assert_eq!(guest.post("task/practice-shop/pause"), 303);
    let log = stage.read("state/audit.log");
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<_> = lines.iter().map(|line| (line["path"].as_str(), line["status"].as_u64())).collect();
    assert_eq!(
        told,
        [(Some("/log-in"), Some(403)), (Some("/log-in"), Some(303)), (Some("/task/practice-shop/pause"), Some(303))]
    );
    assert_eq!(lines[2]["peer"], "127.0.0.1");
    assert_eq!((lines[1]["session"].is_null(), lines[2]["session"].as_str().map(str::len)), (true, Some(8)), "{log}");
    assert!(!log.contains(PASSWORD) && !log.contains("wrong password"), "{log}");
    let mode = stage.path("state/audit.log").metadata().expect("the log").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
