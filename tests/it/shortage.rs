//! The daemon runs out of a resource, such as descriptors or threads: nothing hangs, no task is blamed, and everything
//! continues when there is enough again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::stage::{Said, Stage, is_alive};

const SHOP: &str = "practice-shop";
const ORDERS: &str = "practice-orders";
/// Longer than any run here takes; a longer wait would never end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A limit of descriptors or processes that no daemon here reaches.
const ENOUGH: usize = 1_024;

/// Sets a limit as the daemon's own user, who may limit its processes.
fn set_limit(daemon: u32, resource: &str, soft: usize) {
    let user = fs::metadata(format!("/proc/{daemon}")).expect("it runs").uid();
    let limit = ["prlimit".to_owned(), format!("--pid={daemon}"), format!("--{resource}={soft}:")];
    let mut command = match user == nix::unistd::geteuid().as_raw() {
        true => Command::new("env"),
        false => as_user(user),
    };
    let said: Said = command.args(limit).output().expect("prlimit is installed").into();
    assert_eq!(said.code, 0, "{}", said.stderr);
}

fn as_user(user: u32) -> Command {
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
    command
}

/// Lets the daemon open `few` more descriptors: the kernel assigns the lowest free number below the limit.
fn leave_descriptors(daemon: u32, few: usize) {
    let used: BTreeSet<usize> = fs::read_dir(format!("/proc/{daemon}/fd"))
        .expect("it runs")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let free: Vec<usize> = (0..).filter(|number| !used.contains(number)).take(few + 1).collect();
    set_limit(daemon, "nofile", free[few]);
}

fn give_descriptors_back(daemon: u32) {
    set_limit(daemon, "nofile", ENOUGH);
}

/// A connection that the daemon has accepted already: it waits for the request.
fn connected(stage: &Stage, daemon: u32) -> UnixStream {
    let descriptors = || fs::read_dir(format!("/proc/{daemon}/fd")).expect("it runs").count();
    let before = descriptors();
    let stream = UnixStream::connect(stage.path("state/control.sock")).expect("the daemon listens");
    stage.wait_for("the connection to be taken", || descriptors() > before);
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream
}

/// The daemon's last reply to a request.
fn last_reply(stream: UnixStream, request: &str) -> Value {
    (&stream).write_all(format!("{request}\n").as_bytes()).expect("it is sent");
    let lines = BufReader::new(stream).lines().map(|line| line.expect("an answer before patience ends"));
    serde_json::from_str(&lines.last().expect("an answer")).expect("JSON")
}

fn accept_errors(stage: &Stage) -> usize {
    stage.read("log").lines().filter(|line| line.contains("Too many open files") && line.contains("accept")).count()
}

#[test]
fn listeners_survive_a_time_without_descriptors_and_say_so_once() {
    let mut stage = Stage::new();
    let config = format!("metrics = \"127.0.0.1:0\"\n{}", stage.read("config.toml"));
    stage.write("config.toml", &config);
    stage.drop_folder(SHOP);
    let daemon = stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    leave_descriptors(daemon, 0);
    // The status table is still shown: it is read from the store.
    let status = stage.pieme(&["status", "--json"]);
    assert_eq!((status.code, &status.json()["daemon"]), (0, &Value::Bool(true)), "{}", status.stderr);
    stage.wait_for("the shortage to be logged", || accept_errors(&stage) > 0);
    for _ in 0..3 {
        stage.pieme(&["status", "--json"]);
    }
    assert_eq!(accept_errors(&stage), 1, "once an episode");
    let doctor = stage.pieme(&["doctor", "--json"]);
    assert_eq!(doctor.code, 1, "a daemon that takes no requests is not well: {}", doctor.stdout);
    assert!(doctor.stdout.contains("does not answer"), "{}", doctor.stdout);
    give_descriptors_back(daemon);
    let paused = stage.pieme(&["pause", SHOP]);
    assert_eq!(paused.code, 0, "{}", paused.stderr);
    assert_eq!(stage.state(SHOP), "paused");
    assert!(stage.read("log").contains("accepts connections again"), "the end of the episode is said");
    assert_eq!(stage.pieme(&["doctor", "--json"]).code, 0);
}

#[test]
fn a_run_without_descriptors_is_no_mistake_of_the_task() {
    let mut stage = Stage::new();
    stage.drop_folder(ORDERS);
    let daemon = stage.start_daemon();
    stage.wait_for_state(ORDERS, "ok");
    for few in 0..8 {
        let stream = connected(&stage, daemon);
        leave_descriptors(daemon, few);
        let reply = last_reply(stream, &format!("{{\"do\":\"run\",\"task\":\"{ORDERS}\"}}"));
        give_descriptors_back(daemon);
        assert_ne!(reply["cause"], "config", "with {few} descriptors: {reply}");
        let sentence = reply["sentence"].as_str().unwrap_or_default();
        let is_named = reply["outcome"] != "failed" || sentence.contains("LimitNOFILE");
        assert!(is_named, "with {few} descriptors the limit is named: {reply}");
    }
    stage.wait_for("a good run", || stage.pieme(&["run", ORDERS, "--json"]).stdout.contains("published"));
    assert_eq!(stage.sql("SELECT count(*) FROM _runs WHERE cause = 'config'"), "0");
}

