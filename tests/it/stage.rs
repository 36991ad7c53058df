//! A stage for whole-program tests: a scratch folder, the practice site, and the real daemon.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pieme::cli::demo;
use pieme::practice::Site;
use serde_json::Value;
use tempfile::TempDir;

use super::postgres::{self, Schema};

/// Whatever a test waits for happens within this time, or the test fails.
const PATIENCE: Duration = Duration::from_secs(40);

pub struct Stage {
    pub site: Site,
    folder: TempDir,
    daemon: Option<Child>,
    /// The database, if it is not an SQLite file.
    schema: Option<Schema>,
    /// The user of the daemon and the commands, if it is not this one, and the opened program `pieme`: another user may
    /// not be allowed into the build folder.
    user: Option<(u32, fs::File)>,
    /// Additional environment variables of the daemon and the commands.
    environment: Vec<(String, String)>,
    _runtime: tokio::runtime::Runtime,
}

/// What a command printed, and its exit code.
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}\n{}", self.stdout, self.stderr))
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        Said {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Stage {
    /// A site and a folder with a configuration, the practice password and no tasks.
    pub fn new() -> Stage {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime for the practice site");
        let site = runtime
            .block_on(Site::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))))
            .expect("a port of loopback is free");
        let folder = tempfile::tempdir().expect("a scratch folder");
        let config = demo::write_files(folder.path(), site.port()).expect("the demo can be laid out");
        // For tasks of every name, and without a table: tests add keys at the end of the file.
        let text = fs::read_to_string(&config).expect("a file").replace("[private]\n\"practice-*\"", "private.\"*\"");
        fs::write(&config, text).expect("a file");
        fs::rename(folder.path().join("tasks"), folder.path().join("ready-made")).expect("the folders are there");
        fs::create_dir(folder.path().join("tasks")).expect("an empty tasks folder");
        run_seldom(&folder.path().join("ready-made"));
        grant_to_all(&folder.path().join("config.toml"), site.port());
        Stage { site, folder, daemon: None, schema: None, user: None, environment: Vec::new(), _runtime: runtime }
    }

    /// As [`Stage::new`]; where the tests run as root, pieme runs as a user of its own. Root may not use a browser.
    pub fn unprivileged() -> Stage {
        let mut stage = Stage::new();
        if nix::unistd::geteuid().is_root() {
            let program = fs::File::open(env!("CARGO_BIN_EXE_pieme")).expect("the program");
            stage.user = Some((600_000 + std::process::id() % 100_000, program));
        }
        stage
    }

    /// The user that the daemon and the commands run as, if it is not this one.
    pub fn user(&self) -> Option<u32> {
        self.user.as_ref().map(|(user, _)| *user)
    }

    /// The program under the stage's user, who gets the stage's files first.
    fn program(&self, path: &Path) -> Command {
        let Some((user, program)) = &self.user else { return Command::new(path) };
        self.hand_over();
        // A program of the stage is its user's.
        let is_own = path.starts_with(self.folder.path());
        let opened = PathBuf::from(format!("/proc/self/fd/{}", program.as_raw_fd()));
        let mut command = Command::new(if is_own { path } else { &opened });
        command.arg0(path.file_name().expect("a program has a name")).uid(*user).gid(*user);
        command
    }

    /// Gives the stage's files to its user.
    fn hand_over(&self) {
        if let Some(user) = self.user() {
            // Fails where a file is removed meanwhile.
            let _ = Command::new("chown").args(["-R", &format!("{user}:{user}")]).arg(self.path("")).output();
        }
    }

    /// As [`Stage::new`], with its rows in PostgreSQL.
    pub fn on_postgres() -> Stage {
        let mut stage = Stage::new();
        let schema = postgres::shared().schema();
        let config = format!("store = \"{}\"\n{}", schema.url(), stage.read("config.toml"));
        stage.write("config.toml", &config);
        stage.schema = Some(schema);
        stage
    }

    /// Sets the store, from the next start on.
    pub fn use_store(&self, url: &str) {
        let config = self.read("config.toml");
        let others: String =
            config.lines().filter(|line| !line.starts_with("store =")).map(|line| format!("{line}\n")).collect();
        self.write("config.toml", &format!("store = \"{url}\"\n{others}"));
    }

    /// From now on.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    pub fn url(&self, path: &str) -> String {
        self.site.url().join(path).expect("a path of the practice site").to_string()
    }

    /// Copies a ready-made task folder into tasks/, as a person would.
    pub fn drop_folder(&self, name: &str) {
        self.drop_folder_as(name, name);
    }

    pub fn drop_folder_as(&self, name: &str, new_name: &str) {
        let to = self.path("tasks").join(new_name);
        fs::create_dir(&to).expect("a new task folder");
        for entry in fs::read_dir(self.path("ready-made").join(name)).expect("a ready-made folder") {
            let file = entry.expect("a file of it").path();
            fs::copy(&file, to.join(file.file_name().expect("a file has a name"))).expect("it can be copied");
        }
    }

    /// Writes a task.toml for an address of the practice site, followed by `more` lines.
    pub fn write_task(&self, name: &str, path: &str, more: &str) {
        let text = format!("url = \"{}\"\n{more}\n[fetch]\ndelay = \"0s\"\nretries = 0\n", self.url(path));
        self.write(&format!("tasks/{name}/task.toml"), &text);
    }

    pub fn write(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().expect("a file stands in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
        self.hand_over();
    }

    /// Grants an address, `host:port` or a URL, to all tasks; the practice site is granted already.
    pub fn grant_private(&self, address: &str) {
        let host = address.split_once("://").map_or(address, |(_, rest)| rest);
        let host = host.split('/').next().expect("split gives at least one part");
        let mut config: toml_edit::DocumentMut = self.read("config.toml").parse().expect("a config.toml");
        let granted = &mut config["private"]["*"];
        granted.as_array_mut().expect("the stage has grants").push(host);
        self.write("config.toml", &config.to_string());
    }

    /// Takes back all grants of private addresses.
    pub fn revoke_private(&self) {
        let config = self.read("config.toml");
        let others = config.lines().filter(|line| !line.starts_with("private.")).map(|line| format!("{line}\n"));
        self.write("config.toml", &others.collect::<String>());
    }

    pub fn make_private(&self, inside: &str) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(self.path(inside), fs::Permissions::from_mode(0o600)).expect("a file of ours");
    }

    /// Grants a secret to every task, for an address. At the beginning of config.toml, where no table is open.
    pub fn grant(&self, secret: &str, url: &str) {
        let origin = url::Url::parse(url).expect("a URL").origin().ascii_serialization();
        let grant = format!("secret.{secret} = {{ tasks = [\"*\"], origins = [\"{origin}\"] }}");
        self.write("config.toml", &format!("{grant}\n{}", self.read("config.toml")));
    }

    pub fn read(&self, inside: &str) -> String {
        fs::read_to_string(self.path(inside)).unwrap_or_default()
    }

    /// Starts the daemon and waits until it answers.
    pub fn start_daemon(&mut self) -> u32 {
        self.start_daemon_with(&[])
    }

    /// As `start_daemon`, with additional environment variables.
    pub fn start_daemon_with(&mut self, environment: &[(&str, &str)]) -> u32 {
        self.start_program(Path::new(env!("CARGO_BIN_EXE_pieme-daemon")), environment)
    }

    pub fn start_program(&mut self, program: &Path, environment: &[(&str, &str)]) -> u32 {
        // A killed daemon leaves its socket behind.
        let _ = fs::remove_file(self.path("state/control.sock"));
        let pid = self.spawn_program(program, environment);
        self.wait_for("the daemon", || {
            Path::new(&self.path("state/control.sock")).exists() && self.status_or_null()["daemon"] == true
        });
        pid
    }

    /// Starts the daemon without waiting.
    pub fn spawn_daemon(&mut self, environment: &[(&str, &str)]) -> u32 {
        self.spawn_program(Path::new(env!("CARGO_BIN_EXE_pieme-daemon")), environment)
    }

    fn spawn_program(&mut self, program: &Path, environment: &[(&str, &str)]) -> u32 {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("log")).expect("a log file");
        let child = self
            .program(program)
            .arg("--config")
            .arg(self.path("config.toml"))
            .env("RUST_LOG", "debug,hyper=warn")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the daemon starts");
        let pid = child.id();
        self.daemon = Some(child);
        pid
    }

    pub fn daemon_pid(&self) -> u32 {
        self.daemon.as_ref().expect("a daemon runs").id()
    }

    pub fn signal_daemon(&self, signal: &str) {
        signal_process(self.daemon_pid(), signal);
    }

    /// Waits for the daemon's end and gives its exit code; none when a signal ended it.
    pub fn daemon_ended(&mut self) -> Option<i32> {
        let mut child = self.daemon.take().expect("a daemon runs");
        let mut code = None;
        self.wait_for("the daemon's end", || match child.try_wait() {
            Ok(Some(status)) => {
                code = status.code();
                true
            }
            Ok(None) | Err(_) => false,
        });
        code
    }

    pub fn pieme(&self, words: &[&str]) -> Said {
        self.program(Path::new(env!("CARGO_BIN_EXE_pieme")))
            .arg("--config")
            .arg(self.path("config.toml"))
            .args(words)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .expect("pieme starts")
            .into()
    }

    /// As `pieme`, for a command that may never end; `None` if it had to be killed.
    pub fn pieme_in_time(&self, words: &[&str]) -> Option<Said> {
        let mut command = self.program(Path::new(env!("CARGO_BIN_EXE_pieme")));
        command.arg("--config").arg(self.path("config.toml")).args(words);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        in_time(&mut command)
    }

    fn status_or_null(&self) -> Value {
        serde_json::from_str(&self.pieme(&["status", "--json"]).stdout).unwrap_or_default()
    }

    /// The task's line of the status table.
    pub fn status(&self, task: &str) -> Value {
        let status = self.status_or_null();
        let tasks = status["tasks"].as_array().cloned().unwrap_or_default();
        tasks.into_iter().find(|line| line["task"] == task).unwrap_or_default()
    }

    pub fn state(&self, task: &str) -> String {
        self.status(task)["state"].as_str().unwrap_or("absent").to_owned()
    }

    pub fn wait_for_state(&self, task: &str, state: &str) {
        self.wait_for(&format!("{task} to be {state}"), || self.state(task) == state);
    }

    /// Polls until the condition holds.
    pub fn wait_for(&self, what: &str, is_so: impl FnMut() -> bool) {
        self.wait_long_for(what, PATIENCE, is_so);
    }

    /// As `wait_for`, with a given time limit.
    pub fn wait_long_for(&self, what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) {
        let started = Instant::now();
        while !is_so() {
            if started.elapsed() >= patience {
                let log = self.read("log");
                let tail = log.lines().rev().take(15).collect::<Vec<_>>();
                panic!("waited in vain for {what}\n{}\n{}", self.pieme(&["status"]).stdout, tail.join("\n"));
            }
            std::thread::park_timeout(Duration::from_millis(30));
        }
    }

    /// What the real sqlite3 or psql program answers.
    pub fn sql(&self, query: &str) -> String {
        if let Some(schema) = &self.schema {
            return schema.psql(query);
        }
        let said: Said = Command::new("sqlite3")
            // After a killed writer the first process that opens the database recovers it.
            .args(["-cmd", ".timeout 20000"])
            .arg(self.path("state/pieme.db"))
            .arg(query)
            .output()
            .expect("sqlite3 is installed")
            .into();
        assert_eq!(said.code, 0, "{query}: {}", said.stderr);
        said.stdout.trim_end().to_owned()
    }

    /// The names of a view's columns, in their order.
    pub fn columns(&self, view: &str) -> String {
        match &self.schema {
            None => self.sql(&format!("SELECT name FROM pragma_table_info('{view}')")),
            Some(_) => self.sql(&format!(
                "SELECT attname FROM pg_attribute WHERE attrelid = '\"{view}\"'::regclass \
                 AND attnum > 0 ORDER BY attnum"
            )),
        }
    }

    pub fn post(&self, path: &str) {
        let done = Command::new("curl").args(["-sS", "-o", "/dev/null", "-X", "POST"]).arg(self.url(path)).status();
        assert!(done.expect("curl is installed").success(), "POST {path}");
    }

    /// The processes whose parent is this one.
    pub fn children_of(&self, pid: u32) -> Vec<u32> {
        children_of(pid)
    }
}

