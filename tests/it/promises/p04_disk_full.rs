//! A full disk fails one run and loses no data; the next run succeeds when there is space again.

use std::fs;
use std::path::Path;

use chrono::Utc;
use pieme::model::{Failure, RunId, Verdict};
use pieme::store::Store;
use rusqlite::Connection;

use super::power;
use super::writer::{self, TASKS, database, look};
use super::{report, role, times};
use crate::stage::Stage;

const NAME: &str = "promises::p04_disk_full::promise_04_a_full_disk_costs_one_run_and_not_the_data";

/// More writes than a run needs.
const ALL_WRITES: usize = 100_000;

#[test]
fn promise_04_a_full_disk_costs_one_run_and_not_the_data() {
    if let Some(role) = role() {
        return publish_on_a_full_disk(&role);
    }
    let (mut points, mut violations, mut control) = (0, 0, 0);
    for task in TASKS {
        let step = if task == "small" { times(4, 1) } else { times(60, 3) };
        let (hit, wrong) = fill_up("product", task, step);
        (points, violations) = (points + hit, violations + wrong);
        // The control publishes row by row: half of them are lost when the disk is full.
        control += fill_up("autocommit", task, step * 10).1;
    }
    let counted = format!("disk full (ENOSPC) at each of {points} writes of a run: old rows not intact, not recovered");
    report(4, &counted, violations, control);
}

/// Fills the disk after 0, `step`, 2 × `step` … writes, until a run succeeds. Returns how often the full disk was hit,
/// and how often something was wrong.
fn fill_up(role: &str, task: &str, step: usize) -> (usize, usize) {
    let (mut hit, mut wrong) = (0, 0);
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let shim = power::shim(scratch.path());
    for after in (0..ALL_WRITES).step_by(step) {
        let folder = tempfile::tempdir().expect("a scratch folder");
        prepare(folder.path(), role, task);
        let (after, shim) = (after.to_string(), shim.to_str().expect("a plain path"));
        let data = folder.path().to_str().expect("a plain path");
        let environment = [
            ("LD_PRELOAD", shim),
            ("PIEME_SHIM_FOLDER", data),
            ("PIEME_SHIM_FULL_AFTER", &after),
            ("PIEME_PROMISE_TASK", task),
        ];
        let ended = writer::start(NAME, role, folder.path(), 1, &environment).wait().expect("it ends");
        let result = fs::read_to_string(folder.path().join("result")).unwrap_or_default();
        let words = fs::read_to_string(folder.path().join("stderr")).unwrap_or_default();
        assert!(ended.success() && !result.is_empty(), "{role} {task} {after}: {words}");
        wrong += usize::from(!result.ends_with("right"));
        if result.starts_with("through") {
            return (hit, wrong);
        }
        hit += 1;
    }
    panic!("no run of {role} ever got through");
}

/// A database with generation 1 of the task, published with enough space.
fn prepare(folder: &Path, role: &str, task: &str) {
    let mut store = Store::open(&database(folder)).expect("a new database");
    if role == "product" {
        writer::try_publish(&mut store, task, 1, RunId::new()).expect("published");
    } else {
        writer::replace(&mut writer::control(folder, role), role, task, 1).expect("written");
    }
}

/// The process on the full disk: publishes, fails, checks the rows, gets space, publishes again. Reports whether all
/// was right.
fn publish_on_a_full_disk(role: &str) {
    let folder = writer::folder();
    let task = std::env::var("PIEME_PROMISE_TASK").expect("the test names a task");
    let looker = Connection::open(database(&folder)).expect("a reader");
    let shows = |number| look(&looker, &task).is_some_and(|seen| seen.is_whole(&task) && seen.newest == number);
    let mut store = Store::open(&database(&folder)).expect("a sound database");
    let mut control = (role != "product").then(|| writer::control(&folder, role));
    let run = RunId::new();
    let published = match &mut control {
        None => writer::try_publish(&mut store, &task, 2, run).map_err(|error| error.to_string()),
        Some(control) => writer::replace(control, role, &task, 2).map_err(|error| error.to_string()),
    };
    let mut right = shows(if published.is_ok() { 2 } else { 1 });
    if let Err(sentence) = &published {
        right &= sentence.contains("disk is full") || sentence.contains("disk I/O") || control.is_some();
        store.end_failed(run, &Verdict::failed(Failure::Internal, sentence.as_str()), Utc::now());
    }
    fs::write(folder.join("room"), "").expect("there is room again");
    right &= store.write_pending_ends().is_ok();
    match &mut control {
        None => right &= writer::try_publish(&mut store, &task, 3, RunId::new()).is_ok(),
        Some(control) => right &= writer::replace(control, role, &task, 3).is_ok(),
    }
    let going = store.tasks().expect("tasks").iter().any(|row| row.running_since.is_some());
    right &= shows(3) && !going && integrity(&looker) == "ok";
    let words = (if published.is_ok() { "through" } else { "full" }, if right { "right" } else { "wrong" });
    fs::write(folder.join("result"), format!("{} {}", words.0, words.1)).expect("a file");
}

fn integrity(connection: &Connection) -> String {
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap_or_default()
}

#[test]
fn promise_04_the_daemon_goes_on_over_a_full_disk() {
    const SHOP: &str = "practice-shop";
    let mut stage = Stage::new();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (shim, state) = (power::shim(scratch.path()), stage.path("state"));
    stage.drop_folder(SHOP);
    let plain = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let daemon = stage.start_daemon_with(&[("LD_PRELOAD", &plain(&shim)), ("PIEME_SHIM_FOLDER", &plain(&state))]);
    stage.wait_for_state(SHOP, "ok");
    let before = stage.sql("SELECT name, price FROM \"practice-shop\"");
    stage.post("/switch/prices");
    stage.write("state/full", "");
    for _ in 0..2 {
        let said = stage.pieme(&["run", SHOP, "--json"]);
        let verdict = said.json();
        let words = (verdict["outcome"].as_str(), verdict["cause"].as_str(), said.code);
        assert_eq!(words, (Some("failed"), Some("internal"), 1), "{verdict}");
        assert!(verdict["sentence"].as_str().is_some_and(|it| it.contains("the disk is full")), "{verdict}");
        assert_eq!(stage.sql("SELECT name, price FROM \"practice-shop\""), before, "old rows stay");
    }
    fs::remove_file(stage.path("state/full")).expect("there is room again");
    let verdict = stage.pieme(&["run", SHOP, "--json"]).json();
    assert_eq!(verdict["cause"], "changed", "{verdict}");
    assert_ne!(stage.sql("SELECT name, price FROM \"practice-shop\""), before);
    assert_eq!(stage.sql("SELECT count(*) FROM _runs WHERE ended IS NULL"), "0");
    assert_eq!(stage.sql("PRAGMA integrity_check"), "ok");
    assert!(crate::stage::is_alive(daemon));
}
