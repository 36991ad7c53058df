//! Searching 500,000 published rows of 569 bytes beside the bare FTS5 query over the same texts, and the memory that exporting
//! them takes.
//!
//! `cargo bench --bench search` prints times as ratios, what the index costs, and peak memory for a hundredth of the rows and for
//! all. docs/benchmarks.md says what to make of it. A number behind `--` is another number of rows.

#![allow(clippy::print_stdout, reason = "a benchmark speaks to a person")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use chrono::Utc;
use nix::sys::resource::{UsageWho, getrusage};
use pieme::model::{Failure, Outcome, Publication, Row, RunId, TaskName, Verdict};
use pieme::store::{Query, RunStart, Store, Trigger, Wanted};
use rusqlite::{Connection, params};

const ROWS: usize = 500_000;
const PAGE: usize = 500;
const COLUMNS: [&str; 5] = ["id", "name", "price", "link", "text"];
/// Words that the texts are made of; the first are common, the last are rare.
const VOCABULARY: usize = 20_000;
const SHOWN: u64 = 20;
/// The least of so many goes counts.
const ROUNDS: usize = 7;
/// What is typed, and what the bare table is asked.
const ASKED: &[(&str, &str, &str)] = &[
    ("a word of one row", "item0123456", "item0123456"),
    ("a rare word", "w19000", "w19000"),
    ("a common word", "w100", "w100"),
    ("a word of every row", "hotel", "hotel"),
    ("two words", "w50 w70", "w50 AND w70"),
    ("a phrase", "\"hotel w30\"", "\"hotel w30\""),
    ("a beginning", "w199*", "w199*"),
    ("a column", "name:w200", "name : w200"),
    ("without a word", "w300 -w10", "w300 NOT w10"),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["peak", rest @ ..] => peak(rest),
        [rows] => compare(rows.parse().expect("a number of rows")),
        _ => compare(ROWS),
    }
}

fn compare(rows: usize) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let few = kept(&scratch.path().join("few"), rows / 100);
    let all = kept(&scratch.path().join("all"), rows);
    let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len()) >> 20;
    let database = all.join("state/pieme.db");
    let without = size(&database);
    index(&database);
    println!("database: {without} MB of rows, {} MB with the index", size(&database));
    let bare = bare(&scratch.path().join("bare.db"), rows);
    println!("bare FTS5 with its texts: {} MB", size(&scratch.path().join("bare.db")));
    search(&database, &bare);
    export(&few, &all);
}

/// A folder as pieme has it, with published rows.
fn kept(folder: &Path, rows: usize) -> std::path::PathBuf {
    fs::create_dir_all(folder.join("state")).expect("a folder");
    fs::write(folder.join("config.toml"), "").expect("a configuration");
    let mut store = Store::open(&folder.join("state/pieme.db")).expect("a new database");
    let (run, task) = (RunId::new(), TaskName::new("hotels").expect("a good name"));
    let started_at = Utc::now();
    let start = RunStart { run, task: task.clone(), slot: None, trigger: Trigger::Schedule, started_at, pid: None };
    store.begin_run(&start).expect("a run");
    let columns = COLUMNS.map(str::to_owned);
    for from in (0..rows).step_by(PAGE) {
        let page: Vec<Row> = (from..rows.min(from + PAGE)).map(row).collect();
        store.stage_rows(run, &task, &columns, &["id".to_owned()], &page, Utc::now()).expect("staged");
    }
    let outcome = Outcome::Published(Publication::Changed);
    let verdict = Verdict { outcome, rows: rows as u64, ..Verdict::failed(Failure::Internal, "found") };
    assert_eq!(store.end_run(run, &verdict, Utc::now()).expect("an end").outcome, outcome);
    folder.to_owned()
}

fn row(number: usize) -> Row {
    Row { cells: cells(number).into_iter().map(Some).collect(), page: (number / PAGE) as u32 }
}

