//! A PostgreSQL server for the tests: a shared one, started by the first test that needs it and stopped a while after
//! the last; and separate servers for tests that restart one.

use std::fs::{self, File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Uid;
use pieme::model::{PostgresAddress, StoreAddress};

/// The address of a server to be used instead, up to and without the schema: `postgres://user@host/database`.
const GIVEN: &str = "PIEME_TEST_POSTGRES";

/// A server, reached over a socket in its folder.
pub struct Server {
    folder: PathBuf,
    url: String,
    /// In addition to those of all servers.
    settings: String,
    /// Ends with this process.
    is_ours: bool,
    /// The shared server runs as long as anybody holds it.
    _used: Option<Flock<File>>,
}

/// The server of all tests.
pub fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| match std::env::var(GIVEN) {
        Ok(url) => Server { folder: PathBuf::new(), url, settings: String::new(), is_ours: false, _used: None },
        Err(_) => Server::join(),
    })
}

impl Server {
    /// Joins the shared server, or starts it.
    fn join() -> Server {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_TARGET_TMPDIR").hash(&mut hasher);
        let folder = std::env::temp_dir().join(format!("pieme-pg-{:x}", hasher.finish() & 0xffff_ffff));
        let lock = folder.display().to_string();
        let beside = |what: &str| PathBuf::from(format!("{lock}.{what}"));
        let open = |path: &Path| File::create(path).expect("a lock file");
        let starting = Flock::lock(open(&beside("starting")), FlockArg::LockExclusive).expect("the lock");
        let used = Flock::lock(open(&beside("used")), FlockArg::LockShared).expect("the lock");
        let server = Server { url: url(&folder), folder, settings: String::new(), is_ours: false, _used: Some(used) };
        if !server.is_up() {
            let _ = fs::remove_dir_all(&server.folder);
            server.make();
            server.start();
            end_after_the_last(&server, &beside("used"));
        }
        drop(starting);
        server
    }

    /// A server for one test, which ends with its owner.
    pub fn own(folder: &Path) -> Server {
        // It runs as another user, who must be able to reach the folder.
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("our own folder");
        let folder = folder.join("pg");
        let server = Server { url: url(&folder), folder, settings: String::new(), is_ours: true, _used: None };
        server.make();
        server.start();
        server
    }

    /// From the next start on, the server also listens on a loopback address, encrypts if it has a certificate and its
    /// key, and applies `rules` there; the socket stays open to everybody.
    pub fn listen(&mut self, at: Ipv4Addr, certified: Option<(&str, &str)>, rules: &str) {
        let hba = format!("{}/pg_hba.conf", self.data());
        fs::write(hba, format!("local all all trust\n{rules}\n")).expect("its rules");
        self.settings = format!("-c listen_addresses={at} -c log_connections=on");
        let Some((certificate, key)) = certified else { return };
        for (name, text) in [("cert", certificate), ("key", key)] {
            let path = self.folder.join(name);
            fs::write(&path, text).expect("a file of the server");
            fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("our own file");
            self.give(&path);
            self.settings += &format!(" -c ssl_{name}_file={}", path.display());
        }
        self.settings += " -c ssl=on";
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn make(&self) {
        fs::create_dir(&self.folder).expect("a folder for the server");
        self.give(&self.folder);
        let data = self.data();
        let made = self.tool("initdb", &["-D", &data, "-A", "trust", "-U", "pieme", "-E", "UTF8", "--locale=C", "-N"]);
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
    }

    /// Gives a path to the user that the server runs as, who is not root.
    fn give(&self, path: &Path) {
        if Uid::effective().is_root() {
            let owned = Command::new("chown").arg(user()).arg(path).status().expect("chown");
            assert!(owned.success());
        }
    }

    pub fn start(&self) {
        // Nothing here must survive a power cut.
        let settings = format!(
            "-k {} -c listen_addresses= -c fsync=off -c max_connections=400 -c shared_buffers=64MB \
             -c autovacuum=off {}",
            self.folder.display(),
            self.settings
        );
        let log = format!("{}/log", self.folder.display());
        let started =
            self.tool("pg_ctl", &["-D", &self.data(), "-l", &log, "-w", "-t", "60", "-o", &settings, "start"]);
        assert!(started.status.success(), "pg_ctl start: {}", self.log());
    }

    /// `fast` stops it in order, `immediate` as a crash would.
    pub fn stop(&self, how: &str) {
        let stopped = self.tool("pg_ctl", &["-D", &self.data(), "-w", "-m", how, "stop"]);
        assert!(stopped.status.success(), "pg_ctl stop: {}", String::from_utf8_lossy(&stopped.stderr));
    }

    /// The server's main process.
    pub fn postmaster(&self) -> u32 {
        let text = fs::read_to_string(format!("{}/postmaster.pid", self.data())).expect("it runs");
        text.lines().next().and_then(|pid| pid.parse().ok()).expect("a process")
    }

    fn is_up(&self) -> bool {
        self.folder.exists() && self.tool("pg_ctl", &["-D", &self.data(), "status"]).status.success()
    }

    fn data(&self) -> String {
        format!("{}/data", self.folder.display())
    }

    /// One of the server's programs; they refuse to run as root.
    fn tool(&self, program: &str, arguments: &[&str]) -> Output {
        let program = programs().join(program);
        let mut command = if Uid::effective().is_root() {
            let mut command = Command::new("setsid");
            command.args(["runuser", "-u", user(), "--"]).arg(program);
            command
        } else {
            let mut command = Command::new("setsid");
            command.arg(program);
            command
        };
        // A server that inherited our output would keep its reader waiting.
        let (out, err) = (self.folder.join("out"), self.folder.join("err"));
        let file = |path: &Path| File::create(path).map_or(Stdio::null(), Stdio::from);
        let status =
            command.args(arguments).current_dir("/").stdin(Stdio::null()).stdout(file(&out)).stderr(file(&err));
        let status = status.status().expect("the server's program");
        Output { status, stdout: fs::read(out).unwrap_or_default(), stderr: fs::read(err).unwrap_or_default() }
    }

    /// A schema that no other test uses.
    pub fn schema(&self) -> Schema {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Schema { url: self.url.clone(), name }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = self.tool("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]);
        }
    }
}

/// A schema in the database; it is dropped with its owner.
pub struct Schema {
    url: String,
    name: String,
}

impl Schema {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn url(&self) -> String {
        let sign = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{sign}schema={}", self.url, self.name)
    }

