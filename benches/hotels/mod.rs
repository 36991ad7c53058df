//! Shared by the benchmarks of the store: rows of 569 bytes, and how to publish, index and export them.

#![allow(clippy::print_stdout, dead_code, reason = "a benchmark speaks to a person, and each uses its part")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chrono::Utc;
use nix::sys::resource::{UsageWho, getrusage};
use pieme::model::{Failure, Outcome, Publication, Row, RunId, TaskName, Verdict};
use pieme::store::{RunStart, Store, Trigger};

pub const ROWS: usize = 500_000;
pub const FORMATS: [&str; 5] = ["csv", "json", "jsonl", "parquet", "sqlite"];
/// Hits per page.
pub const SHOWN: u64 = 20;
/// Rounds; the minimum counts.
pub const ROUNDS: usize = 7;

const PAGE: usize = 500;
const COLUMNS: [&str; 5] = ["id", "name", "price", "link", "text"];
/// Number of distinct words; the first are common, the last are rare.
const VOCABULARY: usize = 20_000;

pub fn task() -> TaskName {
    TaskName::new("hotels").expect("a good name")
}

/// One run, staged and published as by the daemon; `cents` are those of each price.
pub fn publish(store: &mut Store, rows: usize, cents: impl Fn(usize) -> usize) -> Outcome {
    let (run, task) = (RunId::new(), task());
    let started_at = Utc::now();
    let start = RunStart { run, task: task.clone(), slot: None, trigger: Trigger::Schedule, started_at, pid: None };
    store.begin_run(&start).expect("a run");
    let columns = COLUMNS.map(str::to_owned);
    let row = |number: usize| Row {
        cells: cells(number, cents(number)).into_iter().map(Some).collect(),
        page: (number / PAGE) as u32,
    };
    for from in (0..rows).step_by(PAGE) {
        let page: Vec<Row> = (from..rows.min(from + PAGE)).map(row).collect();
        store.stage_rows(run, &task, &columns, &["id".to_owned()], &page, Utc::now()).expect("staged");
    }
    let outcome = Outcome::Published(Publication::Changed);
    let verdict = Verdict { outcome, rows: rows as u64, ..Verdict::failed(Failure::Internal, "found") };
    store.end_run(run, &verdict, Utc::now()).expect("an end").outcome
}

/// Texts of 569 bytes with word frequencies as in natural language.
pub fn cells(number: usize, cents: usize) -> Vec<String> {
    let mut state = number as u64 + 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = (state >> 11) as f64 / (1_u64 << 53) as f64;
        format!("w{}", ((VOCABULARY as f64).powf(chance) - 1.0) as usize)
    };
    let mut cells = vec![
        format!("item{number:07}"),
        format!("Hotel {} {} {}", word(), word(), word()),
        format!("{}.{cents:02}", number % 400),
        format!("https://hotels.example.org/halifax/{number:07}.html"),
    ];
    let so_far: usize = cells.iter().map(String::len).sum();
    let mut text = String::new();
    while text.len() < 569 - so_far {
        text.push_str(&word());
        text.push(' ');
    }
    cells.push(text);
    cells
}

pub fn index(store: &mut Store) {
    let (mut steps, mut longest, before, began) = (0, Duration::ZERO, cpu(), Instant::now());
    loop {
        let step = Instant::now();
        let is_done = store.index_next_part(&task()).expect("a step").is_done;
        steps += 1;
        longest = longest.max(step.elapsed());
        if is_done {
            break;
        }
    }
    let (spent, wall) = ((cpu() - before).as_secs_f64(), began.elapsed().as_secs_f64());
    println!(
        "index: {steps} steps, {spent:.1} s of processor time, {wall:.1} s in all, the longest step {} ms",
        longest.as_millis()
    );
}

/// Peak memory of the export in MB, and how long it took.
pub fn exported(folder: &Path, format: &str) -> (f64, Duration) {
    let began = Instant::now();
    let output = Command::new(std::env::current_exe().expect("the benchmark itself"))
        .args(["peak", format])
        .arg(folder)
        .output()
        .expect("a process of its own, whose children are counted alone");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (said.trim().parse::<f64>().expect("kB") / 1e3, began.elapsed())
}

pub fn peak(words: &[&str]) {
    let [format, folder] = words else { panic!("a format and a folder") };
    let folder = Path::new(folder);
    let done = Command::new(env!("CARGO_BIN_EXE_pieme"))
        .args(["--config", &folder.join("config.toml").to_string_lossy(), "export", "hotels", "--format", format, "-o"])
        .arg(folder.join("exported"))
        .stderr(Stdio::null())
        .status();
    assert!(done.expect("pieme starts").success());
    println!("{}", getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel counts").max_rss());
}

/// Processor time of this thread.
fn cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel counts");
    let time = |it: nix::sys::time::TimeVal| Duration::new(it.tv_sec() as u64, it.tv_usec() as u32 * 1_000);
    time(usage.user_time()) + time(usage.system_time())
}
