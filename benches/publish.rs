//! Measures publishing 500,000 rows of 569 bytes over as many published ones, while four readers look up keys, against
//! the fastest way to insert as many rows into SQLite: a fresh file, no journal, one transaction, the index last.
//!
//! Then publishes as many with one row in fifty changed, and as many without a change.
//!
//! `cargo bench --bench publish` prints the processor time of the writing thread, the bytes written, the size of the
//! write-ahead log, and what the readers saw. docs/benchmarks.md explains the figures.

#![allow(clippy::print_stdout, reason = "a benchmark speaks to a person")]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use chrono::Utc;
use nix::sys::resource::{UsageWho, getrusage};
use pieme::model::{Failure, Outcome, Publication, Row, RunId, TaskName, Verdict};
use pieme::store::{RunStart, Store, Trigger};
use rusqlite::{Connection, params};

const ROWS: usize = 500_000;
const PAGE: usize = 500;
const READERS: usize = 4;
/// Keys that one reader looks up at once; all must belong to one generation.
const LOOKUPS: usize = 10;
/// Rounds; the minimum counts.
const ROUNDS: usize = 3;
const COLUMNS: [&str; 6] = ["id", "generation", "name", "price", "link", "text"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["read", path, number] => read(Path::new(path), number.parse().expect("a number")),
        _ => compare(),
    }
}

fn compare() {
    let fastest = (0..ROUNDS).map(|_| fastest()).min().expect("at least one round");
    line("fresh file, no journal, index last", fastest, fastest, None);
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let path = scratch.path().join("pieme.db");
    let mut store = Store::open(&path).expect("a new database");
    let (first, first_bytes) = publish(&mut store, (0, 0), Publication::Changed);
    line("pieme, the first time", first, fastest, Some(first_bytes));
    let readers: Vec<Child> = (0..READERS).map(|number| start_reader(&path, number)).collect();
    let (done, log) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let size = fs::metadata(path.with_file_name("pieme.db-wal")).map_or(0, |it| it.len());
                log.fetch_max(size, Ordering::Relaxed);
                thread::park_timeout(Duration::from_millis(5));
            }
        });
        for (name, editions, cause) in [
            ("pieme, all rows changed, four readers", [(1, 1), (2, 2), (3, 3)], Publication::Changed),
            ("pieme, one of 50 changed, four readers", [(3, 4), (3, 5), (3, 6)], Publication::Changed),
            ("pieme, none changed, four readers", [(3, 6), (3, 6), (3, 6)], Publication::Unchanged),
        ] {
            let goes = editions.map(|edition| publish(&mut store, edition, cause));
            let (spent, bytes) = goes.into_iter().min().expect("at least one go");
            line(name, spent, fastest, Some(bytes));
            if cause == Publication::Unchanged {
                println!(
                    "unchanged: {:.2} % of the bytes of the first (must: 2)",
                    bytes as f64 * 100.0 / first_bytes as f64
                );
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let (looks, half) = readers.into_iter().map(end_reader).fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    println!(
        "must: 2.0 x; log at most {} MB (must: 64); {looks} looks of {LOOKUPS} keys each, {half} at half a table",
        log.into_inner() >> 20
    );
}

fn line(name: &str, cpu: Duration, fastest: Duration, bytes: Option<u64>) {
    let written = bytes.map_or(String::new(), |bytes| format!("{:>9.2} MB", bytes as f64 / 1e6));
    println!("{name:<42} {:>7.2} s {:>6.2} x{written}", cpu.as_secs_f64(), cpu.as_secs_f64() / fastest.as_secs_f64());
}

/// Bytes that this process has written. The readers are other processes.
fn written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").expect("the kernel counts");
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).expect("bytes written")
}

/// Processor time of this thread.
fn cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel counts");
    let time = |it: nix::sys::time::TimeVal| Duration::new(it.tv_sec() as u64, it.tv_usec() as u32 * 1_000);
    time(usage.user_time()) + time(usage.system_time())
}

/// Adds the processor time of the work to `spent`.
fn timed<T>(spent: &mut Duration, work: impl FnOnce() -> T) -> T {
    let before = cpu();
    let result = work();
    *spent += cpu() - before;
    result
}

/// Generation of all rows, and edition of the price of one row in 50.
type Edition = (usize, usize);

/// A page of rows of 569 bytes each.
fn page(from: usize, (generation, prices): Edition) -> Vec<Row> {
    let row = |number: usize| {
        let price = if number % 50 == 7 { prices } else { 0 };
        let mut cells = vec![
            format!("item-{number:07}"),
            format!("{generation:02}"),
            format!("A hotel with a name of the usual length, number {number:07}"),
            format!("{price:05}.00"),
            format!("https://hotels.example.org/en/canada/nova-scotia/halifax/hotel-{number:07}.html?from=list"),
        ];
        let so_far: usize = cells.iter().map(String::len).sum();
        cells.push("Close to the harbour, with breakfast. ".repeat(15)[..569 - so_far].to_owned());
        Row { cells: cells.into_iter().map(Some).collect(), page: (number / PAGE) as u32 }
    };
    (from..from + PAGE).map(row).collect()
}

