//! Copying one store into another: the copy is complete, it can be worked with, and an incomplete one cannot be opened.

use super::*;
use pieme::model::{ColumnType, Facet, ValueColumn};
use pieme::store::{AlertStateUpdate, CopyCounts, OutgoingAlert, Query, ReviewAction, SearchRequest, StoreError, copy};

use crate::all_kept::{all_kept, assert_same};

/// From each kind of database into each.
macro_rules! between_all {
    ($($name:ident)*) => {
        $(mod $name {
            use super::Kind::{Postgres, Sqlite};
            #[test] fn sqlite_to_postgres() { super::$name(Sqlite, Postgres) }
            #[test] fn postgres_to_sqlite() { super::$name(Postgres, Sqlite) }
            #[test] fn sqlite_to_sqlite() { super::$name(Sqlite, Sqlite) }
            #[test] fn postgres_to_postgres() { super::$name(Postgres, Postgres) }
        })*
    };
}

between_all! {
    everything_that_is_kept_is_there
    the_work_goes_on_where_it_was
    a_store_that_holds_something_is_not_written_over
}

on_both! {
    rows_that_are_not_what_was_written_are_not_copied
    a_run_that_was_cut_short_is_a_crash_in_the_copy
    an_empty_store_is_one_to_begin_with
}

const VALUES: &[ValueColumn] = &[
    ValueColumn { of: 1, kind: ColumnType::Money, facet: Facet::Value },
    ValueColumn { of: 1, kind: ColumnType::Money, facet: Facet::Currency },
    ValueColumn { of: 2, kind: ColumnType::Int, facet: Facet::Value },
    ValueColumn { of: 3, kind: ColumnType::Bool, facet: Facet::Value },
    ValueColumn { of: 4, kind: ColumnType::Number, facet: Facet::Value },
    ValueColumn { of: 5, kind: ColumnType::Date, facet: Facet::Value },
];

/// More rows than are published by refilling existing tables.
const MANY: usize = 5_200;

/// A store with everything that a store can hold.
fn full(kind: Kind) -> Scene {
    let mut scene = Scene::on(kind);
    scene
        .store
        .upsert_task(&scene.task.clone(), Some("Hotels in \u{1f3e8} “Halifax”\t\\N"), minute(0))
        .expect("a task");
    publish_typed(&mut scene, "95,00 €", "95.00");
    publish_typed(&mut scene, "96,50 €", "96.5");
    scene.go_with_traces(LAYOUT, &[&["kept aside", "5"]]);
    scene.go_with_traces(Outcome::Failed(Failure::Http), &[]);
    scene.task = name("many");
    for price in ["7", "8"] {
        publish_many(&mut scene, price);
    }
    scene.store.set_paused(&name("many"), true).expect("paused");
    scene.store.set_next_due(&name("halifax-hotels"), Some(minute(5_000))).expect("a time");
    scene.task = name("gone");
    scene.go(CHANGED, &[&["once", "1"]]);
    scene.store.mark_task_removed(&name("gone"), minute(90)).expect("forgotten");
    alert(&mut scene);
    scene.task = name("halifax-hotels");
    scene
}

fn publish_typed(scene: &mut Scene, price: &str, amount: &str) {
    let run = scene.begin();
    let (task, now) = (scene.task.clone(), scene.now());
    let columns = ["name", "price", "rooms", "open", "rating", "Ab \"wann\" "].map(str::to_owned);
    let cells = |cells: [&str; 12]| Row {
        cells: cells.iter().map(|cell| (*cell != "-").then(|| (*cell).to_owned())).collect(),
        page: 3,
    };
    let rows = [
        cells(["Adler", price, "12", "yes", "4.5", "3. April", amount, "EUR", "12", "1", "4.5", "2024-04-03"]),
        cells([
            "tab\tline\nback\\slash \\. 'q' \"Q\"",
            "ask",
            "many",
            "no",
            "1e300",
            "-",
            "-",
            "-",
            "-",
            "0",
            "1e300",
            "-",
        ]),
        cells(["日本 \u{1f600} é", "-", "-", "-", "0.1", "-", "-", "-", "-9007199254740993", "-", "0.1", "-"]),
    ];
    scene.store.stage_values(run, &task, (&columns, VALUES), &["name".to_owned()], &rows, now).expect("staged");
    scene.end(run, CHANGED, 3);
}

