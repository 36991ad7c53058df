//! `pieme status`: the table, one task in full, `--check` and `--watch`.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use chrono::{TimeDelta, Utc};
use pieme::model::{RunId, TaskName};
use pieme::store::{RunStart, Store, Trigger};

use crate::stage::{Said, Stage, signal_process};

const SHOP: &str = "practice-shop";
const RED: &str = "\u{1b}[38;5;9m";
const GREEN: &str = "\u{1b}[38;5;10m";

fn command(stage: &Stage, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pieme"));
    command.arg("--config").arg(stage.path("config.toml")).args(words).stdin(Stdio::null());
    command
}

/// Output of the command on a pseudo-terminal.
fn on_terminal(stage: &Stage, words: &str, no_color: &str) -> String {
    let line = format!("{} --config {} {words}", env!("CARGO_BIN_EXE_pieme"), stage.path("config.toml").display());
    let said: Said = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("NO_COLOR", no_color)
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .output()
        .expect("script is there (bsdutils)")
        .into();
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    said.stdout
}

#[test]
fn states_have_colours_on_a_terminal_and_nowhere_else() {
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    assert_eq!(stage.pieme(&["run", SHOP]).code, 0);
    assert!(on_terminal(&stage, "status", "").contains(GREEN));
    assert!(!on_terminal(&stage, "status", "1").contains("\u{1b}["), "NO_COLOR is heeded");
    assert!(!on_terminal(&stage, "status --color never", "").contains("\u{1b}["));
    assert!(!stage.pieme(&["status"]).stdout.contains('\u{1b}'), "a pipe gets none");
    assert!(stage.pieme(&["status", "--color", "always"]).stdout.contains(GREEN));
    stage.write("tasks/practice-shop/task.toml", "url = 3\n");
    assert!(stage.pieme(&["status", SHOP, "--color", "always"]).stdout.contains(RED));
}

#[test]
fn the_age_of_the_last_good_data_is_shown_whatever_the_state() {
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    assert_eq!(stage.pieme(&["run", SHOP]).code, 0);
    let last_ok = stage.status(SHOP)["last_ok"].clone();
    assert!(last_ok.is_string());
    assert_eq!(stage.pieme(&["pause", SHOP]).code, 0);
    let paused = stage.status(SHOP);
    assert_eq!((&paused["state"], &paused["last_ok"]), (&"paused".into(), &last_ok), "{paused}");
    assert_eq!(stage.pieme(&["resume", SHOP]).code, 0);
    stage.post("/switch/redesign");
    assert_ne!(stage.pieme(&["run", SHOP]).code, 0);
    let bad = stage.status(SHOP);
    assert_eq!((&bad["state"], &bad["last_ok"], &bad["rows"]), (&"quarantined".into(), &last_ok, &48.into()), "{bad}");
    assert!(bad["age_s"].is_number(), "{bad}");
    let table = stage.pieme(&["status"]).stdout;
    assert!(table.lines().any(|line| line.contains("quarantined") && !line.contains("never")), "{table}");
}

#[test]
fn a_run_that_is_past_its_limit_is_never_ok() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    // The state that a killed daemon, or one whose job panicked, leaves behind.
    let begin = |minutes: i64| {
        let started_at = Utc::now() - TimeDelta::minutes(minutes);
        let task = TaskName::new(SHOP).expect("a name");
        let start = RunStart { run: RunId::new(), task, slot: None, trigger: Trigger::Person, started_at, pid: None };
        let mut store = Store::open(&stage.path("state/pieme.db")).expect("the store");
        store.begin_run(&start).expect("begun");
    };
    begin(1);
    assert_eq!(stage.state(SHOP), "running");
    assert_eq!(stage.pieme(&["status", "--check"]).code, 0);
    begin(120);
    let status = stage.status(SHOP);
    assert_eq!(status["state"], "crash", "{status}");
    assert!(status["stuck"].as_str().is_some_and(|it| it.contains("limits.timeout")), "{status}");
    let check = stage.pieme(&["status", "--check"]);
    assert_eq!(check.code, 2, "{}", check.stdout);
    assert!(check.stdout.contains("practice-shop crash"), "{}", check.stdout);
    let full = stage.pieme(&["status", SHOP]).stdout;
    assert!(full.contains("restart"), "what to do: {full}");
    stage.signal_daemon("-KILL");
    stage.daemon_ended();
    assert_eq!(stage.state(SHOP), "crash", "and when the daemon is gone");
    stage.start_daemon();
    stage.wait_for("the runs to be ended by the next daemon", || stage.status(SHOP)["stuck"].is_null());
}