fn fastest() -> Duration {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let connection = Connection::open(scratch.path().join("fastest.db")).expect("a new database");
    let sql = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000;
        PRAGMA locking_mode = EXCLUSIVE;
        CREATE TABLE rows (id TEXT, generation TEXT, name TEXT, price TEXT, link TEXT, text TEXT); BEGIN";
    let mut spent = Duration::ZERO;
    timed(&mut spent, || connection.execute_batch(sql)).expect("a table");
    let mut insert = connection.prepare("INSERT INTO rows VALUES (?1, ?2, ?3, ?4, ?5, ?6)").expect("a statement");
    for from in (0..ROWS).step_by(PAGE) {
        let rows = page(from, (0, 0));
        timed(&mut spent, || {
            for Row { cells, .. } in &rows {
                insert.execute(params![cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]]).expect("a row");
            }
        });
    }
    timed(&mut spent, || connection.execute_batch("COMMIT; CREATE INDEX rows_id ON rows (id)")).expect("an index");
    spent
}

/// One run, staged and published as by the daemon.
fn publish(store: &mut Store, edition: Edition, cause: Publication) -> (Duration, u64) {
    let before = written();
    let (run, task) = (RunId::new(), TaskName::new("hotels").expect("a good name"));
    let started_at = Utc::now();
    let start = RunStart { run, task: task.clone(), slot: None, trigger: Trigger::Schedule, started_at, pid: None };
    let (columns, key) = (COLUMNS.map(str::to_owned), ["id".to_owned()]);
    let mut spent = Duration::ZERO;
    timed(&mut spent, || store.begin_run(&start)).expect("a run");
    for from in (0..ROWS).step_by(PAGE) {
        let rows = page(from, edition);
        timed(&mut spent, || store.stage_rows(run, &task, &columns, &key, &rows, Utc::now())).expect("staged");
    }
    let outcome = Outcome::Published(Publication::Changed);
    let verdict = Verdict { outcome, rows: ROWS as u64, ..Verdict::failed(Failure::Internal, "found") };
    let ended = timed(&mut spent, || store.end_run(run, &verdict, Utc::now())).expect("an end");
    assert_eq!(ended.outcome, Outcome::Published(cause));
    (spent, written() - before)
}

/// Keys spread over the whole table; every generation has them.
fn keys() -> Vec<String> {
    (0..ROWS)
        .filter(|number| number % 997 == 0 || *number >= ROWS - 3)
        .map(|number| format!("item-{number:07}"))
        .collect()
}

/// A reader process; it ends when its stdin is closed.
fn start_reader(path: &Path, number: usize) -> Child {
    Command::new(std::env::current_exe().expect("the benchmark itself"))
        .arg("read")
        .arg(path)
        .arg(number.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a reader starts")
}

/// How often the reader looked, and how often it saw an incomplete table.
fn end_reader(mut reader: Child) -> (u64, u64) {
    drop(reader.stdin.take());
    let output = reader.wait_with_output().expect("a reader ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = said.split_whitespace().map(|it| it.parse().expect("a count"));
    (numbers.next().expect("looks"), numbers.next().expect("half tables"))
}

fn read(path: &Path, number: usize) {
    let done = AtomicBool::new(false);
    let keys = &keys()[number..];
    let (mut looks, mut half) = (0_u64, 0_u64);
    thread::scope(|threads| {
        threads.spawn(|| {
            // stdin closes when the benchmark ends, however it ends.
            let _ = std::io::stdin().read(&mut [0]);
            done.store(true, Ordering::Relaxed);
        });
        look(path, keys, &done, &mut looks, &mut half);
    });
    println!("{looks} {half}");
}

fn look(path: &Path, keys: &[String], done: &AtomicBool, looks: &mut u64, half: &mut u64) {
    let store = Store::open_reader(path).expect("a reader");
    let task = TaskName::new("hotels").expect("a good name");
    let mut turn = 0;
    while !done.load(Ordering::Relaxed) {
        let asked = (0..LOOKUPS).map(|n| &keys[(turn + n * 53) % keys.len()]);
        let asked: Vec<Vec<(&str, &str)>> = asked.map(|key| vec![("id", key.as_str())]).collect();
        let seen = store.published_by_key(&task, &asked).expect("an answer");
        let generation = |row: &Option<Row>| row.as_ref().and_then(|row| row.cells[1].clone());
        let is_whole = seen.iter().zip(&asked).all(|(row, key)| {
            let id = row.as_ref().and_then(|row| row.cells[0].as_deref());
            id == Some(key[0].1) && generation(row) == generation(&seen[0])
        });
        turn += 1;
        *looks += 1;
        *half += u64::from(!is_whole);
    }
}
