//! Several daemons on one PostgreSQL: folders are shared, every due run is made once, tasks of a dead daemon are taken
//! over, and writes of a late one are refused.

mod balance;
mod crashes;
mod folders;
mod learned;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pieme::practice::Site;

use super::postgres::{self, Schema};
use super::stage::signal_process;

const NAMES: [&str; 3] = ["a", "b", "c"];
const LEASE: &str = "3s";

/// Three daemons with a folder each, one database and one site.
struct Fleet {
    site: Site,
    schema: Schema,
    folder: tempfile::TempDir,
    daemons: Vec<Option<Child>>,
    _runtime: tokio::runtime::Runtime,
}

impl Fleet {
    fn new(lease: &str) -> Fleet {
        Fleet::on(postgres::shared(), lease)
    }

    fn on(server: &postgres::Server, lease: &str) -> Fleet {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime for the practice site");
        let site = runtime.block_on(Site::start(([127, 0, 0, 1], 0).into())).expect("a port of loopback is free");
        let schema = server.schema();
        drop(pieme::store::Store::open(schema.address()).expect("the tables"));
        let folder = tempfile::tempdir().expect("a scratch folder");
        for name in NAMES {
            fs::create_dir_all(folder.path().join(name).join("tasks")).expect("a folder");
            let config = format!(
                "store = \"{}\"\nmax_running = 8\nper_host = 8\n[fleet]\nname = \"{name}\"\nlease = \"{lease}\"\n\
                 [private]\n\"*\" = [\"127.0.0.1:{}\"]\n",
                schema.url(),
                site.port()
            );
            fs::write(folder.path().join(name).join("config.toml"), config).expect("a file");
        }
        Fleet { site, schema, folder, daemons: NAMES.map(|_| None).into(), _runtime: runtime }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    fn start(&mut self, which: usize) {
        let folder = self.path(NAMES[which]);
        let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("log")).expect("a log file");
        let child = Command::new(env!("CARGO_BIN_EXE_pieme-daemon"))
            .arg("--config")
            .arg(folder.join("config.toml"))
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.daemons[which] = Some(child.expect("the daemon starts"));
    }

    fn signal(&mut self, which: usize, signal: &str) {
        let child = self.daemons[which].as_mut().expect("it runs");
        signal_process(child.id(), signal);
        if signal == "-KILL" {
            child.wait().expect("it is gone");
            self.daemons[which] = None;
        }
    }

    /// Stops (SIGSTOP) a daemon in the middle of a run.
    fn catch(&mut self, which: usize, patience: Duration) {
        let open = format!("_runs WHERE owner = '{}' AND ended IS NULL", NAMES[which]);
        let pid = self.daemons[which].as_ref().expect("it runs").id();
        self.wait_for("a run to be stopped in", patience, || {
            if self.count(&open) == 0 {
                return false;
            }
            signal_process(pid, "-STOP");
            let is_caught = self.count(&open) > 0;
            if !is_caught {
                signal_process(pid, "-CONT");
            }
            is_caught
        });
    }

    /// Ends a daemon with SIGTERM.
    fn stop(&mut self, which: usize, patience: Duration) {
        self.signal(which, "-TERM");
        let mut child = self.daemons[which].take().expect("it runs");
        self.wait_for("its end", patience, || child.try_wait().is_ok_and(|status| status.is_some()));
    }

    fn log(&self, which: usize) -> String {
        fs::read_to_string(self.path(NAMES[which]).join("log")).unwrap_or_default()
    }

    fn sql(&self, query: &str) -> String {
        self.schema.psql(query)
    }

    fn count(&self, from: &str) -> i64 {
        self.sql(&format!("SELECT count(*) FROM {from}")).parse().expect("a number")
    }