    pub fn address(&self) -> StoreAddress {
        let url = self.url();
        StoreAddress::Postgres(PostgresAddress::new(&url, &url).expect("an address"))
    }

    /// The answer of the psql program, as any user may ask it.
    pub fn psql(&self, sql: &str) -> String {
        let search = format!("SET search_path TO {}", self.name);
        let output = Command::new(programs().join("psql"))
            .args(["-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-c", "SET client_min_messages TO warning"])
            .args(["-c", "SET TIME ZONE 'UTC'", "-c", &search, "-c", sql, &self.url])
            .output()
            .expect("the psql program is installed");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }
}

/// A session with an open transaction, which ends when this is dropped.
pub struct Holding(Child);

impl Schema {
    pub fn hold(&self, sql: &str) -> Holding {
        let mut child = Command::new(programs().join("psql"))
            .args(["-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", &self.url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the psql program is installed");
        let asked = format!("BEGIN; SET search_path TO {}; {sql}; SELECT 'held';\n", self.name);
        child.stdin.as_mut().expect("a pipe").write_all(asked.as_bytes()).expect("psql listens");
        let mut answer = [0; 4];
        child.stdout.as_mut().expect("a pipe").read_exact(&mut answer).expect("psql has done it");
        assert_eq!(&answer, b"held");
        Holding(child)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        // The server rolls back what it had begun.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name);
        // A server that is stopped has nothing to clean up.
        let _ = Command::new(programs().join("psql"))
            .args(["-X", "-q", "-c", "SET client_min_messages TO error", "-c", "SET lock_timeout TO '5s'", "-c", &drop])
            .arg(&self.url)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

fn url(folder: &Path) -> String {
    let socket = folder.display().to_string().replace('/', "%2F");
    format!("postgres://pieme@{socket}/postgres")
}

/// Where Debian keeps the newest.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = versions.filter(|path| path.join("bin/initdb").exists()).max();
    newest.expect("PostgreSQL is not installed: apt-get install postgresql, as tests/all.sh does").join("bin")
}

/// The user that the server runs as when the tests run as root.
fn user() -> &'static str {
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    if known.lines().any(|line| line.starts_with("postgres:")) { "postgres" } else { "nobody" }
}

/// No test knows that it is the last: a separate process notices that the server has not been used for a while.
fn end_after_the_last(server: &Server, used: &Path) {
    let (used, folder, data) = (used.display(), server.folder.display(), server.data());
    let stop = format!("{} -D {data} -m immediate stop", programs().join("pg_ctl").display());
    let stop = if Uid::effective().is_root() { format!("runuser -u {} -- {stop}", user()) } else { stop };
    let script = format!(
        "idle=0; while sleep 5; do
             if flock -n -x {used} true; then idle=$((idle + 1)); else idle=0; fi
             if [ $idle -ge 12 ]; then {stop}; rm -rf {folder}; exit; fi
         done"
    );
    // `setsid --fork` returns at once; the shell continues by itself.
    let forked = Command::new("setsid")
        .args(["--fork", "sh", "-c", &script])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(forked.expect("setsid").success());
}