#[test]
fn a_task_that_is_switched_off_is_paused_and_never_ok() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    let good = stage.read("tasks/practice-shop/task.toml");
    stage.write("tasks/practice-shop/task.toml", &format!("enabled = false\n{good}"));
    stage.wait_for_state(SHOP, "paused");
    let full = stage.pieme(&["status", SHOP]).stdout;
    assert!(full.contains("enabled = false") && full.contains("48 rows, last good"), "{full}");
    stage.signal_daemon("-TERM");
    stage.daemon_ended();
    assert_eq!(stage.state(SHOP), "paused", "and with the daemon down");
}

#[test]
fn rows_of_a_folder_that_came_back_are_known_with_the_daemon_down() {
    let mut stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    std::fs::rename(stage.path("tasks/practice-shop"), stage.path("away")).expect("a rename");
    stage.wait_for("it to be gone", || stage.state(SHOP) == "absent");
    stage.signal_daemon("-TERM");
    stage.daemon_ended();
    std::fs::rename(stage.path("away"), stage.path("tasks/practice-shop")).expect("a rename");
    let back = stage.status(SHOP);
    assert_eq!((&back["state"], &back["rows"]), (&"ok".into(), &48.into()), "{back}");
}

#[test]
fn one_task_is_shown_in_full() {
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    let never = stage.pieme(&["status", SHOP]);
    assert!(never.stdout.contains("nothing yet"), "{}", never.stdout);
    assert!(never.stderr.contains("daemon is not running"), "{}", never.stderr);
    assert_eq!(stage.pieme(&["run", SHOP]).code, 0);
    let first_bad = {
        stage.post("/switch/redesign");
        assert_ne!(stage.pieme(&["run", SHOP]).code, 0);
        stage.status(SHOP)["last_run"]["ended_at"].as_str().map(|it| it[..19].replace('T', " ")).expect("a time")
    };
    assert_ne!(stage.pieme(&["run", SHOP]).code, 0);
    let full = stage.pieme(&["status", SHOP]).stdout;
    let line = |name: &str| full.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
    assert!(line(SHOP).contains("quarantined"), "{full}");
    assert!(line("Since").contains(&first_bad), "since the first of the two: {first_bad}\n{full}");
    assert!(line("Published").contains("48 rows, last good"), "{full}");
    assert!(line("Last run").contains("quarantined (layout)"), "{full}");
    assert!(full.contains("no longer looks like its template"), "{full}");
    assert!(line("Fails").contains("2 in a row"), "{full}");
    assert!(line("Do").contains("pieme label practice-shop"), "{full}");
}

#[test]
fn rows_that_wait_for_a_person_are_counted() {
    let stage = Stage::new();
    stage.write_task("fussy", "/products", "[expect]\nmin_rows = 1000\n");
    stage.write("tasks/fussy/template.json", &stage.read("ready-made/practice-shop/template.json"));
    assert_eq!(stage.pieme(&["run", "fussy"]).code, 1);
    let full = stage.pieme(&["status", "fussy"]).stdout;
    assert!(full.lines().any(|line| line.contains("Quarantined") && line.contains("48 rows of run")), "{full}");
}

