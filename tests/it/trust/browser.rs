//! Browser runs are sandboxed: Chromium by rules that all its processes inherit, the run's own process as that of an
//! HTTP run. Without that, and as root, there is no browser run.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::super::browser::{browsers, hanging, write_task};
use super::super::stage::Stage;
use super::cli::without_landlock;

/// Stands in for Chromium and tries what a taken-over Chromium might. It says what was allowed; the run passes the line
/// on as the reason why there is no browser.
const PROBE: &str = r#"#!/bin/sh
for word in "$@"; do case $word in --proxy-server=http://127.0.0.1:*) proxy=${word##*:} ;; esac; done
allowed=
try() { name=$1; shift; if "$@" >/dev/null 2>&1; then allowed="$allowed $name"; fi; }
connect() { perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[0]")' "$1"; }
listen() { perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0")'; }
datagram() { perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.0.0.1:9")'; }
into() { echo x > "$1"; }
try reads-a-secret cat CANARY
try lists-the-state-folder ls STATE
try reads-passwd cat /etc/passwd
try reads-an-environment cat /proc/VICTIM/environ
try signals-another-process kill -0 VICTIM
try writes-beside-the-secret into CANARY.new
try writes-to-tmp into /tmp/pieme-probe-VICTIM
try connects-elsewhere connect SITE
try listens listen
try sends-datagrams datagram
try writes-its-profile into "$HOME/x"
try reads-programs cat /usr/bin/perl
try connects-to-its-proxy connect "$proxy"
echo "probe cannot show pages; allowed:$allowed" >&2
exit 1
"#;

/// What Chromium needs.
const NEEDED: [&str; 3] = ["connects-to-its-proxy", "reads-programs", "writes-its-profile"];
const PROBES: usize = 13;

#[test]
fn chromium_reaches_its_profile_its_proxy_and_the_system_and_nothing_else() {
    let stage = Stage::unprivileged();
    let as_user = |command: &mut Command| {
        if let Some(user) = stage.user() {
            command.uid(user).gid(user);
        }
    };
    let mut sleep = Command::new("sleep");
    as_user(sleep.arg("60"));
    let mut victim = sleep.spawn().expect("a process");
    let probe = PROBE
        .replace("CANARY", &stage.path("secrets/canary").display().to_string())
        .replace("STATE", &stage.path("state").display().to_string())
        .replace("VICTIM", &victim.id().to_string())
        .replace("SITE", &stage.site.port().to_string());
    stage.write("secrets/canary", "a secret");
    stage.make_private("secrets/canary");
    stage.write("state/x", "");
    stage.write("bin/probe", &probe);
    fs::set_permissions(stage.path("bin/probe"), fs::Permissions::from_mode(0o755)).expect("a file of ours");
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}browser = \"{}\"\n", stage.path("bin/probe").display()));
    write_task(&stage, "js", "/js/products", "");

    let run = stage.pieme(&["run", "js", "--json"]).json();
    let sentence = run["sentence"].as_str().unwrap_or_default();
    let allowed = allowed(sentence);
    assert_eq!(allowed, BTreeSet::from(NEEDED), "{run}");

    let home = stage.path("home");
    fs::create_dir(&home).expect("a folder");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o777)).expect("a folder of ours");
    let mut control = Command::new(stage.path("bin/probe"));
    as_user(control.arg(format!("--proxy-server=http://127.0.0.1:{}", stage.site.port())).env("HOME", &home));
    let control = control.stdin(Stdio::null()).output().expect("it starts");
    victim.kill().and_then(|()| victim.wait()).expect("it is ours");
    let _ = fs::remove_file(format!("/tmp/pieme-probe-{}", victim.id()));
    let said = String::from_utf8_lossy(&control.stderr).into_owned();
    assert_eq!(self::allowed(&said).len(), PROBES, "without the launcher all of it is allowed: {said}");
}

fn allowed(said: &str) -> BTreeSet<&str> {
    let listed = said.split_once("allowed:").map(|(_, listed)| listed).unwrap_or_default();
    listed.lines().next().unwrap_or_default().split_whitespace().collect()
}

fn status(pid: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_default().trim().to_owned()
}

#[test]
fn the_process_of_a_browser_run_is_in_the_sandbox_and_chromium_keeps_its_own() {
    let mut stage = Stage::unprivileged();
    let (_, run) = hanging(&mut stage);
    assert_eq!((status(run, "Seccomp").as_str(), status(run, "NoNewPrivs").as_str()), ("2", "1"));
    let chromium: Vec<u32> = browsers(&stage).into_iter().filter(|&pid| pid != run).collect();
    assert!(chromium.iter().all(|&pid| status(pid, "NoNewPrivs") == "1"), "{chromium:?}");
    assert!(chromium.iter().all(|&pid| status(pid, "Seccomp") == "2"), "{chromium:?}");
    let command = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = |pid: u32| String::from_utf8_lossy(&command(pid)).into_owned();
    assert!(!chromium.iter().any(|&pid| words(pid).contains("--no-sandbox")), "Chromium's own sandbox is on");
    stage.wait_for("a process that shows pages, in Chromium's own seccomp filter", || {
        let processes = fs::read_dir("/proc").expect("/proc is there").flatten();
        let mut processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        processes.any(|pid| {
            let is_ours = stage.user().is_none_or(|user| status(pid, "Uid").starts_with(&user.to_string()));
            // Ours is the first filter.
            let filters: u32 = status(pid, "Seccomp_filters").parse().unwrap_or(0);
            is_ours && words(pid).contains("--type=renderer") && filters >= 2
        })
    });
}

#[test]
fn without_landlock_no_browser_run_starts() {
    let stage = Stage::unprivileged();
    write_task(&stage, "js", "/js/products", "");
    let run = std::thread::scope(|scope| {
        let blind = scope.spawn(|| {
            without_landlock();
            stage.pieme(&["run", "js", "--json"]).json()
        });
        blind.join().expect("no panic")
    });
    assert_eq!(run["outcome"], "failed", "{run}");
    assert_eq!(run["sentence"].as_str().map(|it| it.contains("the sandbox could not be set up")), Some(true), "{run}");
    assert_eq!(browsers(&stage), Vec::<u32>::new());
}

#[test]
fn as_root_a_browser_run_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("left out: only root can test what root may not do");
        return;
    }
    let stage = Stage::new();
    write_task(&stage, "js", "/js/products", "");
    let run = stage.pieme(&["run", "js", "--json"]).json();
    assert_eq!((run["outcome"].as_str(), run["cause"].as_str()), (Some("failed"), Some("config")), "{run}");
    assert!(run["sentence"].as_str().is_some_and(|it| it.contains("refused as root")), "{run}");
}