/// Grants the practice password to every task, in lines that others may be appended to.
fn grant_to_all(config: &Path, port: u16) {
    let text = fs::read_to_string(config).expect("the demo's configuration");
    let settings = text.split("\n[").next().unwrap_or_default();
    let grant = format!("{{ tasks = [\"*\"], origins = [\"http://127.0.0.1:{port}\"] }}");
    fs::write(config, format!("{settings}\nsecret.practice_password = {grant}\n")).expect("a file of ours");
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// The output of a command that may never end; `None` if it had to be killed. It must fit into a pipe.
pub fn in_time(command: &mut Command) -> Option<Said> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("it starts");
    let started = Instant::now();
    while child.try_wait().is_ok_and(|ended| ended.is_none()) {
        if started.elapsed() >= PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::park_timeout(Duration::from_millis(30));
    }
    Some(child.wait_with_output().expect("it has ended").into())
}

pub fn children_of(pid: u32) -> Vec<u32> {
    fs::read_dir("/proc")
        .expect("/proc is there")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|&child| parent_of(child) == Some(pid))
        .collect()
}

/// Slows down the practice tasks, which run every 30 s: on a busy machine that would be in the middle of a test.
fn run_seldom(ready_made: &Path) {
    for entry in fs::read_dir(ready_made).expect("the ready-made folders").flatten() {
        let file = entry.path().join("task.toml");
        let text = fs::read_to_string(&file).expect("a task.toml");
        fs::write(&file, text.replace("every = \"30s\"", "every = \"6h\"")).expect("a file of ours");
    }
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in brackets and may hold anything.
    let mut fields = stat[stat.rfind(')')? + 2..].split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok();
    if state == "Z" { None } else { parent }
}

pub fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

pub fn signal_process(pid: u32, signal: &str) {
    let done = Command::new("kill").arg(signal).arg(pid.to_string()).status().expect("kill is there");
    assert!(done.success(), "kill {signal} {pid}");
}

/// The Python that has the packages of tests/apps; tests/all.sh installs them.
pub fn apps_python() -> PathBuf {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/apps/bin/python");
    std::env::var_os("PIEME_APPS_PYTHON").map_or(ours, PathBuf::from)
}