#[test]
fn tasks_are_picked_by_state_and_by_tag() {
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    stage.write_task("tagged", "/products", "tags = ['goods', 'practice']");
    assert_eq!(stage.pieme(&["run", SHOP]).code, 0);
    let names = |words: &[&str]| -> Vec<String> {
        let said = stage.pieme(&[&["status", "--json"][..], words].concat()).json();
        let tasks = said["tasks"].as_array().cloned().unwrap_or_default();
        tasks.iter().filter_map(|line| line["task"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(names(&["--state", "ok,failed"]), [SHOP]);
    assert_eq!(names(&["--state", "never"]), ["tagged"]);
    assert_eq!(names(&["--tag", "goods"]), ["tagged"]);
    assert_eq!(names(&["--tag", "goods", "--state", "ok"]), [""; 0]);
    assert!(stage.pieme(&["status", "--tag", "nothing"]).stdout.contains("No task matches."));
    assert_eq!(stage.pieme(&["status", "--state", "fine"]).code, 2);
}

#[test]
fn the_check_tells_monitoring_how_the_tasks_are() {
    let mut stage = Stage::new();
    let check = |stage: &Stage, words: &[&str]| {
        let said = stage.pieme(&[&["status", "--check"][..], words].concat());
        assert_eq!(said.stdout.lines().count(), 1, "{}{}", said.stdout, said.stderr);
        (said.code, said.stdout.trim_end().to_owned())
    };
    let (code, line) = check(&stage, &[]);
    assert_eq!((code, line.starts_with("PIEME UNKNOWN - no daemon has ever run")), (3, true), "{line}");
    stage.drop_folder(SHOP);
    assert_eq!(stage.pieme(&["run", SHOP]).code, 0);
    let (code, line) = check(&stage, &[]);
    assert_eq!((code, line.starts_with("PIEME CRITICAL - the daemon is not running")), (2, true), "{line}");
    stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    let (code, line) = check(&stage, &[]);
    let (text, figures) = line.split_once('|').expect("figures behind a bar");
    assert_eq!((code, text), (0, "PIEME OK - 1 of 1 task ok"));
    assert!(figures.starts_with("ok=1;;;0;1 warning=0;;;0;1 critical=0;;;0;1 paused=0;;;0;1 waiting=0;;;0;1 oldest="));
    stage.write_task("new", "/products", "");
    stage.wait_for_state("new", "needs-label");
    assert_eq!(check(&stage, &[]).0, 1, "a new task that waits for a yes");
    let (code, line) = check(&stage, &["new"]);
    assert!(code == 1 && line.starts_with("PIEME WARNING - 1 of 1 task: new needs-label|"), "{line}");
    stage.write_task("broken", "/products", "shedule = 3");
    stage.wait_for_state("broken", "config");
    let (code, line) = check(&stage, &[]);
    assert!(code == 2 && line.contains("2 of 3 tasks: broken config, new needs-label|ok=1;"), "{line}");
    assert_eq!(stage.pieme(&["pause", SHOP]).code, 0);
    let (code, line) = check(&stage, &[SHOP]);
    assert!(code == 0 && line.contains("0 of 1 task ok, 1 paused|ok=0;") && line.contains("paused=1"), "{line}");
    assert_eq!(check(&stage, &["nobody"]).0, 3);
    assert_eq!(check(&stage, &["--tag", "nothing"]).0, 3);
}

#[test]
fn a_check_that_cannot_look_is_unknown() {
    let stage = Stage::new();
    stage.write("state/pieme.db", "this is no database, whatever its name says, and it is long enough to be looked at");
    let said = stage.pieme(&["status", "--check"]);
    assert_eq!((said.code, said.stdout.starts_with("PIEME UNKNOWN - ")), (3, true), "{}", said.stdout);
    stage.write("config.toml", "taks = 3\n");
    let said = stage.pieme(&["status", "--check"]);
    assert_eq!((said.code, said.stdout.starts_with("PIEME UNKNOWN - ")), (3, true), "{}", said.stdout);
}

fn watching(stage: &Stage, seconds: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child =
        command(stage, &["status", "--watch", seconds]).stdout(Stdio::piped()).spawn().expect("pieme starts");
    let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
    (child, stdout)
}

fn read_until(reader: &mut impl BufRead, word: &str) {
    let mut line = String::new();
    while !line.contains(word) {
        line.clear();
        assert_ne!(reader.read_line(&mut line).expect("its lines"), 0, "it ended before it said {word}");
    }
}

#[test]
fn a_watch_goes_on_and_ends_when_it_is_told_or_nobody_reads() {
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    let ended = |child: &mut Child| {
        let mut code = None;
        stage.wait_for("the watch's end", || {
            code = child.try_wait().expect("a child of ours");
            code.is_some()
        });
        code.and_then(|it| it.code())
    };
    let (mut child, mut reader) = watching(&stage, "1");
    for _ in 0..2 {
        read_until(&mut reader, "TASK");
        read_until(&mut reader, "daemon is not running");
    }
    signal_process(child.id(), "-INT");
    assert_eq!(ended(&mut child), Some(0), "Ctrl-C");
    let (mut child, mut reader) = watching(&stage, "3600");
    read_until(&mut reader, "TASK");
    drop(reader);
    assert_eq!(ended(&mut child), Some(0), "the reader left, and the next table is an hour away");
}

#[test]
fn a_watch_on_a_terminal_draws_in_place() {
    let stage = Stage::new();
    stage.drop_folder(SHOP);
    let line = format!(
        "stty rows 20 cols 200; exec {} --config {} status --watch 1",
        env!("CARGO_BIN_EXE_pieme"),
        stage.path("config.toml").display()
    );
    let mut script = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script is there (bsdutils)");
    let mut reader = BufReader::new(script.stdout.take().expect("its stdout"));
    for _ in 0..2 {
        read_until(&mut reader, "\u{1b}[HTASK");
        read_until(&mut reader, "\u{1b}[K\r\n");
        read_until(&mut reader, "\u{1b}[J");
    }
    script.kill().expect("a child of ours");
    script.wait().expect("its end");
}

/// A task behind a login of the practice site.
fn write_orders(stage: &Stage) {
    stage.write_task("orders", "/", "[schedule]\nevery = '6h'");
    let script = "[[step]]\nget = '/login'\n[[step]]\n\
                  submit = { form = 'login', fields = { user = 'demo', password = '${secret:practice_password}' } }\n\
                  [[step]]\nexpect = { text = 'Welcome back', cause = 'login' }\n";
    stage.write("tasks/orders/robot.toml", script);
}

/// The cell in column NEXT of a task's line.
fn next_cell(stage: &Stage, task: &str) -> String {
    let table = stage.pieme(&["status"]).stdout;
    let header = table.lines().next().unwrap_or_default();
    let at = header.find("NEXT").expect("a column");
    let at = header[..at].chars().count();
    let line = table.lines().find(|line| line.starts_with(task)).unwrap_or_default();
    line.chars().skip(at).take_while(|c| *c != ' ').collect()
}

#[test]
fn a_task_that_the_schedule_leaves_alone_has_no_next_time() {
    let mut stage = Stage::new();
    let secret = stage.read("secrets/practice_password");
    stage.write("secrets/practice_password", "wrong");
    stage.make_private("secrets/practice_password");
    stage.drop_folder(SHOP);
    stage.start_daemon();
    write_orders(&stage);
    stage.wait_for_state("orders", "login");
    let line = stage.status("orders");
    assert_eq!((&line["next"], &line["hold"]), (&serde_json::Value::Null, &"login".into()), "{line}");
    assert_eq!(next_cell(&stage, "orders"), "held");
    let full = stage.pieme(&["status", "orders"]).stdout;
    assert!(full.contains("held: its login was refused") && full.contains("pieme run orders"), "{full}");
    stage.write("secrets/practice_password", &secret);
    let line = stage.status("orders");
    assert!(line["next"].is_string() && line["hold"].is_null(), "a new secret is tried: {line}");

    stage.wait_for_state(SHOP, "ok");
    assert_eq!(stage.pieme(&["pause", SHOP]).code, 0);
    let line = stage.status(SHOP);
    assert_eq!((&line["next"], &line["hold"]), (&serde_json::Value::Null, &"paused".into()), "{line}");
    assert_eq!(next_cell(&stage, SHOP), "paused");
    assert_eq!(stage.pieme(&["resume", SHOP]).code, 0);
    assert!(stage.status(SHOP)["next"].is_string());
    // Disabled while no daemon runs: the database still has a next run.
    stage.signal_daemon("-TERM");
    stage.daemon_ended();
    let task = stage.read("tasks/practice-shop/task.toml");
    stage.write("tasks/practice-shop/task.toml", &format!("enabled = false\n{task}"));
    let line = stage.status(SHOP);
    assert_eq!((&line["next"], &line["hold"]), (&serde_json::Value::Null, &"disabled".into()), "{line}");
    assert_eq!(next_cell(&stage, SHOP), "disabled");
}

#[test]
fn every_mistake_is_listed_by_validate_and_counted_by_status() {
    let mut stage = Stage::new();
    let six = "shedule = 1\n[schedule]\nevery = '6 parsecs'\n[limits]\nmax_pages = 'ten'\n[fetch]\nengine = 'Browser'\n\
               [[column]]\nname = 'price'\npattern = '('\n[expect]\nsimilarity = 70\n";
    stage.write("tasks/six/task.toml", &format!("url = 'https://example.org/'\n{six}"));
    stage.write("tasks/six/labels.toml", "[[label]]\nwhen = 'today'\nkind = 'pick'\n");
    for daemon in ["down", "up"] {
        if daemon == "up" {
            stage.start_daemon();
        }
        let said = stage.pieme(&["validate", "six"]);
        assert_eq!(said.code, 78, "{}", said.stdout);
        for line in [2, 4, 6, 8, 11, 13] {
            assert!(said.stdout.contains(&format!("task.toml:{line}:")), "daemon {daemon}, {line}: {}", said.stdout);
        }
        assert!(said.stdout.contains("labels.toml:2:8: "), "{}", said.stdout);
        let found = stage.pieme(&["validate", "six", "--json"]).json();
        assert_eq!(found["tasks"][0]["problems"].as_array().map(Vec::len), Some(7), "{found}");
        assert_eq!(found["tasks"][0]["line"], 2, "the first stands where it stood: {found}");
        stage.wait_for_state("six", "config");
        let full = stage.pieme(&["status", "six"]).stdout;
        assert!(full.contains("unknown key `shedule`") && full.contains("and 5 more: pieme validate six"), "{full}");
        let said = stage.pieme(&["run", "six"]);
        assert!(said.code == 78 && said.stderr.contains("and 5 more: pieme validate six"), "{}", said.stderr);
    }
}
