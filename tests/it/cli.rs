//! The commands of `pieme` from the outside: output, JSON and exit codes.

mod labelling;
mod saved_pages;

use std::process::{Command, Stdio};

use crate::stage::{Said, Stage, is_alive, signal_process};

fn pieme(words: &[&str]) -> Said {
    Command::new(env!("CARGO_BIN_EXE_pieme")).args(words).output().expect("pieme starts").into()
}

#[test]
fn every_verb_explains_itself_with_an_example() {
    let help = pieme(&["--help"]);
    assert_eq!(help.code, 0);
    for verb in [
        "demo",
        "status",
        "run",
        "label",
        "records",
        "diff",
        "history",
        "duplicates",
        "log",
        "validate",
        "learn",
        "extract",
        "explain",
        "test",
        "pager",
        "forms",
        "step",
        "curl2robot",
        "har2robot",
        "gc",
    ] {
        assert!(help.stdout.contains(verb), "{verb} is listed");
        let said = pieme(&[verb, "--help"]);
        assert_eq!(said.code, 0, "{verb}");
        assert!(said.stdout.contains("Example"), "{verb} --help has an example:\n{}", said.stdout);
    }
}

#[test]
fn wrong_words_are_usage() {
    for words in [&["frobnicate"][..], &["run"], &["records", "../etc"], &["status", "--frob"]] {
        let stage = Stage::new();
        let said = stage.pieme(words);
        assert_eq!(said.code, 2, "{words:?}: {}", said.stderr);
        assert!(!said.stderr.is_empty());
    }
}

#[test]
fn a_task_that_is_not_there_gets_a_hint() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    for verb in ["run", "status", "label", "validate"] {
        let said = stage.pieme(&[verb, "practice-shpo"]);
        assert_eq!(said.code, 2, "{verb}: {}", said.stderr);
        assert!(said.stderr.contains("did you mean `practice-shop`"), "{verb}: {}", said.stderr);
    }
}

#[test]
fn the_status_table_works_with_the_daemon_down_and_before_the_first_run() {
    let stage = Stage::new();
    let empty = stage.pieme(&["status"]);
    assert_eq!(empty.code, 0);
    assert!(empty.stdout.contains("task.toml"), "an empty table teaches the first task: {}", empty.stdout);
    stage.drop_folder("practice-shop");
    let said = stage.pieme(&["status"]);
    for word in ["TASK", "STATE", "ROWS", "Δ", "SIM", "LAST-OK", "LAST-RUN", "NEXT", "FAILS", "CAUSE", "DO"] {
        assert!(said.stdout.contains(word), "{word}: {}", said.stdout);
    }
    assert!(said.stdout.contains("never") && said.stderr.contains("daemon is not running"), "{}", said.stderr);
}

#[test]
fn a_run_without_a_daemon_publishes_and_can_be_read() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    let run = stage.pieme(&["run", "practice-shop"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("published") && run.stderr.contains("GET"), "{}{}", run.stdout, run.stderr);
    let records = stage.pieme(&["records", "practice-shop", "--json"]).json();
    assert_eq!(records["records"].as_array().map(Vec::len), Some(48));
    assert!(
        records["records"][0]["name"].is_string() && records["records"][0]["price"].is_string(),
        "{}",
        records["records"][0]
    );
    assert_eq!(stage.pieme(&["records", "practice-shop", "--limit", "3"]).stdout.lines().count(), 4);
    let again = stage.pieme(&["run", "practice-shop", "--json"]).json();
    assert_eq!(again["cause"], "unchanged", "{again}");
    let log = stage.pieme(&["log", "practice-shop", "--json"]).json();
    assert_eq!(log["runs"].as_array().map(Vec::len), Some(2));
    assert!(log["runs"][0]["trace"].as_array().is_some_and(|it| it.len() >= 4), "{log}");
}

#[test]
fn changed_prices_are_a_change() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0);
    stage.post("/switch/prices");
    let again = stage.pieme(&["run", "practice-shop", "--json"]).json();
    assert_eq!((again["outcome"].as_str(), again["cause"].as_str()), (Some("published"), Some("changed")), "{again}");
    assert_eq!(stage.state("practice-shop"), "changed");
}

