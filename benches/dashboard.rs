//! Measures the first contentful paint of the dashboard's pages in Chromium, with many tasks and rows against ten of
//! each; the median of several rounds.
//!
//! cargo bench --bench dashboard

#![allow(clippy::print_stdout, reason = "a benchmark speaks to a person")]

#[allow(dead_code, reason = "the tests drive it in more ways")]
#[path = "../tests/it/web/browser.rs"]
mod browser;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use chrono::Utc;
use pieme::model::{Failure, Outcome, Publication, Row, RunId, TaskName, Verdict};
use pieme::store::{RunStart, Store, Trigger};

use browser::Browser;

const GOES: usize = 15;
const FEW: usize = 10;
const MANY_TASKS: usize = 10_000;
const MANY_ROWS: usize = 500_000;
const BATCH: usize = 10_000;
const PASSWORD: &str = "practice makes perfect";

fn main() {
    let few = measure(FEW, FEW);
    let many = measure(MANY_TASKS, MANY_ROWS);
    println!(
        "first contentful paint, median of {GOES}, {FEW} tasks and rows against {MANY_TASKS} tasks and {MANY_ROWS} rows"
    );
    for ((page, few), (_, many)) in few.iter().zip(&many) {
        println!("{page:<12} {few:6.0} ms {many:6.0} ms  {:.2} x", many / few);
    }
}

/// The first contentful paint of each page, in milliseconds.
fn measure(tasks: usize, rows: usize) -> Vec<(&'static str, f64)> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    lay_out(folder.path(), tasks, rows);
    let mut daemon = start(folder.path());
    let url = wait_for_url(folder.path());
    wait_for_index(folder.path());
    let mut browser = Browser::start();
    browser.log_in(&url, PASSWORD);
    let pages = [
        ("status", ""),
        ("filter", "?q=task-7"),
        ("rows", "task/large"),
        ("rows, last", "task/large?page=9999999"),
        ("runs", "task/large/runs"),
        ("files", "task/large/files"),
        ("changes", "task/large/changes"),
        ("duplicates", "task/large/duplicates"),
        ("search", "search?q=word7"),
    ];
    let took = pages.map(|(name, path)| {
        let took = median(&mut browser, &format!("{url}{path}"));
        println!("{tasks} tasks, {rows} rows: {name} {took:.0} ms");
        (name, took)
    });
    let _ = daemon.kill();
    let _ = daemon.wait();
    took.to_vec()
}

fn median(browser: &mut Browser, url: &str) -> f64 {
    browser.goto(url);
    let mut all: Vec<f64> = (0..GOES)
        .map(|_| {
            browser.goto(url);
            let paint = "performance.getEntriesByName('first-contentful-paint')[0]";
            browser.wait_for("it to be seen", paint);
            browser.eval(&format!("{paint}.startTime")).as_f64().unwrap_or(f64::NAN)
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn lay_out(folder: &Path, tasks: usize, rows: usize) {
    let config = "tasks = \"tasks\"\nstate = \"state\"\nweb = \"127.0.0.1:0\"\n";
    fs::write(folder.join("config.toml"), config).expect("a scratch file");
    fs::create_dir_all(folder.join("state")).expect("a scratch folder");
    let mut store = Store::open(&folder.join("state/pieme.db")).expect("a new store");
    for number in 0..tasks - 1 {
        task(folder, &mut store, &format!("task-{number}"), FEW);
    }
    let large = task(folder, &mut store, "large", rows);
    // A tenth of the prices changes, so that the page marks changed cells.
    publish(&mut store, &large, rows, 10);
}

/// A task with published rows; paused, so that nothing is fetched.
fn task(folder: &Path, store: &mut Store, name: &str, rows: usize) -> TaskName {
    let dir = folder.join("tasks").join(name);
    fs::create_dir_all(&dir).expect("a scratch folder");
    fs::write(dir.join("task.toml"), "url = \"https://shop.example/\"\n").expect("a scratch file");
    let task = TaskName::new(name).expect("a name");
    store.upsert_task(&task, None, Utc::now()).expect("our own store");
    store.set_paused(&task, true).expect("our own store");
    publish(store, &task, rows, usize::MAX);
    task
}

/// Publishes rows; every `every`-th has another price.
fn publish(store: &mut Store, task: &TaskName, rows: usize, every: usize) {
    let run = RunId::new();
    let start =
        RunStart { run, task: task.clone(), slot: None, trigger: Trigger::Person, started_at: Utc::now(), pid: None };
    store.begin_run(&start).expect("a run");
    let columns = ["name", "price", "text"].map(str::to_owned);
    for first in (0..rows).step_by(BATCH) {
        let row = |at: usize| {
            let price =
                if (at + 1).is_multiple_of(every) { "on request".to_owned() } else { format!("{}.50", at % 1_000) };
            let cells = [format!("Product {at}"), price, format!("word{} of {task}", at % 5_000)];
            Row { cells: cells.map(Some).to_vec(), page: 1 }
        };
        let part: Vec<Row> = (first..rows.min(first + BATCH)).map(row).collect();
        store.stage_rows(run, task, &columns, &columns[..1], &part, Utc::now()).expect("rows");
    }
    let verdict = Verdict {
        outcome: Outcome::Published(Publication::Changed),
        rows: rows as u64,
        pages: 1,
        similarity: Some(1.0),
        ..Verdict::failed(Failure::Internal, "")
    };
    store.end_run(run, &verdict, Utc::now()).expect("an end");
}

fn start(folder: &Path) -> Child {
    let mut password = Command::new(env!("CARGO_BIN_EXE_pieme"))
        .arg("--config")
        .arg(folder.join("config.toml"))
        .args(["web", "password"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("pieme starts");
    password.stdin.take().expect("stdin is piped").write_all(PASSWORD.as_bytes()).expect("it reads");
    assert!(password.wait().expect("it ends").success());
    Command::new(env!("CARGO_BIN_EXE_pieme-daemon"))
        .arg("--config")
        .arg(folder.join("config.toml"))
        .env("RUST_LOG", "warn")
        .stdin(Stdio::null())
        .spawn()
        .expect("the daemon starts")
}

/// Waits for the search index: after a large first publication it occupies one of two processors for minutes.
fn wait_for_index(folder: &Path) {
    let store = Store::open_reader(&folder.join("state/pieme.db")).expect("our own store");
    for _ in 0..6_000 {
        if store.unindexed_tasks().expect("our own store").is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the search index was not complete within ten minutes");
}

fn wait_for_url(folder: &Path) -> String {
    for _ in 0..2_400 {
        if let Ok(url) = fs::read_to_string(folder.join("state/web-url")) {
            return url.trim().to_owned();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the dashboard did not start within four minutes");
}
