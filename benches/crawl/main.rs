//! A crawl of 4,200 small pages on loopback: pieme's run beside a bare reqwest + scraper loop and beside Scrapy.
//!
//! `cargo bench --bench crawl` prints processor time per 1,000 pages, each client in a process of its own; the server's is
//! not counted. docs/benchmarks.md says what to make of it.

#![allow(clippy::print_stdout, reason = "a benchmark speaks to a person")]

mod bare;
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use pieme::model::RunId;
use pieme::taskdir;
use pieme::wire::{self, Answer, Assignment, Message, Outlet, Secrets};

pub const PAGES: usize = 4_200;
pub const ROWS: usize = 10;
/// The least of so many goes counts.
const ROUNDS: usize = 3;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => server::serve(),
        ["bare", port] => bare::crawl(port.parse().expect("a port")),
        _ => compare(),
    }
}

fn compare() {
    let server = Server::start();
    let bare = least(|| client(this().args(["bare", &server.port.to_string()])));
    println!("{:<34} {:>14} {:>12}", "client", "CPU s / 1,000", "x bare loop");
    line("bare loop, reqwest + scraper", bare, bare);
    let scratch = tempfile::tempdir().expect("a scratch folder");
    lay_out(scratch.path(), server.port);
    line("pieme, the run's own process", least(|| child(scratch.path())), bare);
    line("pieme run, with publishing", least(|| run(scratch.path())), bare);
    match scrapy() {
        Some(python) => {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/crawl_scrapy.py");
            let cpu = least(|| client(Command::new(&python).arg(&script).arg(server.port.to_string())));
            line("Scrapy", cpu, bare);
        }
        None => println!("Scrapy is left out: no python3 here can import it (pip install scrapy)"),
    }
}

fn line(name: &str, cpu: Duration, bare: Duration) {
    let thousand = cpu.as_secs_f64() * 1_000.0 / PAGES as f64;
    println!("{name:<34} {thousand:>14.3} {:>12.2}", cpu.as_secs_f64() / bare.as_secs_f64());
}

fn least(mut go: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| go()).min().expect("at least one round")
}

/// Processor time of a process and of all that it waited for. It says how many rows it found, and they are all.
fn client(command: &mut Command) -> Duration {
    let before = children();
    let output = command.stderr(Stdio::inherit()).output().expect("the client starts");
    let spent = children() - before;
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim().lines().last(), Some((PAGES * ROWS).to_string().as_str()), "all rows were found: {said}");
    spent
}

fn children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel counts");
    let time = |it: nix::sys::time::TimeVal| Duration::new(it.tv_sec() as u64, it.tv_usec() as u32 * 1_000);
    time(usage.user_time()) + time(usage.system_time())
}

fn this() -> Command {
    Command::new(std::env::current_exe().expect("the benchmark itself"))
}

/// A task folder with its template, as a person would have it after one label.
fn lay_out(folder: &Path, port: u16) {
    fs::create_dir_all(folder.join("tasks/crawl")).expect("a task folder");
    fs::write(folder.join("config.toml"), "tasks = \"tasks\"\nstate = \"state\"\n").expect("a file");
    let task = format!(
        "url = \"http://127.0.0.1:{port}/list?page=1\"\n[limits]\nmax_pages = 10000\nmax_requests = 10000\n\
         [fetch]\nallow_private = true\ndelay = \"0s\"\n"
    );
    fs::write(folder.join("tasks/crawl/task.toml"), task).expect("a file");
    fs::write(folder.join("page.html"), server::page(1)).expect("a file");
    let learned = Command::new(env!("CARGO_BIN_EXE_pieme"))
        .arg("learn")
        .arg(folder.join("page.html"))
        .args(["--pick", "1", "-o"])
        .arg(folder.join("tasks/crawl/template.json"))
        .stdout(Stdio::null())
        .status();
    assert!(learned.is_ok_and(|it| it.success()), "the list is learned");
}

/// The process that fetches and extracts, fed and read as the daemon does it.
fn child(folder: &Path) -> Duration {
    let task = taskdir::read(&folder.join("tasks/crawl")).expect("a good folder");
    let assignment = Assignment {
        run: RunId::new(),
        name: task.name,
        task: task.task,
        script: task.script,
        template: task.template.map(|it| it.text()),
        details: None,
        files: BTreeMap::new(),
        confirmed: true,
        secrets: Secrets::default(),
        cookies: None,
        kept: Vec::new(),
        robots: Vec::new(),
        browser: None,
        scratch: None,
        past: Vec::new(),
        parent_pid: std::process::id(),
    };
    let before = children();
    let (mut outlet, theirs) = Outlet::pair().expect("a pair of sockets");
    let mut process = Command::new(env!("CARGO_BIN_EXE_pieme-daemon"))
        .arg("run-child")
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the run starts");
    outlet.write(&assignment, &[]).expect("it listens");
    let mut stdout = BufReader::new(process.stdout.take().expect("a pipe"));
    let mut found = 0;
    while let Ok(Some((message, _))) = wire::read::<Message>(&mut stdout) {
        match message {
            Message::Rows { rows, .. } => found += rows.len(),
            Message::Turn { .. } => outlet.write(&Answer::Turn { wait_ms: 0 }, &[]).expect("it listens"),
            Message::Connect { question, host, port } => {
                let connection = TcpStream::connect((host, port)).expect("the server is there");
                connection.set_nodelay(true).expect("a socket");
                outlet.give(&Answer::Connected { question }, connection.into()).expect("it listens");
            }
            Message::End(_) => break,
            _ => {}
        }
    }
    drop(outlet);
    process.wait().expect("it ends");
    assert_eq!(found, PAGES * ROWS, "all rows were found");
    children() - before
}

/// The same by `pieme run`: the process above, and its parent, which keeps trace and rows in the database.
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

/// The server in its own process, ended with the benchmark.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start() -> Server {
        let mut process = this().arg("serve").stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut port = String::new();
        BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut port).expect("its port");
        Server { process, port: port.trim().parse().expect("a port") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
