//! What only a database server does: it goes away and comes back, and accepts no NUL and no long names.

use super::*;
use crate::postgres::Server;
use pieme::model::{ColumnType, Facet, ValueColumn};
use pieme::store::StoreError;

/// A scene on a server that the test may stop.
pub(super) fn own_server() -> (TempDir, Server, Scene) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let server = Server::own(folder.path());
    let home = Home::Postgres(server.schema());
    let store = Store::open(home.address()).expect("a new database");
    (folder, server, Scene { home, store, task: name("halifax-hotels"), minutes: 0 })
}

#[test]
fn a_restart_of_the_server_costs_not_even_the_run() {
    let (_folder, server, mut scene) = own_server();
    scene.go(CHANGED, &[&["a", "1"]]);
    for (how, price) in [("fast", "2"), ("immediate", "3")] {
        let run = scene.begin();
        scene.stage(run, &["name", "price"], &[&["a", price]]);
        server.stop(how);
        server.start();
        assert_eq!(scene.end(run, CHANGED, 1).outcome, CHANGED);
        assert_eq!(scene.shown(), [format!("a={price}")]);
    }
}

#[test]
fn a_server_that_is_away_costs_the_run_and_its_end_is_written_down_when_it_is_back() {
    let (_folder, server, mut scene) = own_server();
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    scene.stage(run, &["name", "price"], &[&["b", "2"]]);
    server.stop("fast");
    let now = scene.now();
    let error = scene.store.end_run(run, &verdict(CHANGED, 1), now).expect_err("nobody there");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    scene.store.end_failed(run, &verdict(Outcome::Failed(Failure::Internal), 0), now);
    assert!(matches!(scene.store.write_pending_ends(), Err(StoreError::Unreachable { .. })), "the end still waits");
    server.start();
    scene.store.write_pending_ends().expect("written down");
    assert_eq!(scene.shown(), ["a=1"]);
    let row = &scene.store.tasks().expect("tasks")[0];
    assert_eq!((row.fails_in_a_row, row.running_since), (1, None));
    scene.go(CHANGED, &[&["a", "2"]]);
    assert_eq!(scene.shown(), ["a=2"]);
}

#[test]
fn a_schema_that_is_somebody_elses_is_refused_and_so_is_a_newer_format() {
    let home = Home::new(Kind::Postgres);
    let Home::Postgres(schema) = &home else { panic!("a schema") };
    let StoreAddress::Postgres(address) = home.address() else { panic!("an address") };
    schema.psql(&format!("CREATE SCHEMA {0}; CREATE TABLE {0}.somebodys (x int)", address.schema()));
    let error = Store::open(home.address()).err().expect("refused");
    assert!(matches!(error, StoreError::Foreign(_)), "{error}");
    assert_eq!(schema.psql("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"), "1");
    schema.psql("DROP TABLE somebodys");
    drop(Store::open(home.address()).expect("an empty schema is as good as none"));
    schema.psql("UPDATE _format SET version = 99");
    for opened in [Store::open(home.address()), Store::open_reader(home.address())] {
        let error = opened.err().expect("refused").to_string();
        assert!(error.contains("was written by a newer pieme (format 99"), "{error}");
    }
}

#[test]
fn daemons_that_start_together_make_the_tables_once() {
    let home = Home::new(Kind::Postgres);
    let address = home.address();
    std::thread::scope(|threads| {
        let started: Vec<_> = (0..8).map(|_| threads.spawn(|| Store::open(&address).map(drop))).collect();
        for store in started {
            store.join().expect("no panic").expect("a store");
        }
    });
}

#[test]
fn long_names_nul_characters_and_broken_values_are_stored_all_the_same() {
    let mut scene = Scene::on(Kind::Postgres);
    let run = scene.begin();
    let long = "über lange Namen freut sich niemand ".repeat(4);
    let columns = [format!("{long}1"), format!("{long}2"), "x\0y".to_owned()];
    let values = [ColumnType::Int, ColumnType::Bool, ColumnType::Number].iter().enumerate();
    let values: Vec<ValueColumn> = values.map(|(of, &kind)| ValueColumn { of, kind, facet: Facet::Value }).collect();
    let rows = [row(&["a\0b", "tab\tand\\N", "line\r\n\\.", "7", "1", "1.5"]), row(&["c", "-", "-", "x", "x", "NaN"])];
    let (task, now) = (scene.task.clone(), scene.now());
    scene.store.stage_values(run, &task, (&columns, &values), &[], &rows, now).expect("staged");
    scene.end(run, CHANGED, 2);
    assert_eq!(scene.shown(), ["a\u{fffd}b=tab\tand\\N=line\r\n\\.", "c=-=-"]);
    let names = scene.ask(
        "SELECT count(*), max(length(attname::text::bytea)) FROM pg_attribute \
         WHERE attrelid = '\"halifax-hotels\"'::regclass",
    );
    assert_eq!(names, "10|63");
    let rows = scene.store.published(&task, 10, 0).expect("rows").expect("published");
    assert_eq!(rows.cells, [vec![7.into(), 1.into(), 1.5.into()], vec![serde_json::Value::Null; 3]]);
    scene.store.quick_check().expect("as it was published");
}

#[test]
fn a_change_behind_our_back_is_noticed_by_the_digest() {
    let mut scene = Scene::on(Kind::Postgres);
    scene.go(CHANGED, &[&["a", "1"], &["b", "2"]]);
    scene.store.quick_check().expect("sound");
    scene.ask("UPDATE _rows_1 SET c2 = '3' WHERE c1 = 'b'");
    let error = scene.store.quick_check().expect_err("another text").to_string();
    assert!(error.contains("the rows of halifax-hotels are not as they were published"), "{error}");
}

#[test]
fn columns_that_come_with_a_later_page_of_a_large_run_are_empty_before_it() {
    let mut scene = Scene::on(Kind::Postgres);
    let run = scene.begin();
    // Too many to stay in memory.
    let rows: Vec<&[&str]> = vec![&["a"]; 20_001];
    scene.stage(run, &["name"], &rows);
    scene.stage(run, &["name", "badge"], &[&["b", "new"]]);
    scene.end(run, CHANGED, 20_002);
    assert_eq!(scene.ask("SELECT count(*), count(badge) FROM \"halifax-hotels\""), "20002|1");
    assert_eq!(scene.ask("SELECT count(*) FROM _shape"), "1", "the table with fewer columns is gone");
}

#[test]
fn tables_that_were_never_made_are_no_database_to_read() {
    let home = Home::new(Kind::Postgres);
    let Home::Postgres(schema) = &home else { panic!("a schema") };
    let format = format!("{}._format", schema.name());
    schema.psql(&format!(
        "CREATE SCHEMA {}; CREATE TABLE {format} (id bigint PRIMARY KEY, version bigint NOT NULL);
         INSERT INTO {format} VALUES (1, 0)",
        schema.name()
    ));
    let error = Store::open_reader(home.address()).err().expect("nothing to read");
    assert!(matches!(error, StoreError::Missing(_)), "{error}");
    drop(Store::open(home.address()).expect("they are made now"));
    Store::open_reader(home.address()).expect("a reader");
}
