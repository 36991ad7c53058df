//! A PostgreSQL server that accepts connections but does not answer: every client times out and reports why.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pieme::model::{PostgresTimeouts, StoreAddress, TimeSpan};
use pieme::store::Store;

use crate::postgres::{Schema, Server};
use crate::stage::{Said, Stage, children_of, in_time, signal_process};

const SHOP: &str = "practice-shop";

/// A server that accepts every connection and never answers.
fn mute() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let at = listener.local_addr().expect("a port");
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for connection in listener.incoming().flatten() {
            kept.push(connection);
        }
    });
    at
}

/// A server whose processes are stopped (SIGSTOP): nothing answers, and every connection stays. Dropped, they go on.
struct Frozen(Vec<u32>);

impl Frozen {
    fn new(server: &Server) -> Frozen {
        // First the postmaster, which starts the others.
        let mut frozen = Frozen(vec![server.postmaster()]);
        signal_process(frozen.0[0], "-STOP");
        for child in children_of(frozen.0[0]) {
            signal_process(child, "-STOP");
            frozen.0.push(child);
        }
        frozen
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.0 {
            // A process that has ended meanwhile is fine.
            let _ = Command::new("kill").arg("-CONT").arg(pid.to_string()).stderr(Stdio::null()).status();
        }
    }
}

fn gives_up(stage: &Stage, words: &[&str]) -> Said {
    let said = stage.pieme_in_time(words).unwrap_or_else(|| panic!("pieme {words:?} never ended"));
    assert_eq!(said.code, 75, "{words:?}: {}", said.stderr);
    assert!(said.stderr.contains("cannot be reached"), "{words:?}: {}", said.stderr);
    assert!(said.stderr.contains("no answer within"), "{words:?}: {}", said.stderr);
    said
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_given_up() {
    let mut stage = Stage::new();
    let at = mute();
    stage.use_store(&format!("postgres://me@{at}/rows"));
    gives_up(&stage, &["status"]);
    // The timeout can be set in config.toml.
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}\n[postgres]\nconnect_timeout = \"1s\"\n"));
    for words in [&["status"][..], &["records", SHOP], &["diff", SHOP], &["search", "x"]] {
        assert!(gives_up(&stage, words).stderr.contains("no answer within 1s"), "{words:?}");
    }
    stage.use_store(&format!("postgres://me@{at}/rows?sslmode=require"));
    gives_up(&stage, &["status"]);
    stage.use_store(&format!("postgres://me@{at}/rows"));
    stage.spawn_daemon(&[]);
    stage.wait_for("the daemon to say it", || stage.read("log").contains("no answer within"));
    stage.signal_daemon("-TERM");
    assert_eq!(stage.daemon_ended(), Some(0));
}

#[test]
fn a_server_that_stands_still_is_given_up_and_found_again() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let server = Server::own(folder.path());
    let schema = server.schema();
    let mut stage = Stage::new();
    stage.use_store(&schema.url());
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr()).expect("a free port").port();
    let config = stage.read("config.toml").replacen('\n', &format!("\nmetrics = \"127.0.0.1:{port}\"\n"), 1);
    stage.write("config.toml", &config);
    stage.drop_folder(SHOP);
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    let health = || {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-w", " %{http_code}", &format!("http://127.0.0.1:{port}/healthz")]);
        in_time(&mut curl).expect("/healthz never answered").stdout
    };
    stage.wait_for("health", || health().ends_with(" 200"));
    let frozen = Frozen::new(&server);
    stage.wait_for("no health", || health().ends_with(" 503"));
    gives_up(&stage, &["status"]);
    gives_up(&stage, &["records", SHOP]);
    let run = stage.pieme_in_time(&["run", SHOP]).expect("a run ends");
    assert_ne!(run.code, 0, "{}", run.stdout);
    drop(frozen);
    stage.wait_for("health", || health().ends_with(" 200"));
    stage.wait_for("a run", || stage.pieme(&["run", SHOP]).code == 0);
}

/// The server stops in the middle of an answer to a reader.
#[test]
fn a_server_that_stops_in_the_middle_of_an_answer_is_given_up() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let server = Server::own(folder.path());
    let schema = server.schema();
    drop(Store::open(schema.address()).expect("a new database"));
    let reader = Store::open_reader(schema.address()).expect("a reader");
    assert_eq!(reader.tasks().expect("tasks").len(), 0);
    let frozen = Frozen::new(&server);
    let error = reader.tasks().expect_err("nobody answers").to_string();
    assert!(error.contains("no answer within"), "{error}");
    drop(frozen);
    assert_eq!(reader.tasks().expect("it is there again").len(), 0);
}

/// Polls until the condition holds.
fn until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited in vain");
        std::thread::park_timeout(Duration::from_millis(30));
    }
}

fn with_timeouts(schema: &Schema, timeouts: PostgresTimeouts) -> StoreAddress {
    schema.address().with_timeouts(timeouts)
}

/// The server is alive, and a statement takes longer than `answer_timeout`.
#[test]
fn work_that_takes_long_goes_on_while_the_server_is_there_and_has_a_limit_all_the_same() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let server = Server::own(folder.path());
    let schema = server.schema();
    drop(Store::open(schema.address()).expect("a new database"));
    let patient = PostgresTimeouts { answer_timeout: TimeSpan::seconds(1), ..PostgresTimeouts::default() };
    let reader = Store::open_reader(with_timeouts(&schema, patient)).expect("a reader");
    let held = schema.hold("LOCK TABLE _task IN ACCESS EXCLUSIVE MODE");
    let waits_long =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND now() - query_start > '4 s'";
    let found = std::thread::scope(|threads| {
        let reading = threads.spawn(move || reader.tasks().map(|tasks| tasks.len()));
        // Long enough for several checks whether the server is alive.
        until(|| schema.psql(waits_long) != "0" || reading.is_finished());
        assert!(!reading.is_finished(), "it was given up");
        drop(held);
        reading.join().expect("no panic")
    });
    assert_eq!(found.expect("an answer in the end"), 0);
    let hasty = PostgresTimeouts {
        answer_timeout: TimeSpan::seconds(1),
        read_timeout: TimeSpan::seconds(2),
        ..PostgresTimeouts::default()
    };
    let reader = Store::open_reader(with_timeouts(&schema, hasty)).expect("a reader");
    let held = schema.hold("LOCK TABLE _task IN ACCESS EXCLUSIVE MODE");
    let error = reader.tasks().expect_err("longer than it may take").to_string();
    assert!(error.contains("no answer within 2s") && error.contains("[postgres]"), "{error}");
    // The abandoned statement is cancelled on the server.
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    until(|| schema.psql(waits) == "0");
    drop(held);
    assert_eq!(reader.tasks().expect("an answer").len(), 0);
}

#[test]
fn a_daemon_that_stands_still_is_given_up_by_whoever_asks_it() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    stage.signal_daemon("-STOP");
    for words in [&["run", SHOP][..], &["gc"], &["rollback", SHOP]] {
        let said = stage.pieme_in_time(words).unwrap_or_else(|| panic!("pieme {words:?} never ended"));
        assert_eq!(said.code, 75, "{words:?}: {}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains("the daemon does not answer"), "{words:?}: {}", said.stderr);
    }
    // The status table needs no daemon.
    let status = stage.pieme_in_time(&["status"]).expect("it ends");
    assert_eq!((status.code, status.stdout.contains(SHOP)), (0, true), "{}{}", status.stdout, status.stderr);
    stage.signal_daemon("-CONT");
    assert_eq!(stage.pieme(&["gc"]).code, 0);
}
