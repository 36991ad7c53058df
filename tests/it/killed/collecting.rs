//! Interrupted garbage collection: published rows and what retention keeps stay complete, and the next collection
//! finishes.

use chrono::{DateTime, TimeDelta, Utc};
use pieme::model::{
    Failure, Outcome, PageMeta, Publication, Quarantine, Row, RunId, TaskName, TimeSpan, TraceLine, Verdict,
};
use pieme::store::{RetentionLimits, RunStart, Store, Trigger};

use super::{Kind, Place, begun, kill_within, timed, told};
use crate::promises::{Dice, role, times};

/// More rows than are published by refilling existing tables, and more records than one step removes.
const ROWS: usize = 5_100;
/// Runs per round, most of which exceed the limits.
const RUNS: usize = 12;

/// The retention limits; everything beyond them is removed.
const KEEP: RetentionLimits = RetentionLimits {
    pages_per_run: 20,
    bad_runs: 1,
    runs: 4,
    max_run_age: TimeSpan::seconds(365 * 86_400),
    traces: 2,
    quarantined: 1,
    max_removed_age: TimeSpan::seconds(86_400),
    history_records: 7_000,
};

#[test]
fn on_sqlite() {
    check("killed::collecting::on_sqlite", Kind::Sqlite);
}

#[test]
fn on_postgres() {
    check("killed::collecting::on_postgres", Kind::Postgres);
}

fn check(test: &str, kind: Kind) {
    if role().is_some() {
        let (folder, address) = told();
        let mut store = Store::open(address).expect("a sound store");
        begun(&folder);
        return collect(&mut store);
    }
    let mut scene = Scene { place: Place::new(kind), round: 0, last: None };
    scene.fill();
    let within = timed(scene.place.start(test, "collect"));
    scene.inspect(true);
    let (kills, mut dice, mut killed, mut unfinished) = (times(4, 100), Dice(29), 0, 0);
    while killed < kills {
        scene.fill();
        assert!(scene.round < 10 * kills, "it is not killed in time");
        // What is left of the round is removed by a collection that may be killed again.
        let mut was_killed = true;
        while was_killed && killed < kills {
            was_killed = kill_within(&mut scene.place.start(test, "collect"), within, &mut dice);
            killed += usize::from(was_killed);
            unfinished += usize::from(was_killed && !scene.inspect(false));
        }
    }
    println!("KILLED {kind:?} | gc | {killed} kills, {unfinished} of them with something left to remove");
    assert!(unfinished > 0, "no kill came in time");
    collect(&mut Store::open(scene.place.address()).expect("a sound store"));
    assert!(scene.inspect(true), "the next one brings it to its end");
}

fn collect(store: &mut Store) {
    store.set_retention(KEEP);
    for task in store.task_names().expect("tasks") {
        while !store.collect_garbage(&task, Utc::now()).expect("a step").is_zero() {}
    }
}

struct Scene {
    place: Place,
    round: usize,
    /// The run whose rows are published.
    last: Option<RunId>,
}

impl Scene {
    /// Runs that are published, quarantined and failed, all with traces and pages; old changes of many records.
    fn fill(&mut self) {
        self.round += 1;
        let mut store = Store::open(self.place.address()).expect("a sound store");
        for n in 0..RUNS {
            let started = Utc::now() - TimeDelta::milliseconds((RUNS - n) as i64);
            match n {
                0 | 6 => self.last = Some(self.publish(&mut store, n, started)),
                3 | 9 => _ = run(&mut store, Outcome::Quarantined(Quarantine::Layout), &rows(3, "aside"), started),
                _ => _ = run(&mut store, Outcome::Failed(Failure::Http), &[], started),
            }
        }
    }

    fn publish(&self, store: &mut Store, n: usize, at: DateTime<Utc>) -> RunId {
        let price = format!("{} {n}", self.round);
        run(store, Outcome::Published(Publication::Changed), &rows(ROWS, &price), at)
    }