fn publish_many(scene: &mut Scene, price: &str) {
    let run = scene.begin();
    let cells: Vec<[String; 2]> = (0..MANY)
        .map(|n| [format!("hotel {n}"), if n % 100 == 0 { price.to_owned() } else { "6".to_owned() }])
        .collect();
    for page in cells.chunks(500) {
        let page: Vec<Vec<&str>> = page.iter().map(|cells| cells.iter().map(String::as_str).collect()).collect();
        scene.stage(run, &["name", "price"], &page.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
    scene.end(run, CHANGED, MANY as u64);
}

fn alert(scene: &mut Scene) {
    let wanted: pieme::model::task::Alert = toml::from_str("urls = [\"https://hook.example/\"]").expect("alerts");
    scene.store.set_alert_configs(&[(name("many"), Some(wanted))]).expect("watched");
    let outgoing =
        OutgoingAlert { id: "a1".to_owned(), json: "{}".to_owned(), targets: vec!["https://hook.example/".to_owned()] };
    let told = AlertStateUpdate {
        task: name("many"),
        state_json: "{\"state\":\"failed\"}".to_owned(),
        outgoing: Some(outgoing),
    };
    scene.store.enqueue_alerts(&[told], minute(91)).expect("told");
    let letter = scene.store.due_deliveries(minute(92), 1).expect("letters").remove(0);
    scene.store.mark_undelivered(&letter, "nobody is in", Some(minute(93))).expect("undelivered");
}

/// The copy of a scene's store, in a new place.
fn copied(scene: &Scene, to: Kind) -> (Scene, CopyCounts) {
    let home = Home::new(to);
    let copied = copy(&scene.store, &home.address(), &mut |_| {}).expect("copied");
    let store = Store::open(home.address()).expect("a whole store");
    (Scene { home, store, task: scene.task.clone(), minutes: scene.minutes }, copied)
}

fn everything_that_is_kept_is_there(from: Kind, to: Kind) {
    let scene = full(from);
    let before = all_kept(&scene.store);
    let (copy, counted) = copied(&scene, to);
    assert_same(&all_kept(&copy.store), &before, "the copy");
    assert_same(&all_kept(&scene.store), &before, "the source is as it was");
    let rows = 3 * 2 + 1 + 2 * MANY as u64 + 1;
    assert_eq!(counted, CopyCounts { tasks: 3, runs: 7, sets: 6, rows, pages: 2, changes: 2 });
    copy.store.quick_check().expect("a sound database");
    assert_eq!(copy.ask("SELECT count(*) FROM \"many\""), MANY.to_string());
    let typed = "SELECT count(*) FROM \"halifax-hotels\" WHERE price > 96 AND rooms = 12 AND rating < 5";
    assert_eq!(copy.ask(typed), "1", "the view is typed");
    assert_eq!(copy.ask("SELECT count(*) FROM _history"), scene.ask("SELECT count(*) FROM _history"));
    // And back again: nothing is lost on the way, whatever each database calls its numbers.
    let (again, _) = copied(&copy, from);
    assert_same(&all_kept(&again.store), &before, "copied back");
}

fn the_work_goes_on_where_it_was(from: Kind, to: Kind) {
    let (mut copy, _) = copied(&full(from), to);
    let shown = copy.store.published(&copy.task, 10, 0).expect("rows").expect("published");
    publish_typed(&mut copy, "96,50 €", "96.5");
    let unchanged = copy.store.past_verdicts(&copy.task, 1).expect("runs").remove(0).verdict.outcome;
    assert_eq!(unchanged, Outcome::Published(Publication::Unchanged));
    publish_typed(&mut copy, "99,00 €", "99");
    let after = copy.store.published(&copy.task, 10, 0).expect("rows").expect("published");
    assert_eq!(after.first_seen, shown.first_seen, "they are the same records");
    let changes = copy.store.changes(&copy.task, None, 10).expect("changes");
    assert_eq!((changes.len(), changes[0].counts.expect("compared").changed), (2, 1));
    let now = copy.now();
    let back =
        copy.store.apply_review(&copy.task, ReviewAction::RollBack, &["name".to_owned()], now).expect("a verdict");
    assert!(back.is_some_and(|verdict| verdict.outcome == CHANGED), "the rows before can be brought back");
    copy.task = name("many");
    publish_many(&mut copy, "9");
    let changes = copy.store.changes(&copy.task, None, 10).expect("changes");
    assert_eq!((changes.len(), changes[0].counts.expect("compared").changed), (2, MANY as u64 / 100));
    while let Some((task, _)) = copy.store.unindexed_tasks().expect("tasks").into_iter().next() {
        copy.store.index_next_part(&task).expect("a step");
    }
    let query = Query::parse("hotel 5199", None).expect("words");
    let wanted = SearchRequest { query, tasks: Vec::new(), limit: 10, offset: 0 };
    assert_eq!(copy.store.search(&wanted).expect("an answer").total, 1);
    copy.reopened().store.quick_check().expect("a sound database");
}

fn a_store_that_holds_something_is_not_written_over(from: Kind, to: Kind) {
    let mut scene = Scene::on(from);
    scene.go(CHANGED, &[&["a", "1"]]);
    let mut other = Scene::on(to);
    other.go(CHANGED, &[&["b", "2"]]);
    let refused = copy(&scene.store, &other.home.address(), &mut |_| {}).expect_err("it is occupied");
    assert!(matches!(refused, StoreError::Occupied(_)), "{refused}");
    assert_eq!(other.reopened().shown(), ["b=2"]);
}

fn rows_that_are_not_what_was_written_are_not_copied(kind: Kind) {
    let mut scene = Scene::on(Kind::Sqlite);
    scene.go(CHANGED, &[&["a", "1"]]);
    sqlite3(&scene.path(), "UPDATE _rows_1 SET price = '2'");
    let home = Home::new(kind);
    let refused = copy(&scene.store, &home.address(), &mut |_| {}).expect_err("it is damaged");
    assert!(refused.to_string().contains("the published rows of halifax-hotels"), "{refused}");
    let half = Store::open(home.address()).err();
    match kind {
        Kind::Postgres => assert!(matches!(half, Some(StoreError::IncompleteCopy(_))), "{half:?}"),
        Kind::Sqlite => assert!(half.is_none(), "there is nothing under its name: a new one is made"),
    }
}

fn a_run_that_was_cut_short_is_a_crash_in_the_copy(kind: Kind) {
    let mut scene = Scene::on(Kind::Sqlite);
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    scene.stage(run, &["name", "price"], &[&["a", "2"]]);
    let (mut copy, _) = copied(&scene, kind);
    let now = copy.now();
    copy.store.end_interrupted_runs(now).expect("as a daemon's start does it");
    let end = copy.store.run(run).expect("runs").expect("it is known").end.expect("it has ended");
    assert_eq!(end.1.outcome, Outcome::Failed(Failure::Crash));
    assert_eq!(copy.shown(), ["a=1"]);
}

fn an_empty_store_is_one_to_begin_with(kind: Kind) {
    let (mut copy, counted) = copied(&Scene::on(Kind::Sqlite), kind);
    assert_eq!(counted, CopyCounts::default());
    copy.go(CHANGED, &[&["a", "1"]]);
    assert_eq!(copy.reopened().shown(), ["a=1"]);
}