    fn wait_for(&self, what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) {
        let started = Instant::now();
        while !is_so() {
            if started.elapsed() >= patience {
                let tail = |which| self.log(which).lines().rev().take(12).collect::<Vec<_>>().join("\n");
                let runs =
                    self.sql("SELECT task, slot, owner, ended, sentence FROM _runs ORDER BY started DESC LIMIT 20");
                panic!("waited in vain for {what}\n{runs}\na: {}\nb: {}\nc: {}", tail(0), tail(1), tail(2));
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// A task on the practice shop: four pages, one after the other.
    fn write_task(&self, which: usize, task: &str, every: &str) {
        let folder = self.path(&format!("{}/tasks/{task}", NAMES[which]));
        fs::create_dir(&folder).expect("a task folder");
        let url = self.site.url().join("/products").expect("a path of the practice site");
        let text = format!(
            "url = \"{url}\"\n[schedule]\nevery = \"{every}\"\n[fetch]\ndelay = \"50ms\"\n\
             retries = 0\nrobots_txt = false\n"
        );
        fs::write(folder.join("task.toml"), text).expect("a file");
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in self.daemons.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How large a test is.
struct Size {
    tasks: usize,
    /// In seconds, between two runs of a task.
    every: u32,
    lease: &'static str,
    patience: Duration,
}

impl Size {
    /// In CI; and with `PIEME_LONG=1` the whole of it, with the lease that daemons have by default.
    fn of_now() -> Size {
        match std::env::var("PIEME_LONG").as_deref() {
            Ok("1") => Size { tasks: 300, every: 300, lease: "15s", patience: Duration::from_secs(1_200) },
            _ => Size { tasks: 9, every: 20, lease: LEASE, patience: Duration::from_secs(120) },
        }
    }
}

#[test]
fn three_daemons_make_every_due_run_once_though_one_is_killed_and_one_is_stopped_past_its_lease() {
    let Size { tasks, every, lease, patience } = Size::of_now();
    let mut fleet = Fleet::new(lease);
    for n in 0..tasks {
        fleet.write_task(0, &format!("t{n}"), &format!("{every}s"));
    }
    (0..3).for_each(|which| fleet.start(which));
    let all = i64::try_from(tasks).expect("few");
    fleet.wait_for("every task's first run", patience, || {
        fleet.count("(SELECT DISTINCT task FROM _runs WHERE ended IS NOT NULL) AS t") == all
    });
    fleet.wait_for("a fair share of each", patience, || {
        fleet.count("(SELECT owner FROM _task GROUP BY owner HAVING count(*) > 0) AS t") == 3
    });
    for name in NAMES {
        fleet.wait_for(&format!("the folders to be at {name} too"), patience, || {
            fs::read_dir(fleet.path(&format!("{name}/tasks"))).expect("a folder").count() == tasks
        });
    }

    // Both are in the middle of a run; the stopped one believes that the run is still its own when it wakes up.
    fleet.catch(1, patience);
    fleet.signal(1, "-KILL");
    fleet.catch(2, patience);
    let stopped = Instant::now();
    fleet.wait_for("the living to have it all", patience, || {
        fleet.count("_runs WHERE owner IN ('b', 'c') AND ended IS NULL") == 0
            && fleet.count("_task WHERE owner = 'a'") == all
    });
    let taken_over = stopped.elapsed();
    for name in ["b", "c"] {
        let crashed = format!("_runs WHERE owner = '{name}' AND cause = 'crash'");
        assert!(fleet.count(&crashed) > 0, "the run of {name} is recorded as crash");
    }
    fleet.signal(2, "-CONT");
    fleet.wait_for("the late writer to be refused", patience, || {
        let log = fleet.log(2);
        log.contains("no longer belongs to this daemon") && log.contains("the lease had expired")
    });
    let now = fleet.sql("SELECT now()");
    fleet.wait_for("another run of each", patience, || {
        fleet.count(&format!("(SELECT DISTINCT task FROM _runs WHERE ended IS NOT NULL AND started > '{now}') AS t"))
            == all
    });
    for which in [0, 2] {
        fleet.stop(which, patience);
    }
    fleet.must_balance(every);
    eprintln!(
        "{}; all were taken over {:.1} s after the second fell silent",
        fleet.account(),
        taken_over.as_secs_f64()
    );
}

#[test]
fn a_daemon_that_is_stopped_within_a_transaction_holds_no_task_past_its_lease() {
    let mut fleet = Fleet::new(LEASE);
    fleet.write_task(2, "t", "10s");
    fleet.start(2);
    let patience = Duration::from_secs(60);
    fleet.wait_for("the first run", patience, || fleet.count("_runs WHERE ended IS NOT NULL") > 0);
    // The next run has locked its task when it comes to these, and waits.
    let runs = fleet.schema.hold("LOCK TABLE _runs IN EXCLUSIVE MODE");
    let free = "(SELECT 1 FROM _task FOR UPDATE SKIP LOCKED) AS t";
    fleet.wait_for("the task to be locked", patience, || fleet.count(free) == 0);
    fleet.signal(2, "-STOP");
    drop(runs);
    fleet.start(0);
    // Ten leases. The server alone would wait for a minute.
    fleet.wait_for("the living to have it", Duration::from_secs(30), || fleet.count("_task WHERE owner = 'a'") == 1);
}