    /// Whether everything that should go is gone; fails where something else is gone, or half removed.
    fn inspect(&self, finished: bool) -> bool {
        let mut store = Store::open(self.place.address()).expect("a sound store");
        store.quick_check().expect("a sound store");
        store.set_retention(KEEP);
        let shown = store.published(&task(), u64::MAX, 0).expect("rows").expect("published");
        assert_eq!(shown.table.rows, rows(ROWS, &format!("{} 6", self.round)), "the published rows");
        assert_eq!(Some(shown.run), self.last);
        for run in store.past_runs(&task(), 1_000).expect("runs") {
            let id = run.start.run;
            assert!(run.end.is_some(), "{id} has ended");
            let (lines, pages) = (store.trace_lines(id).expect("traces").len(), store.pages(id).expect("pages").len());
            assert!([0, 2].contains(&lines) && [0, 1].contains(&pages), "{id}: {lines} lines and {pages} pages");
            let aside = store.quarantined_rows(id, u64::MAX, 0).expect("rows").map(|it| it.table.rows.len() as u64);
            assert!(aside.is_none_or(|rows| rows == 3), "{id}: {aside:?} of its rows are kept aside");
        }
        for change in store.changes(&task(), None, 1_000).expect("changes") {
            let listed = store.records_of(change.id, 0, u32::MAX).expect("records").len() as u64;
            assert_eq!(Some(listed), change.counts.map(|it| it.total()), "change {}", change.id);
        }
        let is_done = store.count_garbage(&task(), Utc::now()).expect("said").is_zero();
        assert!(is_done || !finished, "something is left");
        if is_done {
            self.kept(&store);
        }
        is_done
    }

    /// What retention keeps is there.
    fn kept(&self, store: &Store) {
        let runs = store.past_runs(&task(), 1_000).expect("runs");
        // The newest four, and those whose rows exist: published, previous and quarantined.
        assert!((4..=7).contains(&runs.len()), "{} runs", runs.len());
        let traced = runs.iter().filter(|run| !store.trace_lines(run.start.run).expect("traces").is_empty()).count();
        assert_eq!(traced, 2);
        assert_eq!(store.changes(&task(), None, 1_000).expect("changes").len(), 1, "the newest change has room");
        let aside = store.quarantined_run(&task()).expect("said").expect("rows kept aside");
        assert!(store.quarantined_rows(aside, 10, 0).expect("rows").is_some_and(|rows| rows.total == 3));
    }
}

fn task() -> TaskName {
    TaskName::new("hotels").expect("a good name")
}

fn rows(count: usize, price: &str) -> Vec<Row> {
    (0..count).map(|n| Row { cells: vec![Some(format!("hotel {n}")), Some(price.to_owned())], page: 0 }).collect()
}

fn run(store: &mut Store, outcome: Outcome, rows: &[Row], started_at: DateTime<Utc>) -> RunId {
    let run = RunId::new();
    let start = RunStart { run, task: task(), slot: None, trigger: Trigger::Schedule, started_at, pid: None };
    store.begin_run(&start).expect("a run");
    let line = TraceLine { at: started_at, step: 1, verb: "get".to_owned(), text: "x".repeat(200) };
    store.append_trace(run, &[line.clone(), line]).expect("traced");
    let url = "https://example.org/".parse().expect("a URL");
    let meta =
        PageMeta { url, status: 200, headers: Vec::new(), fetched_at: started_at, elapsed_ms: 1, saved_as: None };
    store.store_page(run, 0, &meta, &[7; 20_000]).expect("kept");
    let (columns, key) = (["name", "price"].map(str::to_owned), ["name".to_owned()]);
    store.stage_rows(run, &task(), &columns, &key, rows, started_at).expect("rows");
    let verdict = Verdict { outcome, rows: rows.len() as u64, ..Verdict::failed(Failure::Http, "as the test says") };
    assert_eq!(store.end_run(run, &verdict, started_at).expect("an end").outcome, outcome);
    run
}
