//! The daemon's control socket: no request keeps its connection, whatever its client does.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use pieme::daemon::http::control::{MOST_CONNECTIONS, REQUEST_TIMEOUT};

use crate::stage::Stage;

fn sockets(daemon: u32) -> BTreeSet<PathBuf> {
    let links = fs::read_dir(format!("/proc/{daemon}/fd")).expect("it runs").flatten();
    let targets = links.filter_map(|it| fs::read_link(it.path()).ok());
    targets.filter(|to| to.to_string_lossy().starts_with("socket:")).collect()
}

/// Number of sockets opened since. A busy daemon may still hold the connection of an earlier `pieme status`; a
/// difference of two totals would then miss a new one.
fn opened_since(before: &BTreeSet<PathBuf>, daemon: u32) -> usize {
    sockets(daemon).difference(before).count()
}

fn connect(stage: &Stage) -> UnixStream {
    UnixStream::connect(stage.path("state/control.sock")).expect("the daemon listens")
}

fn ask(stage: &Stage, request: &str) -> UnixStream {
    let mut stream = connect(stage);
    stream.write_all(request.as_bytes()).expect("it is sent");
    stream
}

#[test]
fn no_request_keeps_its_connection() {
    let mut stage = Stage::new();
    stage.write_task("slow", "/bad/slow", "[limits]\ntimeout = \"5m\"");
    let daemon = stage.start_daemon();
    stage.wait_for_state("slow", "running");
    // The run's own socket is among them.
    let before = sockets(daemon);
    let is_back = || opened_since(&before, daemon) == 0;
    for _ in 0..20 {
        assert_eq!(stage.pieme(&["status", "--json"]).code, 0);
    }
    stage.wait_for("the connections of status to end", is_back);
    let mut answer = String::new();
    ask(&stage, "{\"do\":\"progress\"}\n").read_to_string(&mut answer).expect("the daemon ends the connection");
    assert!(answer.contains("slow") && answer.ends_with('\n'), "{answer}");
    let mut answer = String::new();
    ask(&stage, "nonsense\n").read_to_string(&mut answer).expect("the daemon ends the connection");
    assert!(answer.contains("refused"), "{answer}");
    stage.wait_for("both connections to end", is_back);
}

#[test]
fn who_asks_for_nothing_is_not_waited_for() {
    let mut stage = Stage::new();
    let daemon = stage.start_daemon();
    let before = sockets(daemon);
    let silent: Vec<UnixStream> = (0..MOST_CONNECTIONS + 20).map(|_| connect(&stage)).collect();
    let half_a_line = ask(&stage, "{\"do\":");
    stage.wait_for("some of them to be taken", || opened_since(&before, daemon) > 0);
    assert!(opened_since(&before, daemon) <= MOST_CONNECTIONS, "no more than that at a time");
    assert!(REQUEST_TIMEOUT.as_secs() < 30, "or this takes too long");
    stage.wait_for("all of them to be given up", || opened_since(&before, daemon) == 0);
    drop((silent, half_a_line));
    assert_eq!(stage.pieme(&["gc", "--json"]).code, 0);
}

#[test]
fn who_leaves_while_a_run_is_going_leaves_nothing_behind() {
    let mut stage = Stage::new();
    stage.write_task("slow", "/bad/slow", "enabled = false\n[limits]\ntimeout = \"5m\"");
    let daemon = stage.start_daemon();
    stage.wait_for_state("slow", "paused");
    let before = sockets(daemon);
    let waiting: Vec<UnixStream> = (0..5).map(|_| ask(&stage, "{\"do\":\"run\",\"task\":\"slow\"}\n")).collect();
    stage.wait_for("the run", || !stage.children_of(daemon).is_empty());
    // One waits for the run's end; the others were refused, since it is running already. A run has a socket of its own.
    stage.wait_for("the others to be answered", || opened_since(&before, daemon) == 2);
    drop(waiting);
    stage.wait_for("all of them to be forgotten", || opened_since(&before, daemon) == 1);
    assert!(!stage.children_of(daemon).is_empty(), "the run goes on");
}
