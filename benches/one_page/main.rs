//! Measures one page in a sandboxed child process against a bare program that fetches and reads the same page.
//!
//! `cargo bench --bench one_page` prints processor time and memory of a process; server and parent are not counted.

#![allow(clippy::print_stdout, reason = "a benchmark speaks to a person")]

#[path = "../crawl/bare.rs"]
mod bare;
#[path = "../crawl/fed.rs"]
mod fed;
#[path = "../crawl/server.rs"]
mod server;

use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

pub const PAGES: usize = 1;
pub const ROWS: usize = 10;
/// Consecutive starts per round; the minimum of the rounds counts.
const STARTS: u32 = 20;
const ROUNDS: usize = 5;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => server::serve(),
        ["bare", port] => bare::crawl(port.parse().expect("a port"), 1),
        ["measure", "bare", port] => measure(|| {
            let done = this().args(["bare", port]).stdout(Stdio::null()).status();
            assert!(done.is_ok_and(|it| it.success()), "the bare program is done");
        }),
        ["measure", "run", port] => {
            let scratch = tempfile::tempdir().expect("a scratch folder");
            fed::lay_out(scratch.path(), port.parse().expect("a port"));
            let job = fed::job(scratch.path());
            measure(|| fed::child(&job));
        }
        _ => compare(),
    }
}

fn compare() {
    let server = fed::Server::start();
    let port = server.port.to_string();
    let mut best = [(Duration::MAX, u64::MAX); 2];
    for _ in 0..ROUNDS {
        for (best, what) in best.iter_mut().zip(["bare", "run"]) {
            let (cpu, memory) = measured(this().args(["measure", what, &port]));
            *best = (best.0.min(cpu), best.1.min(memory));
        }
    }
    println!("{:<34} {:>8} {:>8} {:>8} {:>8}", "one page", "CPU ms", "x bare", "MB", "x bare");
    for ((cpu, memory), name) in
        best.into_iter().zip(["bare program, reqwest + scraper", "pieme, the run's own process"])
    {
        println!(
            "{name:<34} {:>8.2} {:>8.2} {:>8.1} {:>8.2}",
            cpu.as_secs_f64() * 1_000.0,
            cpu.as_secs_f64() / best[0].0.as_secs_f64(),
            memory as f64 / 1_024.0,
            memory as f64 / best[0].1 as f64
        );
    }
}

/// Runs in a process that starts nothing else, so that the usage of its children is what is measured.
fn measure(start: impl Fn()) {
    (0..STARTS).for_each(|_| start());
    println!("{} {}", (fed::children() / STARTS).as_micros(), most_memory());
}

/// Peak memory of the largest child, in kB.
fn most_memory() -> u64 {
    u64::try_from(getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel counts").max_rss()).expect("a size")
}

fn measured(command: &mut Command) -> (Duration, u64) {
    let said = command.output().expect("the benchmark itself").stdout;
    let said = String::from_utf8_lossy(&said);
    let (cpu, memory) = said.trim().split_once(' ').expect("two numbers");
    (Duration::from_micros(cpu.parse().expect("a number")), memory.parse().expect("a number"))
}

fn this() -> Command {
    Command::new(std::env::current_exe().expect("the benchmark itself"))
}
