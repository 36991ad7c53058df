//! `pieme migrate-store` as a person types it: into PostgreSQL and back, what it refuses, and a daemon that continues
//! with the copy.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use pieme::store::Store;

use crate::kept::Kept;
use crate::postgres;
use crate::stage::{Said, Stage};

/// Rows in a file, and a schema to copy them into.
fn file_and_schema() -> (Kept, postgres::Schema) {
    let mut kept = Kept::new();
    kept.publish_texts("hotels", &["name", "price"], &[&["Adler", "1"], &["Ida", "2"]]);
    kept.publish_texts("hotels", &["name", "price"], &[&["Adler", "3"], &["Ida", "2"]]);
    (kept, postgres::shared().schema())
}

/// The program, with another configuration than the test's own.
fn pieme(config: &Path, words: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pieme"));
    command.arg("--config").arg(config).args(words).stdin(Stdio::null()).output().expect("pieme starts").into()
}

#[test]
fn rows_go_over_and_every_command_finds_them_there() {
    let (kept, schema) = file_and_schema();
    let said = kept.pieme(&["migrate-store", &schema.url()]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("Copied 1 task, 4 rows in 2 generations, 2 runs"), "{}", said.stdout);
    let line = said.stdout.lines().find(|line| line.starts_with("  store = ")).expect("what to write").trim();
    let before = ["records", "diff", "history"].map(|verb| kept.pieme(&[verb, "hotels", "--json"]).json());
    fs::write(kept.path("config.toml"), format!("{line}\n")).expect("a configuration");
    let after = ["records", "diff", "history"].map(|verb| kept.pieme(&[verb, "hotels", "--json"]).json());
    assert_eq!(after, before);
    assert_eq!(schema.psql("SELECT price FROM hotels ORDER BY name"), "3\n2");
    // And back into a file.
    let back = kept.pieme(&["migrate-store", "back/rows.db", "--json"]);
    assert_eq!((back.code, back.json()["copied"]["rows"].as_u64()), (0, Some(4)), "{}", back.stderr);
    fs::write(kept.path("config.toml"), "store = \"back/rows.db\"\n").expect("a configuration");
    assert_eq!(kept.pieme(&["records", "hotels", "--json"]).json(), before[0]);
}

#[test]
fn what_cannot_be_copied_is_said_and_nothing_is_made() {
    let (kept, schema) = file_and_schema();
    let url = schema.url();
    let check = |words: &[&str], code: i32, sentence: &str| {
        let said = kept.pieme(&[&["migrate-store"], words].concat());
        assert_eq!(said.code, code, "{words:?}: {}", said.stderr);
        assert!(said.stderr.contains(sentence), "{words:?}: {}", said.stderr);
        assert!(said.stdout.is_empty(), "{}", said.stdout);
    };
    check(&["state/pieme.db"], 2, "is the database to copy; give another one");
    check(&["mysql://db/rows"], 2, "unknown store mysql://");
    check(&[&url, "--from", "nothing.db"], 1, "there is no database at");
    check(&["postgres://me:${secret:db}@127.0.0.1/rows"], 2, "the secret `db` is missing");
    check(&["postgres://me@127.0.0.1:1/rows"], 75, "cannot be reached");
    fs::write(kept.path("notes.txt"), "milk").expect("somebody's file");
    check(&["notes.txt"], 2, "notes.txt is in use already");
    let typed = kept.pieme(&["migrate-store", "postgres://me:hunter2@127.0.0.1/rows"]);
    assert!(typed.code == 2 && !typed.stderr.contains("hunter2"), "{}", typed.stderr);
    assert!(!kept.path("nothing.db").exists());
    assert_eq!(kept.pieme(&["migrate-store", &url]).code, 0);
    check(&[&url], 2, "is in use already, and nothing was written to it");
}

#[test]
fn a_copy_that_was_cut_short_is_not_taken_for_a_store() {
    let (kept, schema) = file_and_schema();
    drop(Store::open(schema.address()).expect("new tables"));
    schema.psql("INSERT INTO _daemon VALUES ('copying', 'somebody 3')");
    let half = kept.path("half.toml");
    fs::write(&half, format!("store = \"{}\"\n", schema.url())).expect("a configuration");
    for words in [&["records", "hotels"][..], &["gc"]] {
        let said = pieme(&half, words);
        assert_eq!(said.code, 75, "{words:?}: {}", said.stderr);
        assert!(said.stderr.contains("a copy was interrupted"), "{}", said.stderr);
    }
    assert_eq!(kept.pieme(&["migrate-store", &schema.url()]).code, 0, "it is begun anew");
    assert_eq!(pieme(&half, &["records", "hotels"]).code, 0);
}

#[test]
fn a_daemon_goes_on_with_the_copy_and_keeps_others_from_copying_under_its_hands() {
    let mut stage = Stage::new();
    let schema = postgres::shared().schema();
    stage.drop_folder("practice-shop");
    stage.start_daemon();
    stage.wait_for_state("practice-shop", "ok");
    let said = stage.pieme(&["migrate-store", &schema.url()]);
    assert_eq!(said.code, 75, "{}", said.stderr);
    assert!(said.stderr.contains("stop it first"), "{}", said.stderr);
    stage.signal_daemon("-TERM");
    assert_eq!(stage.daemon_ended(), Some(0));
    let before = stage.pieme(&["records", "practice-shop", "--json"]).json();
    let said = stage.pieme(&["migrate-store", &schema.url()]);
    assert_eq!(said.code, 0, "{}", said.stderr);

    let of_file = stage.read("config.toml");
    stage.write("config.toml", &format!("store = \"{}\"\n{of_file}", schema.url()));
    stage.start_daemon();
    assert_eq!(stage.pieme(&["records", "practice-shop", "--json"]).json(), before);
    assert_eq!(stage.pieme(&["run", "practice-shop"]).code, 0, "it runs with its template");
    stage.wait_for("its folder in the store", || schema.psql("SELECT count(*) FROM _folder") == "1");
    let words = stage.pieme(&["search", "lamp"]);
    assert_eq!(words.code, 0, "{}", words.stderr);

    // From another state folder: the lock does not show the daemon, its lease does.
    let other = tempfile::tempdir().expect("a scratch folder");
    fs::create_dir(other.path().join("tasks")).expect("a folder");
    fs::create_dir(other.path().join("state")).expect("a folder");
    let config = other.path().join("config.toml");
    fs::write(&config, format!("store = \"{}\"\n", schema.url())).expect("a configuration");
    let file = other.path().join("rows.db").display().to_string();
    let said = pieme(&config, &["migrate-store", &file]);
    assert!(said.code == 75 && said.stderr.contains("using this database: stop it first"), "{}", said.stderr);
    stage.signal_daemon("-TERM");
    assert_eq!(stage.daemon_ended(), Some(0));
    let said = pieme(&config, &["migrate-store", &file]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("Updated 1 task folder from the database."), "{}", said.stderr);
    assert!(other.path().join("tasks/practice-shop/template.json").exists(), "a file shares no folders");
}
