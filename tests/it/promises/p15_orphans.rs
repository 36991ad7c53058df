//! No orphans: when the daemon is killed, its children end with it.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{again, report, role, times};
use crate::stage::{Stage, is_alive, signal_process};

const NAME: &str = "promises::p15_orphans::promise_15_no_run_outlives_the_daemon";
/// Within so many seconds nothing of a killed daemon is left. The short form runs beside other tests.
fn at_most() -> u64 {
    times(20, 5) as u64
}

#[test]
fn promise_15_no_run_outlives_the_daemon() {
    if role().is_some() {
        careless_parent();
    }
    let kills = times(4, 1_000);
    let mut stage = Stage::new();
    // A site that accepts every connection and never answers: a run waits there for ever.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", silent.local_addr().expect("it is bound"));
    let fetch = "[fetch]\nrobots_txt = false\nretries = 0\n";
    stage.grant_private(&url);
    stage.write("tasks/silent/task.toml", &format!("url = \"{url}\"\n[schedule]\nevery = \"60s\"\n{fetch}"));
    let mut orphans = 0;
    for _ in 0..kills {
        let daemon = stage.start_daemon();
        // The first daemon runs a new task, the others make up the run that they find interrupted, or are asked to.
        let asked = Command::new(env!("CARGO_BIN_EXE_pieme"))
            .arg("--config")
            .arg(stage.path("config.toml"))
            .args(["run", "silent"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut runs = Vec::new();
        stage.wait_for("a run", || {
            runs = stage.children_of(daemon);
            !runs.is_empty()
        });
        signal_process(daemon, "-KILL");
        stage.daemon_ended();
        orphans += runs.iter().filter(|&&run| outlives(run)).count();
        // The client was waiting for a daemon that is gone.
        let _ = asked.expect("pieme starts").wait();
    }
    let mut parent = again(NAME, "careless").stdout(Stdio::piped()).spawn().expect("this program");
    let mut child = String::new();
    stage.wait_for("a child of the control", || {
        child = stage.children_of(parent.id()).first().map(u32::to_string).unwrap_or_default();
        !child.is_empty()
    });
    parent.kill().expect("it is ours");
    parent.wait().expect("it ends");
    let left = is_alive(child.parse().expect("a number"));
    if left {
        signal_process(child.parse().expect("a number"), "-KILL");
    }
    let counted = format!("{kills} daemons killed with a run under way: orphans after {} s", at_most());
    report(15, &counted, orphans, usize::from(left));
}

fn outlives(pid: u32) -> bool {
    let killed = Instant::now();
    while is_alive(pid) && killed.elapsed() < Duration::from_secs(at_most()) {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    is_alive(pid)
}

/// The control: starts a process without tying it to its parent.
fn careless_parent() -> ! {
    let mut child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().expect("a process");
    let _ = child.wait();
    std::process::exit(0);
}
