//! The parent survives a hostile child: a real daemon whose children are not pieme but a program that sends the most
//! it can. The daemon's memory, descriptors and disk are measured, and each run ends with a sentence.
//!
//! `PIEME_LONG=1` sends for a minute.

#![allow(clippy::print_stdout, reason = "the figures of the long form")]

mod attacks;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pieme::config::Config;
use pieme::{daemon, web};

use super::super::promises::vitals::Vitals;
use super::super::promises::{again, role, times};
use crate::stage::Stage;
use attacks::ATTACKS;

const NAME: &str = "trust::hostile_child::a_child_that_sends_the_most_it_can_costs_the_parent_little";
/// With its settings of the allocator the daemon is measured, as it is installed.
const UNIT: &str = include_str!("../../../systemd/pieme-daemon.service");
/// How much the parent may grow, in kilobytes.
const MOST_GROWTH: u64 = if cfg!(debug_assertions) { 80 << 10 } else { 20 << 10 };
/// Descriptors: 64 connections that are being made, 64 that wait for the child, and its pipes.
const MOST_FILES: usize = 64 + 64 + 16;
/// What a run may make the parent write: `protocol/budgets.rs`, and the log of the database.
const MOST_DISK: u64 = (2 << 30) + (512 << 20);

#[test]
fn a_child_that_sends_the_most_it_can_costs_the_parent_little() {
    match role().as_deref() {
        Some("daemon") => return serve(),
        Some("child") => return attacks::run(),
        _ => {}
    }
    let mut stage = Stage::new();
    let daemon_program = program(&stage, "daemon", &allocator_settings());
    // The protocol's stdout becomes descriptor 3: the test framework writes to stdout, too.
    let child_program = program(&stage, "child", "exec 3>&1 >/dev/null");
    stage.write("hostile/child-program", &child_program.display().to_string());
    stage.write("hostile/site", &stage.site.port().to_string());
    let daemon = stage.start_program(&daemon_program, &[("RUST_LOG", "info")]);
    let idle = Vitals::of(daemon);
    // A large honest run fills the caches of the store (16 MB) and its row buffer (8 MB), and stores a page of the
    // largest size. What a hostile child costs beyond that is counted.
    let watch = Watch::start(daemon, stage.path("state"));
    for _ in 0..2 {
        assert_eq!(run(&stage, "honest").0, "failed network");
    }
    let (most, disk_before) = watch.stop();
    let before = Vitals { files: idle.files, ..most };
    println!("idle: {} MB; two large honest runs: {} MB", idle.kilobytes >> 10, before.kilobytes >> 10);
    let mut failures = Vec::new();
    // The minute of everything is part of the long form only.
    let is_long = times(0, 1) == 1;
    for attack in ATTACKS.iter().filter(|it| is_long || it.name != "everything") {
        let watch = Watch::start(daemon, stage.path("state"));
        let (outcome, sentence) = run(&stage, attack.name);
        let (most, disk) = watch.stop();
        let growth = most.kilobytes.saturating_sub(before.kilobytes);
        let files = most.files.saturating_sub(before.files);
        let disk = disk.saturating_sub(disk_before);
        println!(
            "{}: {outcome}: {sentence}; +{} MB, {files} descriptors, {} MB of disk",
            attack.name,
            growth >> 10,
            disk >> 20
        );
        if growth > MOST_GROWTH || files > MOST_FILES || disk > MOST_DISK {
            failures.push(format!("{}: +{growth} kB, {files} descriptors, {disk} bytes of disk", attack.name));
        }
        if outcome != attack.outcome || !sentence.contains(attack.sentence) {
            failures.push(format!("{}: {outcome}: {sentence}", attack.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(stage.read("tasks/template-unasked/template.json"), attacks::TEMPLATE, "the old template stays");
    assert_eq!(stage.read("tasks/template-damaged/template.json"), "", "a damaged template is not written");
}

fn allocator_settings() -> String {
    let settings = UNIT.lines().filter_map(|line| line.strip_prefix("Environment=MALLOC_"));
    let settings: String = settings.map(|more| format!("export MALLOC_{more}\n")).collect();
    assert!(!settings.is_empty(), "the unit has settings of the allocator");
    settings
}

/// A script that starts this test once more in a role.
fn program(stage: &Stage, role: &str, first: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let command = again(NAME, role);
    let arguments: Vec<_> = command.get_args().map(|it| it.to_string_lossy()).collect();
    let text = format!(
        "#!/bin/sh\n{first}\nexport PIEME_PROMISE_ROLE={role} PIEME_HOSTILE={}\nexec {} {}\n",
        stage.path("").display(),
        command.get_program().to_string_lossy(),
        arguments.join(" ")
    );
    stage.write(&format!("hostile/{role}"), &text);
    let path = stage.path(&format!("hostile/{role}"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    path
}

fn home() -> PathBuf {
    PathBuf::from(std::env::var_os("PIEME_HOSTILE").expect("the script says so"))
}

/// The daemon, with another program for its children.
fn serve() {
    let home = home();
    let config = Config::find(Some(&home.join("config.toml"))).expect("a good config");
    daemon::log::start(config.log.format).expect("a log");
    let program = fs::read_to_string(home.join("hostile/child-program")).expect("a path");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(daemon::run(config, PathBuf::from(program), web::open)).expect("it serves");
}

/// Runs a task whose child makes this attack; the outcome with its cause, and the sentence.
fn run(stage: &Stage, attack: &str) -> (String, String) {
    // A child that waits for ever ends at the limit; the others have time to exceed a budget.
    let patience = if attack.ends_with("not-read") { 2 } else { 60 };
    stage.write("hostile/attack", attack);
    let seconds = if attack == "everything" { times(2, 60) } else { times(1, 5) };
    stage.write("hostile/seconds", &seconds.to_string());
    let limit = seconds + patience;
    stage.write_task(attack, "/shop", &format!("[schedule]\nevery = \"30d\"\n[limits]\ntimeout = \"{limit}s\""));
    if attack == "template-unasked" {
        stage.write(&format!("tasks/{attack}/template.json"), attacks::TEMPLATE);
    }
    stage.wait_for("the task", || stage.state(attack) != "absent");
    let verdict = stage.pieme(&["run", attack, "--json"]).json();
    let word = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
    (format!("{} {}", word("outcome"), word("cause")), word("sentence"))
}

/// Samples a process until it is stopped: the highest figures, and the size of a folder.
struct Watch {
    stop: std::sync::Arc<AtomicBool>,
    thread: std::thread::JoinHandle<(Vitals, u64)>,
}

impl Watch {
    fn start(pid: u32, folder: PathBuf) -> Watch {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let is_over = std::sync::Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut most, mut disk) = (Vitals::of(pid), 0);
            while !is_over.load(Ordering::Relaxed) {
                let now = Vitals::of(pid);
                most = Vitals {
                    kilobytes: most.kilobytes.max(now.kilobytes),
                    threads: most.threads.max(now.threads),
                    files: most.files.max(now.files),
                };
                disk = disk.max(size_of(&folder));
                std::thread::park_timeout(Duration::from_millis(5));
            }
            (most, disk)
        });
        Watch { stop, thread }
    }

    fn stop(self) -> (Vitals, u64) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("it only reads")
    }
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size_of(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}
