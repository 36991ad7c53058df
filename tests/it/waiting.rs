//! A daemon whose database is not available at the start: it reports what it waits for, and continues by itself.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::postgres::{self, Server};
use crate::stage::{Said, Stage, in_time, is_alive, signal_process};

const SHOP: &str = "practice-shop";

/// Every expected notification arrives within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// The receiver of systemd notifications. It reads continuously, as systemd does, so that the daemon never blocks.
struct Systemd(Receiver<String>);

impl Systemd {
    fn at(path: &Path) -> Systemd {
        let socket = UnixDatagram::bind(path).expect("a socket");
        let (tell, told) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length) = socket.recv(&mut bytes) {
                if tell.send(String::from_utf8_lossy(&bytes[..length]).into_owned()).is_err() {
                    return;
                }
            }
        });
        Systemd(told)
    }

    /// Waits for a message that contains these words.
    fn hear(&self, words: &str) -> String {
        let (until, mut heard) = (Instant::now() + PATIENCE, String::new());
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let Ok(message) = self.0.recv_timeout(left) else { break };
            if message.contains(words) {
                return message;
            }
            heard = format!("{heard}\n{message}");
        }
        panic!("systemd did not hear {words:?}, but:{heard}");
    }
}

/// A stage with a PostgreSQL server of its own.
fn on_own_server() -> (tempfile::TempDir, Server, Stage, postgres::Schema) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let server = Server::own(folder.path());
    let schema = server.schema();
    let stage = Stage::new();
    stage.use_store(&schema.url());
    (folder, server, stage, schema)
}

fn spawn_heard(stage: &mut Stage) -> (u32, Systemd) {
    let socket = stage.path("notify.sock");
    let systemd = Systemd::at(&socket);
    let pid = stage.spawn_daemon(&[("NOTIFY_SOCKET", &socket.display().to_string()), ("WATCHDOG_USEC", "3000000")]);
    (pid, systemd)
}

fn count(text: &str, words: &str) -> usize {
    text.matches(words).count()
}

#[test]
fn a_daemon_that_starts_before_its_server_says_so_and_goes_on_when_the_server_is_there() {
    let (_folder, server, mut stage, _schema) = on_own_server();
    stage.drop_folder(SHOP);
    server.stop("fast");
    let (daemon, systemd) = spawn_heard(&mut stage);
    let told = systemd.hear("STATUS=waiting for the database");
    assert!(told.contains("cannot be reached") && told.contains("READY=1"), "{told}");
    systemd.hear("WATCHDOG=1");
    for words in [&["status"][..], &["records", SHOP]] {
        let said = stage.pieme(words);
        assert_eq!(said.code, 75, "{}", said.stderr);
        assert!(said.stderr.contains("cannot be reached"), "{}", said.stderr);
    }
    let status = stage.pieme(&["status"]).stderr;
    assert!(status.contains("the daemon is running and waits for it"), "{status}");
    let doctor = stage.pieme(&["doctor", "--json"]).json();
    let of_daemon = doctor["findings"].as_array().and_then(|all| all.iter().find(|it| it["what"] == "daemon"));
    let sentence = of_daemon.and_then(|it| it["sentence"].as_str()).unwrap_or_default();
    assert!(sentence.contains("waits for the database") && sentence.contains("cannot be reached"), "{doctor}");
    let run = stage.pieme(&["run", SHOP]);
    assert_eq!(run.code, 75, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("waits for the database"), "{}", run.stderr);
    // The reason is logged once, however often opening is retried.
    stage.wait_for("three looks", || count(&stage.read("log"), "opening the database failed") >= 3);
    assert_eq!(count(&stage.read("log"), "waiting for the database"), 1, "{}", stage.read("log"));
    server.start();
    stage.wait_for_state(SHOP, "ok");
    assert!(is_alive(daemon) && stage.daemon_pid() == daemon, "the same process");
    systemd.hear("running");
    assert!(stage.pieme(&["doctor"]).stdout.contains("running"));
    stage.signal_daemon("-TERM");
    assert_eq!(stage.daemon_ended(), Some(0));
}

#[test]
fn a_daemon_that_waits_ends_at_once_when_it_is_told_to() {
    let mut stage = Stage::new();
    stage.use_store("postgres://me@127.0.0.1:1/rows");
    let (_, systemd) = spawn_heard(&mut stage);
    systemd.hear("STATUS=waiting for the database");
    stage.signal_daemon("-TERM");
    assert_eq!(stage.daemon_ended(), Some(0));
    let (_, systemd) = {
        std::fs::remove_file(stage.path("notify.sock")).expect("the one of before");
        stage.use_store("postgres://me@name.invalid/rows?sslmode=disable");
        spawn_heard(&mut stage)
    };
    systemd.hear("STATUS=waiting for the database");
    stage.signal_daemon("-INT");
    assert_eq!(stage.daemon_ended(), Some(0), "a name that is not known yet is waited for too");
}

