//! What readers see while the writer is working, and after it has stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;
use pieme::store::StoreError;

on_both! {
    readers_never_see_half_a_table_while_a_writer_publishes
    a_writer_that_vanishes_while_staging_loses_nothing_and_leaves_no_stray_table
    a_reader_before_the_first_start_is_told_so_and_makes_nothing
    a_reader_works_with_the_daemon_up_and_down_and_cannot_write
    the_status_table_says_what_each_run_left_behind
    rows_are_read_in_parts_in_the_order_of_the_page
}

fn readers_never_see_half_a_table_while_a_writer_publishes(kind: Kind) {
    const GENERATIONS: usize = 40;
    let mut scene = Scene::on(kind);
    let rows = |generation: usize| -> Vec<Row> {
        // Every generation has a length of its own, and says its number in every row.
        (0..50 + generation).map(|n| row(&[&format!("r{n}"), &generation.to_string()])).collect()
    };
    let address = scene.home.address();
    let done = AtomicBool::new(false);
    thread::scope(|threads| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                threads.spawn(|| {
                    let reader = Store::open_reader(&address).expect("a reader");
                    let mut looks = 0;
                    while !done.load(Ordering::Relaxed) {
                        let Some(found) = reader.published(&name("halifax-hotels"), 1_000, 0).expect("rows") else {
                            continue;
                        };
                        let generation = found.table.rows[0].cells[1].clone();
                        let number: usize = generation.as_deref().unwrap_or_default().parse().expect("a number");
                        assert_eq!(found.table.rows.len(), 50 + number);
                        assert!(found.table.rows.iter().all(|row| row.cells[1] == generation));
                        looks += 1;
                    }
                    looks
                })
            })
            .collect();
        let columns = ["name", "price"].map(str::to_owned);
        for generation in 0..GENERATIONS {
            let run = scene.begin();
            let (task, now) = (scene.task.clone(), scene.now());
            for page in rows(generation).chunks(10) {
                scene.store.stage_rows(run, &task, &columns, &[], page, now).expect("staged");
            }
            scene.end(run, CHANGED, (50 + generation) as u64);
        }
        done.store(true, Ordering::Relaxed);
        let looks: u64 = readers.into_iter().map(|reader| reader.join().expect("no half table")).sum();
        assert!(looks > 0, "the readers never looked");
    });
    assert_eq!(scene.shown().len(), 50 + GENERATIONS - 1);
}

fn a_writer_that_vanishes_while_staging_loses_nothing_and_leaves_no_stray_table(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"]]);
    let run = scene.begin();
    // Too many to stay in memory.
    let rows: Vec<&[&str]> = vec![&["b", "1"]; 20_001];
    scene.stage(run, &["name", "price"], &rows);
    assert_eq!(scene.generations().len(), 2);
    let mut scene = scene.reopened();
    let now = scene.now();
    assert_eq!(scene.store.end_interrupted_runs(now).expect("found"), [(run, scene.task.clone())]);
    assert_eq!(scene.store.end_interrupted_runs(now).expect("found"), []);
    assert_eq!(scene.shown(), ["a=1"]);
    assert_eq!(scene.generations().len(), 1);
    let row = &scene.store.tasks().expect("tasks")[0];
    let last = row.last_run.as_ref().expect("a last run");
    assert_eq!((last.run, last.verdict.outcome), (run, Outcome::Failed(Failure::Crash)));
    assert_eq!((row.fails_in_a_row, row.running_since), (1, None));
}

fn a_reader_before_the_first_start_is_told_so_and_makes_nothing(kind: Kind) {
    let home = Home::new(kind);
    // The second attempt finds what the first might have created.
    for _ in 0..2 {
        let error = Store::open_reader(home.address()).err().expect("nothing there");
        assert!(matches!(&error, StoreError::Missing(_)));
        assert!(error.to_string().ends_with("yet; the daemon creates it at its first start"), "{error}");
    }
    assert!(Store::open_reader_if_any(&home.address()).expect("an answer").is_none());
}

