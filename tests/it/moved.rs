//! The state folder and the tasks folder are removed, moved or replaced while the daemon runs.

use std::fs;
use std::process::Command;

use crate::stage::{Said, Stage, is_alive};

const SHOP: &str = "practice-shop";
const ORDERS: &str = "practice-orders";

fn second_daemon(stage: &Stage) -> Said {
    let mut second = Command::new(env!("CARGO_BIN_EXE_pieme-daemon"));
    second.arg("--config").arg(stage.path("config.toml"));
    crate::stage::in_time(&mut second).expect("a second daemon ends")
}

#[test]
fn a_second_daemon_is_refused_whatever_was_removed() {
    let mut stage = Stage::new();
    let daemon = stage.start_daemon();
    for removed in ["state/lock", "state/control.sock"] {
        let _ = fs::remove_file(stage.path(removed));
        let second = second_daemon(&stage);
        assert_eq!(second.code, 75, "without {removed}: {}", second.stderr);
        assert!(second.stderr.contains("another pieme-daemon"), "{}", second.stderr);
        assert_eq!(stage.pieme(&["status", "--json"]).json()["daemon"], true, "without {removed}");
        assert!(is_alive(daemon));
    }
    stage.signal_daemon("-TERM");
    assert_eq!(stage.daemon_ended(), Some(0));
    assert_eq!(stage.pieme(&["status", "--json"]).json()["daemon"], false);
}

#[test]
fn a_daemon_whose_state_folder_was_moved_away_ends_and_says_so() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    fs::rename(stage.path("state"), stage.path("state.old")).expect("our own folder");
    fs::create_dir(stage.path("state")).expect("a new one");
    assert_eq!(stage.daemon_ended(), Some(75), "{}", stage.read("log"));
    let log = stage.read("log");
    assert!(log.contains("was moved or replaced while the daemon ran"), "{log}");
    fs::remove_dir_all(stage.path("state")).expect("nothing of worth is in it");
    fs::rename(stage.path("state.old"), stage.path("state")).expect("back again");
    stage.start_daemon();
    assert_eq!(stage.status(SHOP)["rows"], 48);
}

/// The folders that the daemon's process watches, by their inodes.
fn watched(stage: &Stage) -> Vec<u64> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{}/fdinfo", stage.daemon_pid())).expect("its files").flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("inotify "));
        let inode = |line: &str| line.split(" ino:").nth(1)?.split(' ').next().map(|it| u64::from_str_radix(it, 16));
        found.extend(lines.filter_map(inode).flatten());
    }
    found
}

fn inode(stage: &Stage, inside: &str) -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(stage.path(inside)).expect("it is there").ino()
}

#[test]
fn a_tasks_folder_that_is_made_anew_is_watched_and_the_old_one_is_not() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    fs::rename(stage.path("tasks"), stage.path("tasks.old")).expect("our own folder");
    stage.wait_for("the daemon to say it", || stage.read("log").contains("the tasks folder cannot be listed"));
    assert_eq!(stage.state(SHOP), "ok", "no task is gone while nobody can look");
    fs::create_dir(stage.path("tasks")).expect("a new one");
    stage.wait_for("the new folder to be watched", || watched(&stage).contains(&inode(&stage, "tasks")));
    stage.drop_folder_as(ORDERS, "orders-again");
    stage.wait_for("the new task", || stage.state("orders-again") != "absent");
    stage.wait_for("the old task to be gone", || stage.state(SHOP) == "absent");
    assert!(!watched(&stage).contains(&inode(&stage, "tasks.old")), "nobody watches the old one");
    // Edits are noticed too, not only new folders.
    stage.write("tasks/orders-again/task.toml", "url = 5\n");
    stage.wait_for_state("orders-again", "config");
}

#[test]
fn a_link_that_leads_to_other_tasks_is_followed() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    fs::rename(stage.path("tasks"), stage.path("one")).expect("our own folder");
    std::os::unix::fs::symlink(stage.path("one"), stage.path("tasks")).expect("a link");
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    fs::create_dir(stage.path("two")).expect("another folder");
    std::os::unix::fs::symlink(stage.path("two"), stage.path("tasks.new")).expect("a link");
    fs::rename(stage.path("tasks.new"), stage.path("tasks")).expect("in one step");
    stage.drop_folder_as(SHOP, "second-shop");
    stage.wait_for("the other task", || stage.state("second-shop") != "absent");
    stage.wait_for("the old task to be gone", || stage.state(SHOP) == "absent");
    stage.wait_for("the other folder to be watched", || watched(&stage).contains(&inode(&stage, "two")));
    assert!(!watched(&stage).contains(&inode(&stage, "one")), "nobody watches the old one");
}
