//! Shared by the benchmarks of runs: a server process, a task that reads it, and a child process driven like the
//! daemon's.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use pieme::config::Config;
use pieme::daemon::child::spawn::spawn_child;
use pieme::protocol::bounds::BoundedMessage;
use pieme::protocol::{Budget, FetchInput, FetchRequest, Job, MessageReader, ParentAnswer, RunJob, RunMessage};
use pieme::tasks;

use super::{PAGES, ROWS, server, this};

/// Writes a task folder with a template, as after one label.
pub fn lay_out(folder: &Path, port: u16) {
    fs::create_dir_all(folder.join("tasks/crawl")).expect("a task folder");
    let grant = format!("[private]\n\"crawl\" = [\"127.0.0.1:{port}\"]\n");
    fs::write(folder.join("config.toml"), format!("tasks = \"tasks\"\nstate = \"state\"\n{grant}")).expect("a file");
    let task = format!(
        "url = \"http://127.0.0.1:{port}/list?page=1\"\n[limits]\nmax_pages = 10000\nmax_requests = 10000\n\
         [fetch]\ndelay = \"0s\"\n"
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

/// The job of one run.
pub fn job(folder: &Path) -> Job {
    let task = tasks::read(&folder.join("tasks/crawl")).expect("a good folder");
    let config = Config::load(&folder.join("config.toml")).expect("a good file");
    let addresses = config.grants.current().addresses_of(&task.name);
    let fetch = FetchInput::new(&task.task, &task.script, task.template.map(|it| it.text()));
    let fetch = FetchInput { addresses, ..fetch };
    Job::from(RunJob { fetch, details: None, confirmed: true, past: Vec::new() })
}

/// Runs the child process that fetches and extracts, driven as by the daemon.
pub fn child(job: &Job) {
    let program = Path::new(env!("CARGO_BIN_EXE_pieme-daemon"));
    let (mut process, mut outlet) = spawn_child(program).expect("the run starts");
    outlet.write(job, &[]).expect("it listens");
    let stdout = BufReader::new(process.stdout.take().expect("a pipe"));
    let (mut found, mut end) = (0, "it ended without a word".to_owned());
    let mut messages = MessageReader::<_, RunMessage>::new(stdout, Budget::new(RunMessage::kinds()));
    while let Ok(Some((message, _))) = messages.next_message() {
        match message {
            RunMessage::Rows { rows, .. } => found += rows.len(),
            RunMessage::Request(FetchRequest::Turn { .. }) => {
                outlet.write(&ParentAnswer::Turn { wait_ms: 0 }, &[]).expect("it listens")
            }
            RunMessage::Request(FetchRequest::Connect { question, host, port }) => {
                let connection = TcpStream::connect((host, port)).expect("the server is there");
                connection.set_nodelay(true).expect("a socket");
                outlet
                    .write_with_connection(&ParentAnswer::Connected { question }, connection.into())
                    .expect("it listens");
            }
            RunMessage::End(verdict) => {
                end = verdict.sentence;
                break;
            }
            _ => {}
        }
    }
    drop(outlet);
    process.wait().expect("it ends");
    assert_eq!(found, PAGES * ROWS, "all rows were found: {end}");
}

/// Processor time of all child processes so far.
pub fn children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel counts");
    let time = |it: nix::sys::time::TimeVal| Duration::new(it.tv_sec() as u64, it.tv_usec() as u32 * 1_000);
    time(usage.user_time()) + time(usage.system_time())
}

/// The server process; killed when the benchmark ends.
pub struct Server {
    process: Child,
    pub port: u16,
}

impl Server {
    pub fn start() -> Server {
        let mut process = this().arg("serve").stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut port = String::new();
        BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut port).expect("its port");
        Server { process, port: port.trim().parse().expect("a port") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