#[test]
fn a_folder_that_cannot_be_read_for_want_of_descriptors_keeps_its_last_version() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    let daemon = stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    // The folder can be opened, but no file in it.
    leave_descriptors(daemon, 1);
    let task = stage.read(&format!("tasks/{SHOP}/task.toml"));
    let others: Vec<&str> = task.lines().filter(|line| !line.starts_with("title")).collect();
    stage.write(&format!("tasks/{SHOP}/task.toml"), &format!("title = \"Edited\"\n{}\n", others.join("\n")));
    stage.wait_for("the scan to be tried", || stage.read("log").contains("LimitNOFILE"));
    let status = stage.status(SHOP);
    assert_ne!(status["state"], "config", "{status}");
    assert_eq!(status["problem"], Value::Null, "{status}");
    give_descriptors_back(daemon);
    stage.wait_for("the edit to be taken in", || stage.status(SHOP)["title"] == "Edited");
    assert_eq!(stage.sql("SELECT count(*) FROM _task WHERE problem IS NOT NULL"), "0");
}

/// The daemon's program under a user of its own, whose processes and threads can be limited; root's cannot.
fn daemon_of_somebody(stage: &Stage) -> PathBuf {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_pieme-daemon"));
    if !nix::unistd::geteuid().is_root() {
        return program;
    }
    let user = 600_000 + std::process::id() % 100_000;
    let copy = stage.path("pieme-daemon");
    fs::copy(env!("CARGO_BIN_EXE_pieme"), &copy).expect("the program can be copied");
    let drop_rights = format!("setpriv --reuid={user} --regid={user} --clear-groups");
    stage.write("daemon.sh", &format!("#!/bin/sh\nexec {drop_rights} '{}' \"$@\"\n", copy.display()));
    fs::set_permissions(stage.path("daemon.sh"), fs::Permissions::from_mode(0o755)).expect("a file of ours");
    let given = Command::new("chown").arg("-R").arg(format!("{user}:{user}")).arg(stage.path("")).status();
    assert!(given.expect("chown is there").success());
    stage.path("daemon.sh")
}

fn threads_of(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").count()
}

fn zombies_of(pid: u32) -> usize {
    let stats = fs::read_dir("/proc").expect("/proc is there").flatten();
    let stats = stats.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter(|stat| stat.contains(&format!(") Z {pid} "))).count()
}

#[test]
fn a_run_that_finds_no_thread_ends_and_frees_its_slot() {
    let mut stage = Stage::new();
    stage.write_task("idle", "/products", "enabled = false");
    let program = daemon_of_somebody(&stage);
    for few in 0..6 {
        // A new daemon each time: idle threads of an earlier run would be reused.
        let daemon = stage.start_program(&program, &[]);
        stage.wait_for_state("idle", "paused");
        let stream = connected(&stage, daemon);
        set_limit(daemon, "nproc", threads_of(daemon) + few);
        let reply = last_reply(stream, "{\"do\":\"run\",\"task\":\"idle\"}");
        set_limit(daemon, "nproc", ENOUGH);
        assert_eq!(reply["answer"], "ended", "with room for {few}: {reply}");
        assert_ne!(reply["cause"], "config", "with room for {few}: {reply}");
        assert_eq!(stage.sql("SELECT count(*) FROM _runs WHERE ended IS NULL"), "0", "with room for {few}");
        stage.wait_for("its process to be gone", || stage.children_of(daemon).is_empty());
        stage.wait_for("its process to be waited for", || zombies_of(daemon) == 0);
        assert_ne!(stage.state("idle"), "running", "with room for {few}");
        let run = stage.pieme(&["run", "idle", "--json"]);
        assert!(
            ["published", "quarantined"].contains(&run.json()["outcome"].as_str().unwrap_or_default()),
            "{}",
            run.stdout
        );
        stage.signal_daemon("-KILL");
        stage.daemon_ended();
    }
}

#[test]
fn many_folders_are_looked_through_where_no_thread_can_be_started() {
    let mut stage = Stage::new();
    for number in 0..200 {
        stage.write_task(&format!("task-{number}"), "/products", "enabled = false");
    }
    let program = daemon_of_somebody(&stage);
    let daemon = stage.start_program(&program, &[]);
    let tasks = || stage.pieme(&["status", "--json"]).json()["tasks"].as_array().map_or(0, Vec::len);
    stage.wait_for("all tasks", || tasks() == 200);
    set_limit(daemon, "nproc", 1);
    let text = stage.read("tasks/task-7/task.toml");
    stage.write("tasks/task-7/task.toml", &format!("title = \"Edited\"\n{text}"));
    stage.wait_for("the edit to be taken in", || stage.status("task-7")["title"] == "Edited");
    assert!(is_alive(daemon), "it was the daemon that has taken it in");
}
