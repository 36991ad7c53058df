//! `pieme demo`: starts a practice site, two tasks on it and the daemon in a scratch folder.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, interval};

use crate::config::Config;
use crate::daemon::child::spawn::THIS_PROGRAM;
use crate::practice::{self, Site};
use crate::web::{ADDRESS_FILE, password};

use super::service::DAEMON_NAME;
use super::{CliError, VerbResult, exit, output, status};

/// Start a practice site, two tasks on it and the daemon in a scratch folder
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  pieme demo                  runs until Ctrl-C
  pieme demo --once           ends when both tasks have rows
  pieme demo --dir /tmp/try   keeps everything in that folder
  pieme demo --site-only      only the practice site, to try it with your own daemon")]
pub(super) struct Args {
    /// Port of the practice site; if it is busy, another one is used
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// Folder to use and to keep; default: a scratch folder that is removed at the end
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// End when both tasks have run
    #[arg(long)]
    once: bool,
    /// Start only the practice site, without tasks and daemon; runs until Ctrl-C
    #[arg(long, conflicts_with_all = ["dir", "once"])]
    site_only: bool,
}

/// The port that the task folders in tasks/ name.
pub(super) const PORT: u16 = 8643;
/// A first run of both tasks takes a second or two; a slow machine gets a minute.
const FIRST_RUNS_TIMEOUT: Duration = Duration::from_secs(60);

/// The task folders that come with pieme, file by file.
pub const FILES: [(&str, &str); 7] = [
    ("practice-shop/task.toml", include_str!("../../tasks/practice-shop/task.toml")),
    ("practice-shop/template.json", include_str!("../../tasks/practice-shop/template.json")),
    ("practice-shop/labels.toml", include_str!("../../tasks/practice-shop/labels.toml")),
    ("practice-orders/task.toml", include_str!("../../tasks/practice-orders/task.toml")),
    ("practice-orders/robot.toml", include_str!("../../tasks/practice-orders/robot.toml")),
    ("practice-orders/template.json", include_str!("../../tasks/practice-orders/template.json")),
    ("practice-orders/labels.toml", include_str!("../../tasks/practice-orders/labels.toml")),
];

const CONFIG: &str = "\
# Written by `pieme demo`. Every other setting has its default; see config.toml of the project.
tasks = \"tasks\"
state = \"state\"
# Any port that is free.
web = \"127.0.0.1:0\"

[private]
\"practice-*\" = [\"127.0.0.1:8643\"]
# The tasks that log in may use the practice password, at the practice site only.
[secret.practice_password]
tasks = [\"practice-*\"]
origins = [\"http://127.0.0.1:8643\"]
";

pub(super) fn run(args: Args) -> VerbResult {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(CliError::failed)?;
    if args.site_only {
        return runtime.block_on(serve(args.port));
    }
    let scratch = args.dir.is_none();
    let folder = match args.dir {
        Some(dir) => dir,
        None => std::env::temp_dir().join(format!("pieme-demo-{}", std::process::id())),
    };
    let done = runtime.block_on(show(&folder, args.port, args.once));
    if scratch && let Err(error) = fs::remove_dir_all(&folder) {
        output::note(format!("pieme: cannot remove {}: {error}", folder.display()));
    }
    done
}

async fn serve(port: u16) -> VerbResult {
    let site = start_site(port).await.map_err(CliError::failed)?;
    let mut told_to_end = stop_signals().map_err(CliError::failed)?;
    let products = site.url().join("/products").map_or_else(|_| site.url().to_string(), String::from);
    output::say(format!(
        "The practice site is at {}. Add its list of products:\n  pieme add {products} --allow-private",
        site.url()
    ));
    told_to_end.recv().await;
    Ok(exit::DONE)
}

async fn show(folder: &Path, port: u16, once: bool) -> VerbResult {
    let site = start_site(port).await.map_err(CliError::failed)?;
    let config = write_files(folder, site.port()).map_err(CliError::failed)?;
    let config = Config::load(&config)?;
    password::set(&config, practice::PASSWORD).map_err(CliError::failed)?;
    let mut told_to_end = stop_signals().map_err(CliError::failed)?;
    let mut daemon = start_daemon(&config).map_err(CliError::failed)?;
    let shown = tokio::select! {
        shown = watch(&site, folder, &config, &mut daemon, once) => shown,
        _ = told_to_end.recv() => Ok(()),
    };
    stop(daemon).await;
    shown.map(|()| exit::DONE)
}

/// Waits for the first runs and shows the status table, then again whenever it changes.
async fn watch(site: &Site, folder: &Path, config: &Config, daemon: &mut Child, once: bool) -> Result<(), CliError> {
    output::note(format!(
        "Practice site: {}\nFolder:        {}\nWaiting for the first runs …",
        site.url(),
        folder.display()
    ));
    first_runs(config, daemon).await?;
    output::say(status::table(config)?);
    if once {
        return Ok(());
    }
    explain(site, config, folder);
    follow(config, daemon).await
}

/// Receives Ctrl-C, SIGTERM and the closing of the terminal, so that the daemon is stopped in each case.
fn stop_signals() -> io::Result<mpsc::Receiver<()>> {
    let (tell, told) = mpsc::channel(1);
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let mut signals = signal(kind)?;
        let tell = tell.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                // A full channel already holds a stop.
                let _ = tell.try_send(());
            }
        });
    }
    Ok(told)
}