/// Texts of 569 bytes with words as unevenly spread as those of people.
fn cells(number: usize) -> Vec<String> {
    let mut state = number as u64 + 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = (state >> 11) as f64 / (1_u64 << 53) as f64;
        format!("w{}", ((VOCABULARY as f64).powf(chance) - 1.0) as usize)
    };
    let mut cells = vec![
        format!("item{number:07}"),
        format!("Hotel {} {} {}", word(), word(), word()),
        format!("{}.00", number % 400),
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

fn index(database: &Path) {
    let opened = Instant::now();
    let mut store = Store::open(database).expect("the database");
    println!("opened without an index in {} ms", opened.elapsed().as_millis());
    let task = TaskName::new("hotels").expect("a good name");
    let (mut steps, mut longest, before, began) = (0, Duration::ZERO, cpu(), Instant::now());
    loop {
        let step = Instant::now();
        let is_done = store.index(&task).expect("a step").is_done;
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

/// A plain FTS5 table of the same texts.
fn bare(path: &Path, rows: usize) -> Connection {
    let connection = Connection::open(path).expect("a new database");
    let sql = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;
        CREATE VIRTUAL TABLE bare USING fts5 (id, name, price, link, text, tokenize = 'unicode61 remove_diacritics 2'); BEGIN";
    connection.execute_batch(sql).expect("a table");
    let mut insert = connection.prepare("INSERT INTO bare VALUES (?1, ?2, ?3, ?4, ?5)").expect("a statement");
    for number in 0..rows {
        let cells = cells(number);
        insert.execute(params![cells[0], cells[1], cells[2], cells[3], cells[4]]).expect("a row");
    }
    drop(insert);
    connection.execute_batch("COMMIT").expect("all rows");
    connection
}

fn search(database: &Path, bare: &Connection) {
    let opened = Instant::now();
    drop(Store::open(database).expect("the database"));
    println!("opened with its index in {} ms", opened.elapsed().as_millis());
    let store = Store::open_reader(database).expect("a reader");
    println!("{:<22} {:>9} {:>9} {:>7} {:>9}", "looked for", "bare ms", "pieme ms", "ratio", "found");
    let mut worst = 0.0_f64;
    for (what, typed, asked) in ASKED {
        let query = Query::parse(typed, None).expect("words");
        let wanted = Wanted { query, tasks: Vec::new(), limit: SHOWN, offset: 0 };
        let sql = format!("SELECT rowid FROM bare WHERE bare MATCH ?1 ORDER BY rank LIMIT {SHOWN}");
        let mut statement = bare.prepare(&sql).expect("a statement");
        let (mut theirs, mut ours) = (Duration::MAX, Duration::MAX);
        let (mut total, mut is_more) = (0, false);
        // Turn by turn, so that both meet the same machine.
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let ids: Vec<i64> =
                statement.query_map([asked], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("ids");
            theirs = theirs.min(began.elapsed());
            let began = Instant::now();
            let answer = store.search(&wanted).expect("an answer");
            ours = ours.min(began.elapsed());
            assert_eq!(ids.len(), answer.hits.len(), "{what}");
            (total, is_more) = (answer.total, answer.is_more);
        }
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        worst = worst.max(ratio);
        let ms = |it: Duration| it.as_secs_f64() * 1e3;
        let more = if is_more { ">" } else { "" };
        println!("{what:<22} {:>9.2} {:>9.2} {ratio:>7.2} {:>9}", ms(theirs), ms(ours), format!("{more}{total}"));
    }
    println!("must: 3.0 x; worst: {worst:.2} x");
}

fn export(few: &Path, all: &Path) {
    println!("{:<10} {:>12} {:>12} {:>7} {:>9}", "export", "MB, 1 %", "MB, all", "ratio", "s, all");
    for format in ["csv", "json", "jsonl", "parquet", "sqlite"] {
        let ((small, _), (large, spent)) = (exported(few, format), exported(all, format));
        println!("{format:<10} {small:>12.1} {large:>12.1} {:>7.2} {:>9.1}", large / small, spent.as_secs_f64());
    }
}

/// Peak memory of the program in MB, and how long it took.
fn exported(folder: &Path, format: &str) -> (f64, Duration) {
    let began = Instant::now();
    let output = Command::new(std::env::current_exe().expect("the benchmark itself"))
        .args(["peak", format])
        .arg(folder)
        .output()
        .expect("a process of its own, whose children are counted alone");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (said.trim().parse::<f64>().expect("kB") / 1e3, began.elapsed())
}

fn peak(words: &[&str]) {
    let [format, folder] = words else { panic!("a format and a folder") };
    let folder = Path::new(folder);
    let done = Command::new(env!("CARGO_BIN_EXE_pieme"))
        .args(["--config", &folder.join("config.toml").to_string_lossy(), "export", "hotels", "--format", format, "-o"])
        .arg(folder.join("exported"))
        .stderr(std::process::Stdio::null())
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