#[test]
fn what_changed_and_when_can_be_asked_for() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    assert_eq!(stage.pieme(&["diff", "practice-shop"]).code, 1, "nothing was ever published");
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0);
    let said = stage.pieme(&["diff", "practice-shop"]);
    assert!(said.code == 0 && said.stdout.contains("nothing has changed"), "{}{}", said.stdout, said.stderr);
    stage.post("/switch/prices");
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0);

    let diff = stage.pieme(&["diff", "practice-shop", "--json"]).json();
    let change = &diff["changes"][0];
    assert_eq!((&change["counts"]["added"], &change["counts"]["changed"]), (&0.into(), &5.into()), "{change}");
    let record = &change["records"][0];
    let (key, cell) = (record["key"].as_str().expect("a key"), &record["cells"][0]);
    assert_eq!((record["what"].as_str(), cell["column"].as_str()), (Some("changed"), Some("price")), "{record}");
    assert_ne!(cell["from"]["text"], cell["to"]["text"]);
    let shown = stage.pieme(&["diff", "practice-shop", "--since", "1h", "--limit", "2"]).stdout;
    assert!(shown.contains("5 changed") && shown.contains("and 3 more"), "{shown}");
    let run = change["run"].as_str().expect("a run");
    assert_eq!(stage.pieme(&["diff", "practice-shop", "--run", run, "--json"]).json(), diff);

    let list = stage.pieme(&["history", "practice-shop", "--json"]).json();
    assert_eq!(list["changes"][0]["id"], change["id"]);
    let life = stage.pieme(&["history", "practice-shop", key]).stdout;
    assert!(life.contains("first seen") && life.contains("price: ") && life.contains("It is published."), "{life}");
    let series = stage.pieme(&["history", "practice-shop", key, "--column", "price", "--json"]).json();
    assert_eq!(series["series"].as_array().map(Vec::len), Some(2), "{series}");
    assert_eq!(series["series"][1]["text"], cell["to"]["text"]);
    for (words, code) in [(&["no such thing"][..], 2), (&[key, "--column", "colour"], 2)] {
        let words: Vec<&str> = ["history", "practice-shop"].iter().chain(words).copied().collect();
        assert_eq!(stage.pieme(&words).code, code, "{words:?}");
    }
}

#[test]
fn the_same_people_are_found_in_two_tasks_and_shown() {
    use chrono::Utc;
    use pieme::model::{Failure, Outcome, Publication, Row, RunId, TaskName, Verdict};
    use pieme::store::{RunStart, Store, Trigger};
    let stage = Stage::new();
    std::fs::create_dir_all(stage.path("state")).expect("a folder");
    let mut store = Store::open(&stage.path("state/pieme.db")).expect("a new database");
    for (name, people) in [("authors", ["Smith, John", "Müller, Jürgen"]), ("speakers", ["J. Smith", "jurgen muller"])]
    {
        let (run, task, now) = (RunId::new(), TaskName::new(name).expect("a name"), Utc::now());
        let (slot, trigger) = (None, Trigger::Person);
        let start = RunStart { run, task: task.clone(), slot, trigger, started_at: now, pid: None };
        store.begin_run(&start).expect("a run");
        let row = |name: &str| Row { cells: vec![Some(name.to_owned()), Some(format!("/{name}"))], page: 0 };
        let rows = people.map(row);
        store.stage_rows(run, &task, &["name", "link"].map(str::to_owned), &[], &rows, now).expect("staged");
        let outcome = Outcome::Published(Publication::Changed);
        let verdict = Verdict { outcome, rows: 2, ..Verdict::failed(Failure::Internal, "found") };
        store.end_run(run, &verdict, now).expect("published");
    }
    for words in [&["duplicates", "--json", "--by", "name"][..], &["duplicates", "--json"]] {
        let found = stage.pieme(words).json();
        let told: Vec<(&str, &str)> = found["groups"]
            .as_array()
            .expect("groups")
            .iter()
            .flat_map(|group| group.as_array().expect("records"))
            .map(|it| (it["match"].as_str().expect("a match"), it["record"]["name"].as_str().expect("a name")))
            .collect();
        let expected =
            [("same", "Smith, John"), ("initials", "J. Smith"), ("same", "Müller, Jürgen"), ("same", "jurgen muller")];
        assert_eq!((told.as_slice(), &found["compared"]), (&expected[..], &4.into()), "{words:?}");
    }
    let shown = stage.pieme(&["duplicates"]).stdout;
    assert!(shown.contains("2 groups among 4 records") && shown.contains("speakers"), "{shown}");
    let said = stage.pieme(&["duplicates", "--by", "colour"]);
    assert!(said.code == 2 && said.stderr.contains("the columns are link, name"), "{}", said.stderr);
}

