//! Measures a crawl of 4,200 small pages on loopback: a run of pieme against a bare reqwest + scraper loop and Scrapy.
//!
//! `cargo bench --bench crawl` prints processor time per 1,000 pages. Each client is a process of its own; the server
//! is not counted. docs/benchmarks.md explains the figures.

#![allow(clippy::print_stdout, reason = "a benchmark speaks to a person")]

mod bare;
mod fed;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use pieme::protocol::Job;

use fed::{Server, children, lay_out};

pub const PAGES: usize = 4_200;
pub const ROWS: usize = 10;
/// Rounds; the minimum counts.
const ROUNDS: usize = 12;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => server::serve(),
        ["bare", port, at_a_time] => bare::crawl(port.parse().expect("a port"), at_a_time.parse().expect("a number")),
        _ => compare(),
    }
}

fn compare() {
    let server = Server::start();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    lay_out(scratch.path(), server.port);
    // In turns, since the machine's load changes from minute to minute.
    let job = fed::job(scratch.path());
    let mut best = [Duration::MAX; 4];
    for _ in 0..ROUNDS {
        let loops = |at_a_time| client(this().args(["bare", &server.port.to_string(), at_a_time]));
        let goes = [loops("8"), own(&job), run(scratch.path()), loops("1")];
        best = std::array::from_fn(|i| best[i].min(goes[i]));
    }
    let [bare, own, whole, one_by_one] = best;
    println!("{:<38} {:>14} {:>12}", "client", "CPU s / 1,000", "x bare loop");
    line("bare loop, reqwest + scraper", bare, bare);
    line("… one page at a time, as a run goes", one_by_one, bare);
    line("pieme, the run's own process", own, bare);
    line("pieme run, with publishing", whole, bare);
    match scrapy() {
        Some(python) => {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/crawl_scrapy.py");
            // The difference is large: one round is enough.
            line("Scrapy", client(Command::new(&python).arg(&script).arg(server.port.to_string())), bare);
        }
        None => println!("Scrapy is left out: no python3 here can import it (pip install scrapy)"),
    }
}

fn line(name: &str, cpu: Duration, bare: Duration) {
    let thousand = cpu.as_secs_f64() * 1_000.0 / PAGES as f64;
    println!("{name:<38} {thousand:>14.3} {:>12.2}", cpu.as_secs_f64() / bare.as_secs_f64());
}

/// Processor time of a process and its children. Asserts that it printed the full number of rows.
fn client(command: &mut Command) -> Duration {
    let before = children();
    let output = command.stderr(Stdio::inherit()).output().expect("the client starts");
    let spent = children() - before;
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim().lines().last(), Some((PAGES * ROWS).to_string().as_str()), "all rows were found: {said}");
    spent
}

fn this() -> Command {
    Command::new(std::env::current_exe().expect("the benchmark itself"))
}

fn own(job: &Job) -> Duration {
    let before = children();
    fed::child(job);
    children() - before
}

/// The same by `pieme run`: the child process and its parent, which stores trace and rows in the database.
fn run(folder: &Path) -> Duration {
    let _ = fs::remove_dir_all(folder.join("state"));
    let before = children();
    let output = Command::new(env!("CARGO_BIN_EXE_pieme"))
        .arg("--config")
        .arg(folder.join("config.toml"))
        .args(["run", "crawl", "--json"])
        .output()
        .expect("pieme starts");
    let spent = children() - before;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(&(PAGES * ROWS).to_string()), "{said}{}", String::from_utf8_lossy(&output.stderr));
    spent
}

fn scrapy() -> Option<PathBuf> {
    let told = std::env::var_os("PIEME_PEERS_PYTHON").map(PathBuf::from);
    let python = told.unwrap_or_else(|| PathBuf::from("python3"));
    let found = Command::new(&python).args(["-c", "import scrapy"]).stderr(Stdio::null()).status();
    found.is_ok_and(|it| it.success()).then_some(python)
}
