//! A daemon that runs as root: its children have no capability, and read certificates but no private key.

use std::fs;
use std::path::Path;

use nix::unistd::geteuid;
use pieme::model::Task;
use pieme::model::task::Engine;
use pieme::sandbox;

use crate::promises::{again, role};
use crate::stage::Stage;

#[test]
fn a_run_has_no_capability_and_a_daemon_as_root_says_so() {
    let mut stage = Stage::new();
    let daemon = stage.start_daemon();
    stage.write_task("slow", "/bad/hang", "[limits]\ntimeout = \"60s\"");
    let mut child = None;
    stage.wait_for("the run's process", || {
        child = stage.children_of(daemon).into_iter().find(|&it| is_sandboxed(it));
        child.is_some()
    });
    let status = fs::read_to_string(format!("/proc/{}/status", child.expect("it was found"))).expect("it runs");
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(field(&status, set), Some("0000000000000000"), "{set}");
    }
    if geteuid().is_root() {
        assert_eq!(field(&status, "CapBnd"), Some("0000000000000000"));
        assert!(stage.read("log").contains("the daemon runs as root"), "a warning in the log");
    }
}

/// Whether the process has set its seccomp filters, which come last.
fn is_sandboxed(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    field(&status, "Seccomp_filters").is_some_and(|count| count.parse::<u32>().is_ok_and(|count| count >= 2))
}

fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[test]
fn a_run_reads_certificates_and_nothing_beside_them() {
    const NAME: &str = "trust::root::a_run_reads_certificates_and_nothing_beside_them";
    if let Some(role) = role() {
        let task: Task = toml::from_str("url = 'https://shop.test/'").expect("a task");
        if role == "sealed" {
            sandbox::apply(&task.limits, Engine::Http, std::os::unix::process::parent_id()).expect("it can seal");
        }
        let can_list = |path: &str| fs::read_dir(path).is_ok();
        let seen = ["/etc/ssl/certs", "/etc/ssl", "/etc/ssl/private"].map(can_list);
        let configuration = fs::read("/etc/ssl/openssl.cnf").is_ok();
        eprintln!("seen: {seen:?} {configuration}");
        return;
    }
    let seen = |role: &str| {
        let output = again(NAME, role).output().expect("this program");
        String::from_utf8_lossy(&output.stderr).lines().find_map(|line| Some(line.strip_prefix("seen: ")?.to_owned()))
    };
    assert_eq!(seen("sealed").as_deref(), Some("[true, false, false] false"));
    let may_list_keys = geteuid().is_root() && Path::new("/etc/ssl/private").exists();
    let without = format!("[true, true, {may_list_keys}] {}", Path::new("/etc/ssl/openssl.cnf").exists());
    assert_eq!(seen("open"), Some(without), "the control");
}