fn a_reader_works_with_the_daemon_up_and_down_and_cannot_write(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"]]);
    let mut reader = scene.reader();
    let refused = reader.set_paused(&scene.task, true);
    assert!(matches!(refused, Err(StoreError::ReadOnly(_))), "{refused:?}");
    drop(reader);
    let Scene { home, store, .. } = scene;
    drop(store);
    let reader = Store::open_reader(home.address()).expect("a reader without the daemon");
    assert_eq!(reader.tasks().expect("tasks").len(), 1);
}

fn the_status_table_says_what_each_run_left_behind(kind: Kind) {
    let mut scene = Scene::on(kind);
    let task = scene.task.clone();
    scene.store.upsert_task(&task, Some("Hotels"), minute(0)).expect("remembered");
    scene.store.set_next_due(&task, Some(minute(99))).expect("set");
    scene.store.set_paused(&task, true).expect("set");
    scene.store.set_problem(&task, Some("task.toml:1:1: bad")).expect("set");
    scene.store.upsert_task(&name("another"), None, minute(0)).expect("remembered");
    let good = scene.go(CHANGED, &[&["a", "1"], &["b", "1"]]);
    let ok_at = minute(scene.minutes);
    scene.go(CHANGED, &[&["a", "1"]]);
    let last_ok = minute(scene.minutes);
    assert!(ok_at < last_ok);
    scene.go(LAYOUT, &[&["x", "1"]]);
    let bad = scene.go(Outcome::Failed(Failure::Http), &[]);
    let going = scene.begin();
    let since = minute(scene.minutes);
    let reader = scene.reader();
    let rows = reader.tasks().expect("tasks");
    assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["another", "halifax-hotels"]);
    assert_eq!((rows[0].last_run.is_none(), rows[0].fails_in_a_row, rows[0].published_rows), (true, 0, None));
    let row = &rows[1];
    assert_eq!((row.title.as_deref(), row.paused, row.next_due), (Some("Hotels"), true, Some(minute(99))));
    assert_eq!(row.problem.as_deref(), Some("task.toml:1:1: bad"));
    assert_eq!((row.published_rows, row.previous_rows), (Some(1), Some(2)));
    assert_eq!((row.last_ok, row.fails_in_a_row, row.running_since), (Some(last_ok), 2, Some(since)));
    assert_eq!(row.last_run.as_ref().map(|run| run.run), Some(bad));

    let past = reader.past_verdicts(&task, 10).expect("past runs");
    let words: Vec<String> =
        past.iter().map(|run| format!("{}/{}", run.verdict.outcome.word(), run.verdict.outcome.cause())).collect();
    assert_eq!(words, ["failed/http", "quarantined/layout", "published/changed", "published/changed"]);
    assert_eq!(past[3].run, good);
    assert_eq!(reader.past_verdicts(&task, 2).expect("past runs").len(), 2);
    let run = reader.run(going).expect("an answer").expect("the run that is going");
    assert_eq!((run.start.trigger, run.start.pid, run.end), (Trigger::Schedule, Some(42), None));
    assert!(run.boot.is_some());
}

fn rows_are_read_in_parts_in_the_order_of_the_page(kind: Kind) {
    let mut scene = Scene::on(kind);
    let names: Vec<String> = (0..10).map(|n| format!("n{}", 9 - n)).collect();
    let rows: Vec<Vec<&str>> = names.iter().map(|name| vec![name.as_str(), "1"]).collect();
    scene.go(CHANGED, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let part = scene.store.published(&scene.task, 3, 4).expect("rows").expect("published");
    assert_eq!(part.table.rows.iter().map(short).collect::<Vec<_>>(), ["n5=1", "n4=1", "n3=1"]);
    assert_eq!((part.total, part.first_seen.len()), (10, 3));
}