#[test]
fn what_will_not_pass_by_itself_ends_the_daemon_with_a_sentence() {
    let mut stage = Stage::new();
    let schema = postgres::shared().schema();
    let ends = |stage: &mut Stage, code: i32, sentence: &str| {
        stage.spawn_daemon(&[]);
        assert_eq!(stage.daemon_ended(), Some(code), "{}", stage.read("log"));
        assert!(stage.read("log").contains(sentence), "{}", stage.read("log"));
    };
    stage.use_store(&schema.url().replace("/postgres", "/no_such_database"));
    ends(&mut stage, 1, "no_such_database");
    stage.use_store(&schema.url());
    stage.start_daemon();
    stage.signal_daemon("-TERM");
    assert_eq!(stage.daemon_ended(), Some(0));
    schema.psql("UPDATE _format SET version = 99");
    ends(&mut stage, 1, "was written by a newer pieme");
    stage.use_store("state/pieme.db");
    stage.write("state/pieme.db", "this is no database at all, and was never one".repeat(100).as_str());
    ends(&mut stage, 1, "pieme.db");
}

/// A small file system of its own over the state folder, for this test and the programs that it starts.
struct SmallDisk {
    holder: Child,
}

impl SmallDisk {
    fn over(folder: &Path) -> SmallDisk {
        let script = format!("mount -t tmpfs -o size=3m,mode=755 tmpfs {} && echo mounted && cat", folder.display());
        let mut unshare = Command::new("unshare");
        if !nix::unistd::Uid::effective().is_root() {
            unshare.args(["--user", "--map-root-user"]);
        }
        let mut holder = unshare
            .args(["--mount", "sh", "-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is installed");
        let mut line = String::new();
        let heard = BufReader::new(holder.stdout.as_mut().expect("a pipe")).read_line(&mut line);
        assert!(heard.is_ok() && line == "mounted\n", "a small tmpfs can be mounted");
        SmallDisk { holder }
    }

    /// A program that sees it.
    fn program(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let user: &[&str] =
            if nix::unistd::Uid::effective().is_root() { &[] } else { &["--user", "--preserve-credentials"] };
        command.args(["--target", &self.holder.id().to_string(), "--mount"]).args(user).arg("--").arg(program);
        command
    }

    fn shell(&self, script: &str) -> Said {
        in_time(self.program("sh").args(["-c", script])).expect("it ends")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The file system goes with the last process that sees it.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// The daemon on the small disk; it ends with its owner.
struct OnDisk(Child);

impl OnDisk {
    fn start(disk: &SmallDisk, stage: &Stage) -> OnDisk {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(stage.path("log")).expect("a log file");
        let mut command = disk.program(env!("CARGO_BIN_EXE_pieme-daemon"));
        command.arg("--config").arg(stage.path("config.toml")).env("RUST_LOG", "debug,hyper=warn");
        command.env("NOTIFY_SOCKET", stage.path("notify.sock")).stdin(Stdio::null()).stderr(log);
        OnDisk(command.spawn().expect("it starts"))
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_daemon_that_starts_on_a_full_disk_waits_for_room() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.path("state")).expect("a folder");
    let disk = SmallDisk::over(&stage.path("state"));
    let systemd = Systemd::at(&stage.path("notify.sock"));
    stage.drop_folder(SHOP);
    let pieme = |words: &[&str]| {
        let mut command = disk.program(env!("CARGO_BIN_EXE_pieme"));
        in_time(command.arg("--config").arg(stage.path("config.toml")).args(words)).expect("it ends")
    };
    let state_of_shop = || {
        let status: serde_json::Value = serde_json::from_str(&pieme(&["status", "--json"]).stdout).unwrap_or_default();
        status["tasks"][0]["state"].as_str().unwrap_or_default().to_owned()
    };
    let first = OnDisk::start(&disk, &stage);
    systemd.hear("READY=1");
    stage.wait_for("the first rows", || state_of_shop() == "ok");
    signal_process(first.0.id(), "-TERM");
    let mut first = first;
    stage.wait_for("its end", || first.0.try_wait().is_ok_and(|ended| ended.is_some()));
    let state = stage.path("state").display().to_string();
    // A write-ahead log that is left behind has room that can be used again: the daemon would need no other.
    disk.shell(&format!("sqlite3 {state}/pieme.db 'PRAGMA wal_checkpoint(TRUNCATE)'"));
    disk.shell(&format!("cat /dev/zero > {state}/filler; cat /dev/zero >> {state}/filler2; true"));
    let mut second = OnDisk::start(&disk, &stage);
    let told = systemd.hear("STATUS=waiting for the database");
    assert!(told.contains("the disk is full"), "{told}");
    let status = pieme(&["status"]).stderr;
    assert!(status.contains("the disk is full") && status.contains("waits for it"), "{status}");
    stage.wait_for("three looks", || count(&stage.read("log"), "opening the database failed") >= 3);
    assert_eq!(count(&stage.read("log"), "waiting for the database"), 1, "{}", stage.read("log"));
    assert!(second.0.try_wait().expect("our child").is_none(), "it lives");
    disk.shell(&format!("rm {state}/filler {state}/filler2"));
    systemd.hear("READY=1");
    let run = pieme(&["run", SHOP, "--json"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(second.0.try_wait().expect("our child").is_none(), "the same process");
}

#[test]
fn the_unit_never_gives_up() {
    let unit = include_str!("../../systemd/pieme-daemon.service");
    let unit_part = unit.split("[Service]").next().unwrap_or_default();
    assert!(unit_part.contains("\nStartLimitIntervalSec=0\n"), "{unit_part}");
    assert!(unit.contains("\nRestart=always\n"));
}
