//! A secret stays where it is needed: not in the log, the database, other files of the state, the command lines and
//! environments of processes, core files, the dashboard or the sentences of a failed run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use pieme::practice;

use super::{report, times};
use crate::stage::{Stage, children_of};
use crate::web;

const TASK: &str = "practice-orders";
/// Looks for the canary, and counts the places that were looked at and those that have it.
#[derive(Default)]
struct Search {
    places: usize,
    hits: usize,
}

impl Search {
    fn look(&mut self, place: &str, bytes: &[u8]) {
        self.places += 1;
        let canary = practice::PASSWORD.as_bytes();
        if bytes.windows(canary.len()).any(|it| it == canary) {
            println!("the secret is in {place}");
            self.hits += 1;
        }
    }

    /// All files below a folder.
    fn look_below(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.look_below(&path);
            } else if path.is_file() {
                // A file of a run that has just ended is gone.
                self.look(&path.display().to_string(), &fs::read(&path).unwrap_or_default());
            }
        }
    }

    /// What other users and `ps` could see of a process, and whether it may leave a core file.
    fn look_at_process(&mut self, pid: u32, is_run: bool) {
        for part in ["cmdline", "environ", "status"] {
            self.look(&format!("/proc/{pid}/{part}"), &fs::read(format!("/proc/{pid}/{part}")).unwrap_or_default());
        }
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
        let core = limits.lines().find(|line| line.starts_with("Max core file size"));
        if is_run && core.is_some_and(|line| line.split_whitespace().nth(4) != Some("0")) {
            println!("a core file of a run: {core:?}");
            self.hits += 1;
        }
    }
}

#[test]
fn promise_23_a_secret_stays_where_it_is_needed() {
    let mut stage = Stage::new();
    stage.drop_folder(TASK);
    stage.drop_folder_as(TASK, "practice-refused");
    // The site refuses this login.
    let robot = stage.read("tasks/practice-refused/robot.toml").replace("user = \"demo\"", "user = \"nobody\"");
    stage.write("tasks/practice-refused/robot.toml", &robot);
    let url = web::open(&mut stage);
    let daemon = stage.daemon_pid();
    stage.wait_for_state(TASK, "ok");
    let mut search = Search::default();
    let rounds = times(3, 40);
    for round in 0..rounds {
        let task = if round % 3 == 2 { "practice-refused" } else { TASK };
        let mut running = Command::new(env!("CARGO_BIN_EXE_pieme"));
        running.arg("--config").arg(stage.path("config.toml")).args(["run", task, "--json"]);
        let mut running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pieme starts");
        while running.try_wait().expect("its state").is_none() {
            search.look_at_process(running.id(), false);
            search.look_at_process(daemon, false);
            children_of(daemon).into_iter().for_each(|run| search.look_at_process(run, true));
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
        let said = running.wait_with_output().expect("it has ended");
        search.look("what `pieme run` prints", &[said.stdout, said.stderr].concat());
    }
    assert!(stage.sql("SELECT count(*) FROM _runs WHERE outcome = 'published'").parse::<u32>().unwrap_or(0) > 1);
    assert_ne!(stage.sql("SELECT count(*) FROM _runs WHERE outcome = 'failed'"), "0", "a login was refused");
    search.look_below(&stage.path("state"));
    search.look("the log", stage.read("log").as_bytes());
    for words in [&["explain", TASK][..], &["explain", "practice-refused"], &["status", "--json"], &["doctor"]] {
        let said = stage.pieme(words);
        search.look(&words.join(" "), (said.stdout + &said.stderr).as_bytes());
    }
    look_at_dashboard(&stage, &url, &mut search);

    // The control: a secret in the environment, on the command line and in a file is found.
    let mut control = Search::default();
    let mut careless = Command::new("cat");
    careless.args(["-", practice::PASSWORD]).env("X", practice::PASSWORD).stdin(Stdio::piped());
    let mut careless = careless.spawn().expect("a process");
    stage.wait_for("its environment", || {
        control.look_at_process(careless.id(), false);
        control.hits > 1
    });
    careless.kill().expect("it is ours");
    careless.wait().expect("it is gone");
    stage.write("state/careless", practice::PASSWORD);
    control.look_below(&stage.path("state"));
    let counted = format!(
        "{rounds} runs that log in with a secret, {} looks at processes, files of the state, log, output and \
         dashboard; the secret seen, or a run that may leave a core file",
        search.places
    );
    report(23, &counted, search.hits, control.hits);
}

fn look_at_dashboard(stage: &Stage, url: &str, search: &mut Search) {
    let guest = web::gate::Guest::log_in(url);
    let mut paths = vec![String::new(), "log-in".to_owned()];
    for task in [TASK, "practice-refused"] {
        paths.extend(["", "/runs", "/files", "/changes", "/step"].map(|side| format!("task/{task}{side}")));
        let runs = stage.sql(&format!("SELECT id FROM _runs WHERE task = '{task}' ORDER BY started DESC LIMIT 3"));
        for run in runs.lines() {
            paths.extend(["", "/page/1", "/page/1/source"].map(|more| format!("task/{task}/run/{run}{more}")));
        }
    }
    for path in paths {
        let page = Command::new("curl").args(["-sS", "-b", guest.session()]).arg(format!("{url}{path}")).output();
        search.look(&format!("/{path}"), &page.expect("curl is installed").stdout);
    }
}
