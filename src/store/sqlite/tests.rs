//! Tests from inside the store: the settings of a connection, and a full disk.

mod changes;
mod keys;
mod upgrade;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::Connection;

use super::*;
use crate::model::{Failure, Outcome, Publication, Row, RunId, TaskName, Verdict};
use crate::store::sql::{SqlRow, SqlSession};
use crate::store::{
    BeginOutcome, FolderState, PublishedRows, RowStaging, RunEnding, RunStart, RunStarting, Tasks, Trigger,
};

fn now() -> DateTime<Utc> {
    DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_000)
}

fn task() -> TaskName {
    TaskName::new("t").expect("a good name")
}

/// A new database in a scratch folder.
fn scene() -> (tempfile::TempDir, Sqlite) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let store = Sqlite::open(&folder.path().join("pieme.db")).expect("a new database");
    (folder, store)
}

/// Checks that a statement walks no table without an index.
fn check_plan(connection: &Connection, sql: &str) {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a statement");
    let given = vec!["x"; statement.parameter_count()];
    let plan: Vec<String> = statement
        .query_map(rusqlite::params_from_iter(given), |row| row.get(3))
        .and_then(Iterator::collect)
        .expect("a plan");
    assert!(plan.iter().all(|line| !line.starts_with("SCAN") || line.contains("USING")), "{sql}: {plan:?}");
}

fn begin(store: &mut Sqlite) -> RunId {
    let run = RunId::new();
    let start = RunStart { run, task: task(), slot: None, trigger: Trigger::Person, started_at: now(), pid: None };
    assert_eq!(store.begin_run(&start).expect("a run"), BeginOutcome::Started);
    run
}

fn stage(store: &mut Sqlite, run: RunId, rows: usize) -> StoreResult<()> {
    let rows: Vec<Row> = (0..rows)
        .map(|n| Row { cells: vec![Some(format!("a name that takes some room, number {n}"))], page: 0 })
        .collect();
    store.stage_rows(run, &task(), &["name".to_owned()], &[], &rows, now())
}

fn publish(store: &mut Sqlite, rows: usize) {
    let run = begin(store);
    stage(store, run, rows).expect("staged");
    let outcome = Outcome::Published(Publication::Changed);
    let verdict = Verdict { outcome, rows: rows as u64, ..Verdict::failed(Failure::Internal, "") };
    assert_eq!(store.end_run(run, &verdict, now()).expect("an end").outcome, outcome);
}

#[test]
fn the_pragma_is_full_on_every_connection() {
    let (folder, writer) = scene();
    let reader = Sqlite::open_reader(&folder.path().join("pieme.db")).expect("a reader");
    for store in [&writer, &reader] {
        let number =
            |name| -> i64 { store.connection.pragma_query_value(None, name, |row| row.get(0)).expect("a pragma") };
        let mode: String =
            store.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).expect("a pragma");
        assert_eq!((number("synchronous"), number("foreign_keys"), mode.as_str()), (2, 1, "wal"));
    }
}

#[test]
fn a_full_disk_costs_the_run_and_not_the_data() {
    let (_folder, mut store) = scene();
    publish(&mut store, 3);
    let run = begin(&mut store);
    // A limit on pages stands for the disk: SQLite answers to both with the same error.
    store.connection.pragma_update(None, "max_page_count", 1).expect("cut to the present size");
    let error = stage(&mut store, run, 25_000).expect_err("full");
    assert_eq!(error.to_string(), "the disk is full; the published rows are unchanged");
    assert_eq!(store.published(&task(), 10, 0).expect("rows").map(|rows| rows.total), Some(3));
    // Space returns, and so does the task.
    store.connection.pragma_update(None, "max_page_count", 1_000_000).expect("room");
    store.end_run(run, &Verdict::failed(Failure::Internal, "full"), now()).expect("an end");
    publish(&mut store, 4);
    assert_eq!(store.published(&task(), 10, 0).expect("rows").map(|rows| rows.total), Some(4));
}

#[test]
fn a_locked_database_is_an_error_with_a_sentence() {
    let (folder, mut store) = scene();
    store.connection.busy_timeout(Duration::ZERO).expect("no patience");
    let other = Connection::open(folder.path().join("pieme.db")).expect("another writer");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let error = store.set_paused(&task(), true).expect_err("locked");
    assert_eq!(error.to_string(), "another process is writing to the database");
    other.execute_batch("COMMIT").expect("the lock");
    store.set_paused(&task(), true).expect("free again");
}

#[test]
fn no_step_of_a_run_walks_all_tasks() {
    let (_folder, store) = scene();
    for sql in [
        "SELECT id FROM _generation WHERE state = 'old'",
        "SELECT id FROM _generation WHERE task = ?1 AND state = 'published' ORDER BY id DESC LIMIT 1",
        "UPDATE _generation SET state = 'old' WHERE run = ?1 AND state = 'staging'",
        "SELECT id FROM _runs WHERE ended IS NULL ORDER BY started, id",
        "SELECT id FROM _runs WHERE task = ?1 ORDER BY started DESC, id DESC LIMIT 50 OFFSET 1000",
        "SELECT entries FROM _keys WHERE generation = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
        "DELETE FROM _keys WHERE generation = ?1",
        "SELECT DISTINCT p.run FROM _pages p JOIN _runs r ON r.id = p.run WHERE p.task = ?1",
        "SELECT id, task FROM _change WHERE added IS NULL AND (CAST($1 AS text) IS NULL OR task = $1) AND TRUE
             ORDER BY task, id LIMIT 1",
    ] {
        check_plan(&store.connection, sql);
    }
}

#[test]
fn a_parameter_is_bound_by_its_number_wherever_it_is_written() {
    let connection = Connection::open_in_memory().expect("a database");
    let pair = |row: &dyn SqlRow| Ok((row.get::<String>(0)?, row.get::<i64>(1)?));
    let found = connection.query_first("SELECT $2, $1 WHERE $1 = 7", &[&7_i64, &"two"], pair).expect("an answer");
    assert_eq!(found, Some(("two".to_owned(), 7)));
    assert!(connection.query_first("SELECT $2, $1", &[&7_i64], pair).is_err(), "one is missing");
}

#[test]
fn what_a_look_at_the_folders_found_is_noted_whole_or_not_at_all() {
    let (_folder, mut store) = scene();
    let name = |text: &str| TaskName::new(text).expect("a good name");
    let good = |text: &str| FolderState::Good { name: name(text), title: None };
    let broken = FolderState::Broken { name: name("b"), problem: "line 3".to_owned() };
    store.record_folder_states(&[good("a"), broken], now()).expect("noted");
    let problems: Vec<Option<String>> = store.tasks().expect("tasks").into_iter().map(|row| row.problem).collect();
    assert_eq!(problems, [None, Some("line 3".to_owned())]);

    let full = "CREATE TEMP TRIGGER full BEFORE INSERT ON main._task WHEN new.name = 'd'
                BEGIN SELECT RAISE(ABORT, 'full'); END";
    store.connection.execute_batch(full).expect("a disk that is full");
    assert!(store.record_folder_states(&[good("c"), good("d")], now()).is_err());
    assert_eq!(store.tasks().expect("tasks").len(), 2, "none of the two");
    store
        .record_folder_states(&[good("c"), FolderState::Gone { name: name("a") }], now())
        .expect("it can be written to again");
    assert_eq!(store.tasks().expect("tasks").iter().filter(|row| !row.removed).count(), 2);
}