#[test]
fn a_verdict_is_explained_by_its_numbers() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    for _ in 0..2 {
        assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0);
    }
    let good = stage.pieme(&["explain", "practice-shop"]).stdout;
    for words in [
        "published (unchanged)",
        ", required 0.70 (expect.similarity)",
        "its rows are built of the same elements",
        "Rows 48; good runs before had 48, newest first; 48 is usual",
        "The page shows nothing unusual besides its list.",
    ] {
        assert!(good.contains(words), "{words}\n{good}");
    }
    assert!(good.lines().any(|line| line.starts_with("price") && line.contains("100 %") && line.contains("numbers")));
    assert!(!good.contains("OFF"), "{good}");

    stage.post("/switch/redesign");
    assert_ne!(stage.pieme(&["run", "practice-shop"]).code, 0);
    let bad = stage.pieme(&["explain", "practice-shop"]).stdout;
    assert!(bad.contains("quarantined (layout)") && bad.contains("OFF"), "{bad}");
    let json = stage.pieme(&["explain", "practice-shop", "--json"]).json();
    let (parts, verdict) = (&json["measured"]["similarity"]["parts"], &json["run"]);
    let off: Vec<&str> = parts
        .as_array()
        .into_iter()
        .flatten()
        .filter(|part| part["is_off"] == true)
        .filter_map(|part| part["sentence"].as_str())
        .collect();
    assert!(
        !off.is_empty() && off.iter().any(|it| verdict["sentence"].as_str().is_some_and(|s| s.contains(it))),
        "{json}"
    );
    assert_eq!(json["measured"]["rows"]["good"], serde_json::json!([48, 48]), "{json}");

    let runs = stage.pieme(&["log", "practice-shop", "--json"]).json();
    let first = runs["runs"][0]["run"].as_str().expect("an id");
    let of_first = stage.pieme(&["explain", "practice-shop", "--run", first]).stdout;
    assert!(of_first.contains("there is no good run to compare with"), "{of_first}");
    assert_eq!(stage.pieme(&["explain", "practice-shop", "--run", "nothing"]).code, 2);
    assert_eq!(stage.pieme(&["explain", "practice-shop", "--stage", "rows", "--run", first]).code, 2);
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0);
    let line = format!(
        "{} --config {} records practice-shop --json | head -c 10; exit ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_pieme"),
        stage.path("config.toml").display()
    );
    let said: Said = Command::new("bash").args(["-c", &line]).output().expect("bash is there").into();
    assert!(!said.stderr.contains("panicked"), "{}", said.stderr);
}

#[test]
fn the_demo_shows_two_tasks_that_are_ok() {
    let said = pieme(&["demo", "--once", "--port", "0"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    for task in ["practice-shop", "practice-orders"] {
        let line = said.stdout.lines().find(|line| line.starts_with(task)).unwrap_or_default();
        assert!(line.contains(" ok "), "{}", said.stdout);
    }
}

#[test]
fn a_demo_whose_terminal_is_closed_leaves_no_daemon_behind() {
    let stage = Stage::new();
    let folder = stage.path("demo");
    let mut demo = Command::new(env!("CARGO_BIN_EXE_pieme"))
        .args(["demo", "--port", "0", "--dir"])
        .arg(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("pieme starts");
    stage.wait_for("the demo's daemon", || folder.join("state/control.sock").exists());
    let daemons = stage.children_of(demo.id());
    assert_eq!(daemons.len(), 1);
    signal_process(demo.id(), "-HUP");
    stage.wait_for("the demo's end", || demo.try_wait().is_ok_and(|it| it.is_some()));
    assert!(!is_alive(daemons[0]), "the daemon ended with it");
}

#[test]
fn gc_removes_the_same_with_the_daemon_and_without() {
    let mut stage = Stage::new();
    stage.drop_folder("practice-shop");
    for _ in 0..4 {
        stage.pieme(&["run", "practice-shop"]);
        stage.post("/switch/prices");
    }
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}\n[keep]\ntraces = 1\nruns = 1\n"));
    let would = stage.pieme(&["gc", "--dry-run", "--json"]).json();
    assert_eq!(would["runs"], 2, "{would}");
    assert!(would["trace_lines"].as_u64().is_some_and(|it| it > 3), "{would}");
    stage.start_daemon();
    let by_daemon = stage.pieme(&["gc", "--dry-run", "--json"]).json();
    assert_eq!(by_daemon, would);
    let said = stage.pieme(&["gc"]);
    assert!(said.stdout.starts_with("removed 2 runs, "), "{}{}", said.stdout, said.stderr);
    assert_eq!(stage.sql("SELECT count(*) FROM \"practice-shop\""), "48");
    stage.signal_daemon("-TERM");
    stage.daemon_ended();
    assert!(stage.pieme(&["gc"]).stdout.starts_with("removed 0 runs, 0 trace lines, "));
}

#[test]
fn the_doctor_says_what_is_in_force_and_what_is_missing() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    let said = stage.pieme(&["doctor", "--json"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let found = said.json();
    let mark = |what: &str| {
        let all = found["findings"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|it| it["what"] == what).unwrap_or_default()["mark"].clone()
    };
    assert_eq!((mark("files"), mark("calls")), ("good".into(), "good".into()), "{found}");
    assert_eq!(mark("daemon"), "note", "{found}");
    stage.write_task("locked", "/", "");
    stage.write(
        "tasks/locked/robot.toml",
        "[[step]]\nget = { url = \"/x\", headers = { key = \"${secret:absent}\" } }\n",
    );
    let said = stage.pieme(&["doctor"]);
    assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("BAD") && said.stdout.contains("locked"), "{}", said.stdout);
}
