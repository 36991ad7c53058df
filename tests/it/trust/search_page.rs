//! The public search page: strangers can ask for anything, as often as they like.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chrono::Utc;
use pieme::model::{Failure, Outcome, Publication, Row, RunId, Verdict};
use pieme::store::{RunStart, Store, Trigger};

use crate::kept::name;
use crate::stage::Stage;

const ROWS: u64 = 30_000;
const CLIENTS: usize = 250;
/// Beginnings of words that every row contains: each costs some megabytes.
const COSTLY: &str = "w1*+w2*+w3*+w4*+w5*+w6*+w7*+w8*+w9*";

/// A daemon with a search page over many rows, and the address of that page.
fn searched() -> (Stage, String) {
    let mut stage = Stage::new();
    stage.write("config.toml", &format!("search = \"127.0.0.1:0\"\n{}", stage.read("config.toml")));
    let mut store = Store::open(&stage.path("state/pieme.db")).expect("a new database");
    let (run, task) = (RunId::new(), name("hotels"));
    let start =
        RunStart { run, task: task.clone(), slot: None, trigger: Trigger::Person, started_at: Utc::now(), pid: None };
    store.begin_run(&start).expect("a run");
    let columns = ["id", "text"].map(str::to_owned);
    let word = |row: u64, at: u64| format!("w{}", (row * 40 + at).wrapping_mul(2_654_435_761) % 20_000);
    let text = |row: u64| (0..40).map(|at| word(row, at)).collect::<Vec<_>>().join(" ");
    let rows: Vec<Row> =
        (0..ROWS).map(|row| Row { cells: vec![Some(row.to_string()), Some(text(row))], page: 0 }).collect();
    store.stage_rows(run, &task, &columns, &["id".to_owned()], &rows, Utc::now()).expect("rows");
    let outcome = Outcome::Published(Publication::Changed);
    let verdict = Verdict { outcome, rows: ROWS, ..Verdict::failed(Failure::Internal, "found") };
    store.end_run(run, &verdict, Utc::now()).expect("an end");
    while !store.index_next_part(&task).expect("a step").is_done {}
    drop(store);
    stage.start_daemon();
    stage.wait_for("the search page", || !stage.read("state/search-url").is_empty());
    let address = stage.read("state/search-url").trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    (stage, address)
}

fn send(address: &str, query: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the page listens");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a socket");
    let head = format!("GET /search?q={query} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("a request");
    stream
}

/// The status of the answer.
fn ask(address: &str, query: &str) -> u16 {
    let mut answer = Vec::new();
    send(address, query).read_to_end(&mut answer).expect("an answer");
    let text = String::from_utf8_lossy(&answer);
    text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no status: {text}"))
}

fn peak_memory_mb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the daemon runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") >> 10
}

fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the daemon runs");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields[11].parse::<u64>().expect("user time") + fields[12].parse::<u64>().expect("system time")
}

#[test]
fn a_crowd_gets_results_or_503_and_the_daemon_stays_small() {
    let (stage, address) = searched();
    assert_eq!(ask(&address, "w77"), 200);
    let dashboard = stage.read("state/web-url").trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let is_over = AtomicBool::new(false);
    let (codes, pages) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| ask(&address, COSTLY))).collect();
        let visitor = scope.spawn(|| {
            let mut pages = 0;
            while !is_over.load(Ordering::Relaxed) {
                let mut stream = TcpStream::connect(&dashboard).expect("the dashboard listens");
                let head = format!("GET /log-in HTTP/1.1\r\nHost: {dashboard}\r\nConnection: close\r\n\r\n");
                stream.write_all(head.as_bytes()).expect("a request");
                let mut answer = String::new();
                stream.read_to_string(&mut answer).expect("a page");
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                pages += 1;
            }
            pages
        });
        let codes: Vec<u16> = clients.into_iter().map(|client| client.join().expect("a client")).collect();
        is_over.store(true, Ordering::Relaxed);
        (codes, visitor.join().expect("the visitor"))
    });
    let count = |code: u16| codes.iter().filter(|it| **it == code).count();
    assert_eq!(count(200) + count(503), CLIENTS, "{codes:?}");
    assert!(count(200) > 0 && pages > 3, "{} answered, {pages} pages of the dashboard", count(200));
    let peak = peak_memory_mb(stage.daemon_pid());
    assert!(peak < 200, "{peak} MB");
    assert_eq!(ask(&address, "w77"), 200, "the page goes on");
}

#[test]
fn a_search_whose_client_has_left_is_stopped() {
    let (stage, address) = searched();
    let pid = stage.daemon_pid();
    let began = Instant::now();
    assert_eq!(ask(&address, COSTLY), 200);
    let one = began.elapsed();
    // More work than the wait below could ever see through.
    let clients = 60;
    let left: Vec<TcpStream> = (0..clients).map(|_| send(&address, COSTLY)).collect();
    thread::sleep(one / 2);
    drop(left);
    let left_at = cpu_ticks(pid);
    let mut last = left_at;
    stage.wait_for("rest", || {
        thread::sleep(Duration::from_millis(300));
        let now = cpu_ticks(pid);
        now - std::mem::replace(&mut last, now) < 5
    });
    let spent = Duration::from_millis((last - left_at) * 10);
    assert!(spent < one * 4, "{spent:?} of work for nobody; one search takes {one:?}");
}
