//! Measures `pieme status` with ten and with ten thousand tasks while a daemon runs: wall time of the whole program,
//! the median of several rounds.
//!
//! cargo bench --bench status

#![allow(clippy::print_stdout, reason = "a benchmark speaks to a person")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use pieme::model::{Failure, Outcome, Publication, Row, RunId, TaskName, Verdict};
use pieme::store::{RunStart, Store, Trigger};

const GOES: usize = 21;
const FORMS: &[&[&str]] = &[&["status"], &["status", "--check"], &["status", "--json"], &["status", "task-7"]];

fn main() {
    for tasks in [10, 10_000] {
        let folder = tempfile::tempdir().expect("a scratch folder");
        lay_out(folder.path(), tasks);
        let mut daemon = start(folder.path());
        wait_for_answer(folder.path());
        for words in FORMS {
            let took = median(folder.path(), words);
            println!("{tasks:>6} tasks, pieme {:<16} {:7.1} ms", words.join(" "), took.as_secs_f64() * 1_000.0);
        }
        let _ = daemon.kill();
        let _ = daemon.wait();
    }
}

fn median(folder: &Path, words: &[&str]) -> Duration {
    let mut all: Vec<Duration> = (0..GOES)
        .map(|_| {
            let began = Instant::now();
            let ended = pieme(folder, words).status().expect("pieme starts");
            assert!(ended.code().is_some(), "{words:?}: {ended}");
            began.elapsed()
        })
        .collect();
    all.sort();
    all[all.len() / 2]
}

fn pieme(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pieme"));
    command.arg("--config").arg(folder.join("config.toml")).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Tasks with published rows. Their next run is tomorrow, so nothing is fetched.
fn lay_out(folder: &Path, tasks: usize) {
    let config = "tasks = \"tasks\"\nstate = \"state\"\nweb = \"off\"\n";
    fs::write(folder.join("config.toml"), config).expect("a scratch file");
    fs::create_dir_all(folder.join("state")).expect("a scratch folder");
    let mut store = Store::open(&folder.join("state/pieme.db")).expect("a new store");
    for number in 0..tasks {
        let dir = folder.join("tasks").join(format!("task-{number}"));
        fs::create_dir_all(&dir).expect("a scratch folder");
        let text = "url = \"https://shop.example/\"\n[schedule]\nevery = \"24h\"\n";
        fs::write(dir.join("task.toml"), text).expect("a scratch file");
        let task = TaskName::new(&format!("task-{number}")).expect("a name");
        publish(&mut store, &task);
        store.set_next_due(&task, Some(Utc::now() + TimeDelta::hours(20))).expect("our own store");
    }
}

fn publish(store: &mut Store, task: &TaskName) {
    let run = RunId::new();
    let start =
        RunStart { run, task: task.clone(), slot: None, trigger: Trigger::Person, started_at: Utc::now(), pid: None };
    store.begin_run(&start).expect("a run");
    let columns = ["name", "price"].map(str::to_owned);
    let row = |at: usize| Row { cells: vec![Some(format!("Product {at}")), Some(format!("{at}.50"))], page: 1 };
    let rows: Vec<Row> = (0..10).map(row).collect();
    store.stage_rows(run, task, &columns, &columns[..1], &rows, Utc::now()).expect("rows");
    let verdict = Verdict {
        outcome: Outcome::Published(Publication::Changed),
        rows: rows.len() as u64,
        pages: 1,
        similarity: Some(1.0),
        ..Verdict::failed(Failure::Internal, "10 rows from 1 page")
    };
    store.end_run(run, &verdict, Utc::now()).expect("an end");
}

fn start(folder: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_pieme-daemon"))
        .arg("--config")
        .arg(folder.join("config.toml"))
        .env("RUST_LOG", "warn")
        .stdin(Stdio::null())
        .spawn()
        .expect("the daemon starts")
}

fn wait_for_answer(folder: &Path) {
    for _ in 0..1_200 {
        let is_well = pieme(folder, &["status", "--check"]).status().is_ok_and(|it| it.success());
        if is_well && folder.join("state/control.sock").exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the daemon did not answer within two minutes");
}