async fn start_site(port: u16) -> io::Result<Site> {
    match Site::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Site::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
        }
        started => started,
    }
}

/// Writes configuration, task folders and the practice password; returns the path of the configuration.
pub fn write_files(folder: &Path, port: u16) -> io::Result<PathBuf> {
    let at_port = |text: &str| text.replace(&format!("127.0.0.1:{PORT}"), &format!("127.0.0.1:{port}"));
    for (name, text) in FILES {
        let file = folder.join("tasks").join(name);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(file, at_port(text))?;
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join("secrets"))?;
    let secret = folder.join("secrets/practice_password");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(secret)?;
    io::Write::write_all(&mut file, practice::PASSWORD.as_bytes())?;
    let config = folder.join("config.toml");
    fs::write(&config, at_port(CONFIG))?;
    Ok(config)
}

fn start_daemon(config: &Config) -> io::Result<Child> {
    Command::new(THIS_PROGRAM)
        .arg0(DAEMON_NAME)
        .arg("--config")
        .arg(&config.file)
        .env("RUST_LOG", "warn")
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

async fn first_runs(config: &Config, daemon: &mut Child) -> Result<(), CliError> {
    let started = Instant::now();
    let mut look = interval(Duration::from_millis(200));
    loop {
        look.tick().await;
        if let Ok(Some(status)) = daemon.try_wait() {
            return Err(CliError::failed(format!("the daemon ended unexpectedly: {status}")));
        }
        if status::all_have_run(config, 2) {
            return Ok(());
        }
        if started.elapsed() > FIRST_RUNS_TIMEOUT {
            return Err(CliError::new(exit::TIME_LIMIT, "the tasks did not run within a minute"));
        }
    }
}

fn explain(site: &Site, config: &Config, folder: &Path) {
    let dashboard = fs::read_to_string(config.state.join(ADDRESS_FILE)).unwrap_or_default();
    let config = folder.join("config.toml");
    // As it was typed: in a fresh clone `pieme` is not on the PATH.
    let pieme = std::env::args().next().unwrap_or_else(|| "pieme".to_owned());
    output::say(format!(
        "
In another terminal (each task runs at least once a minute, or at once with `run`):
Open the dashboard     {dashboard} in a browser; the password is {password}
Print the rows         {pieme} --config {config} records practice-shop
Redesign the site      open {url}switch in a browser, or: curl -X POST {url}switch/redesign
See it detected        {pieme} --config {config} run practice-shop; {pieme} --config {config} status
Repair the task        {pieme} --config {config} label practice-shop
Query the rows         sqlite3 {db} 'SELECT * FROM \"practice-shop\" LIMIT 3'

The table is printed again when it changes. Press Ctrl-C to end the demo.
",
        dashboard = dashboard.trim(),
        password = practice::PASSWORD,
        config = config.display(),
        url = site.url(),
        db = folder.join("state/pieme.db").display(),
    ));
}

/// Prints the table again whenever a task's state changes.
async fn follow(config: &Config, daemon: &mut Child) -> Result<(), CliError> {
    let mut look = interval(Duration::from_secs(1));
    let mut shown = status::states_now(config)?;
    loop {
        tokio::select! {
            status = daemon.wait() => {
                let status = status.map_or_else(|error| error.to_string(), |it| it.to_string());
                return Err(CliError::failed(format!("the daemon ended unexpectedly: {status}")));
            }
            _ = look.tick() => {
                let states = status::states_now(config)?;
                if states != shown {
                    output::say(format!("{}\n", status::table(config)?));
                    shown = states;
                }
            }
        }
    }
}

async fn stop(mut daemon: Child) {
    if let Some(pid) = daemon.id().and_then(|pid| i32::try_from(pid).ok()) {
        // It may have ended by itself.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM);
    }
    let _ = tokio::time::timeout(Duration::from_secs(45), daemon.wait()).await;
}
