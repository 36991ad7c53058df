//! What a person types, and what a script can rely on.

use std::process::Command;

use crate::stage::{Said, Stage};

fn pieme(words: &[&str]) -> Said {
    Command::new(env!("CARGO_BIN_EXE_pieme")).args(words).output().expect("pieme starts").into()
}

#[test]
fn every_verb_explains_itself_with_an_example() {
    let help = pieme(&["--help"]);
    assert_eq!(help.code, 0);
    for verb in ["demo", "status", "run", "label", "records", "log", "validate", "learn", "extract", "explain"] {
        assert!(help.stdout.contains(verb), "{verb} is listed");
        let said = pieme(&[verb, "--help"]);
        assert_eq!(said.code, 0, "{verb}");
        assert!(said.stdout.contains("Example"), "{verb} --help has an example:\n{}", said.stdout);
    }
}

#[test]
fn one_teacher_alone_can_be_asked_for_the_rows() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let page = folder.path().join("codes.html");
    let lines: String = (1..=7).map(|i| format!("<b>Country {i}</b><i>{}</i><br>", 200 + i)).collect();
    std::fs::write(&page, format!("<h1>Codes</h1>{lines}")).expect("the page is written");
    let page = page.to_str().expect("a plain path");
    for method in ["cycles", "repeats"] {
        let said = pieme(&["learn", page, "--method", method, "--json"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        let first = &serde_json::from_str::<serde_json::Value>(&said.stdout).expect("JSON")["candidates"][0];
        assert_eq!((first["method"].as_str(), first["rows"].as_u64()), (Some(method), Some(7)), "{}", said.stdout);
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
fn a_label_can_be_given_on_the_command_line_and_a_wrong_one_changes_nothing() {
    let stage = Stage::new();
    stage.write_task("plain", "/products", "");
    assert_eq!(stage.pieme(&["run", "plain"]).code, 3, "learned, waits for a person");
    let offered = stage.pieme(&["label", "plain", "--json"]).json();
    let columns = offered["candidates"][0]["columns"].as_array().expect("columns").len();
    let before = stage.read("tasks/plain/template.json");
    for words in [&["--pick", "9"][..], &["--pick", "0"], &["--names", "a,b"], &["--names", "-"]] {
        let said = stage.pieme(&[&["label", "plain"][..], words].concat());
        assert_eq!(said.code, 2, "{words:?}: {}", said.stderr);
    }
    assert_eq!(stage.pieme(&["label", "plain"]).code, 2, "there is no terminal to ask at");
    assert_eq!(stage.read("tasks/plain/template.json"), before);
    let mut names = vec!["-".to_owned(); columns];
    names[0] = "first".to_owned();
    let said = stage.pieme(&["label", "plain", "--names", &names.join(",")]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let records = stage.pieme(&["records", "plain", "--json"]).json();
    assert_eq!(records["columns"], serde_json::json!(["first"]));
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
