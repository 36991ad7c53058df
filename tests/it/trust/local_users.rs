//! What other users of the machine can read and hold.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use crate::stage::{Said, Stage};

/// A program of the stage that starts the daemon under a umask that closes nothing.
fn start_with_open_umask(stage: &mut Stage) {
    let daemon = env!("CARGO_BIN_EXE_pieme-daemon");
    stage.write("start", &format!("#!/bin/sh\numask 000\nexec {daemon} \"$@\"\n"));
    fs::set_permissions(stage.path("start"), Permissions::from_mode(0o755)).expect("a script");
    stage.start_program(&stage.path("start"), &[]);
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().expect("it is there").mode() & 0o777
}

fn as_nobody(words: &[&str]) -> Said {
    Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(words)
        .output()
        .expect("setpriv is installed")
        .into()
}

#[test]
fn the_state_folder_is_closed_whatever_the_umask() {
    for (before, after, files) in [(None, 0o700, 0o077), (Some(0o755), 0o700, 0o077), (Some(0o750), 0o750, 0o027)] {
        let mut stage = Stage::new();
        stage.drop_folder("practice-shop");
        if let Some(before) = before {
            fs::create_dir(stage.path("state")).expect("a folder");
            fs::set_permissions(stage.path("state"), Permissions::from_mode(before)).expect("its mode");
        }
        start_with_open_umask(&mut stage);
        stage.wait_for_state("practice-shop", "ok");
        assert_eq!(mode(&stage.path("state")), after, "{before:?}");
        let names = fs::read_dir(stage.path("state")).expect("the folder").map(|entry| entry.expect("a file").path());
        let files: Vec<_> = names.map(|path| (mode(&path), path)).filter(|(mode, _)| mode & files != 0).collect();
        let files: Vec<_> = files.iter().filter(|(_, path)| !path.ends_with("control.sock")).collect();
        assert!(files.is_empty(), "{before:?}: {files:?}");
    }
}

#[test]
fn another_user_can_neither_read_the_state_nor_hold_its_lock() {
    let mut stage = Stage::new();
    fs::set_permissions(stage.path(""), Permissions::from_mode(0o755)).expect("the way there is open");
    stage.start_daemon();
    stage.signal_daemon("-TERM");
    stage.daemon_ended();
    let state = stage.path("state");
    let state = state.to_str().expect("a path");
    let read = as_nobody(&["cat", &format!("{state}/pieme.db")]);
    assert!(read.code != 0 && read.stderr.contains("Permission denied"), "{}", read.stderr);
    let held = as_nobody(&["flock", "-n", "-s", state, "true"]);
    assert!(held.code != 0 && held.stderr.contains("Permission denied"), "{}", held.stderr);
    let held = as_nobody(&["flock", "-n", "-s", &format!("{state}/lock"), "true"]);
    assert!(held.code != 0, "the lock file can be held");
}

#[test]
fn doctor_names_owners_and_modes_that_let_others_in() {
    let mut stage = Stage::new();
    stage.drop_folder("practice-shop");
    stage.drop_folder("practice-orders");
    stage.start_daemon();
    stage.signal_daemon("-TERM");
    stage.daemon_ended();
    let doctor = || stage.pieme(&["doctor"]).stdout;
    assert!(doctor().contains("closed to other users (mode 0700)"), "{}", doctor());
    assert!(!doctor().contains("rights"), "{}", doctor());
    fs::set_permissions(stage.path("state"), Permissions::from_mode(0o755)).expect("its mode");
    fs::set_permissions(stage.path("tasks/practice-shop/task.toml"), Permissions::from_mode(0o664)).expect("its mode");
    std::os::unix::fs::chown(stage.path("tasks/practice-orders/robot.toml"), Some(65534), None).expect("its owner");
    let said = doctor();
    for sentence in [
        "is open to other users (mode 0755): type `chmod 0700 ",
        "task.toml can be written by other users (mode 0664): type `chmod go-w ",
        "robot.toml belongs to nobody, who can change what the daemon does",
    ] {
        assert!(said.contains(sentence), "{sentence}\n{said}");
    }
}
