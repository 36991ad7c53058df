//! Retention of what is not published.

use super::*;
use pieme::model::{PageMeta, TraceLine};
use pieme::store::RetentionLimits;

on_both! {
    quarantined_rows_stay_aside_until_a_run_is_published_or_three_newer_ones_are
    one_generation_before_the_published_one_is_kept
    pages_of_the_last_good_run_and_of_five_bad_ones_are_kept
    a_trace_is_kept_in_order_and_has_an_end
    runs_without_end_do_not_fill_the_database
}

fn meta(n: u32) -> PageMeta {
    PageMeta {
        url: format!("https://example.org/{n}").parse().expect("a URL"),
        status: 200,
        headers: vec![("content-type".to_owned(), "text/html".to_owned())],
        fetched_at: minute(1),
        elapsed_ms: 34,
        saved_as: None,
    }
}

fn quarantined_rows_stay_aside_until_a_run_is_published_or_three_newer_ones_are(kind: Kind) {
    let mut scene = Scene::on(kind);
    let runs: Vec<RunId> = ["1", "2", "3", "4"].iter().map(|price| scene.go(LAYOUT, &[&["q", price]])).collect();
    let aside = |scene: &Scene| -> Vec<String> {
        let rows = runs.iter().flat_map(|&run| scene.store.quarantined_rows(run, 10, 0).expect("rows"));
        rows.flat_map(|rows| rows.table.rows).map(|row| short(&row)).collect()
    };
    assert_eq!(aside(&scene), ["q=2", "q=3", "q=4"]);
    assert_eq!(scene.generations().len(), 3);
    scene.go(Outcome::Failed(Failure::Network), &[]);
    assert_eq!(aside(&scene).len(), 3);
    scene.go(CHANGED, &[&["a", "1"]]);
    assert_eq!(aside(&scene).len(), 0);
    assert_eq!(scene.generations().len(), 1);
}

fn one_generation_before_the_published_one_is_kept(kind: Kind) {
    let mut scene = Scene::on(kind);
    for price in ["1", "2", "3", "4"] {
        scene.go(CHANGED, &[&["a", price]]);
    }
    assert_eq!(scene.generations().len(), 2);
    assert_eq!(scene.ask("SELECT state FROM _generation ORDER BY state"), "previous\npublished");
}

fn pages_of_the_last_good_run_and_of_five_bad_ones_are_kept(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.store.set_retention(RetentionLimits { pages_per_run: 3, bad_runs: 5, ..RetentionLimits::default() });
    let mut runs = Vec::new();
    for n in 0..12 {
        let run = scene.begin();
        for page in 0..4 {
            scene.store.store_page(run, page, &meta(page), &[n, 2, 3]).expect("kept");
        }
        let good = n < 3;
        scene.stage(run, &["name"], &[&[&format!("n{n}")]]);
        scene.end(run, if good { CHANGED } else { Outcome::Failed(Failure::Blocked) }, 1);
        runs.push(run);
    }
    let kept: Vec<usize> = runs.iter().map(|&run| scene.store.pages(run).expect("pages").len()).collect();
    assert_eq!(kept, [0, 0, 3, 0, 0, 0, 0, 3, 3, 3, 3, 3]);
    let (found, body) = &scene.store.pages(runs[11]).expect("pages")[1];
    assert_eq!((found, body.as_slice()), (&meta(1), &[11, 2, 3][..]));
}

fn a_trace_is_kept_in_order_and_has_an_end(kind: Kind) {
    let mut scene = Scene::on(kind);
    let run = scene.begin();
    let line = |n: u32| TraceLine { at: minute(1), step: n, verb: "get".to_owned(), text: "x".repeat(5_000) };
    scene.store.append_trace(run, &[line(1), line(2)]).expect("traced");
    scene.store.append_trace(run, &(3..3_000).map(line).collect::<Vec<_>>()).expect("traced");
    let found = scene.store.trace_lines(run).expect("lines");
    assert_eq!(found.len(), 2_000);
    assert!(found.iter().enumerate().all(|(index, line)| line.step as usize == index + 1 && line.text.len() == 4_096));
    scene.end(run, Outcome::Failed(Failure::Http), 0);
    for _ in 0..20 {
        scene.go(Outcome::Failed(Failure::Http), &[]);
    }
    assert_eq!(scene.store.trace_lines(run).expect("lines").len(), 0);
}

fn runs_without_end_do_not_fill_the_database(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"]]);
    // What a thousand runs would leave, written at once.
    scene.ask(match kind {
        Kind::Sqlite => {
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1020)
         INSERT INTO _runs (id, task, trigger, started, ended, outcome, cause, sentence, rows, pages, provisional)
         SELECT printf('00000000-0000-7000-8000-%012d', i), 'halifax-hotels', 'schedule', printf('2025-01-01T%06d', i),
                '2025', 'failed', 'http', '', 0, 0, 0 FROM n"
        }
        Kind::Postgres => {
            "INSERT INTO _runs (id, task, trigger, started, ended, outcome, cause, sentence, rows, pages, provisional)
         SELECT '00000000-0000-7000-8000-' || lpad(i::text, 12, '0'), 'halifax-hotels', 'schedule',
                timestamptz '2025-01-01' + i * interval '1 second', '2025-01-02', 'failed', 'http', '', 0, 0, false
         FROM generate_series(1, 1020) AS i"
        }
    });
    scene.go(Outcome::Failed(Failure::Http), &[]);
    // The run of the published rows is older than all of them, and stays.
    assert_eq!(scene.ask("SELECT count(*) FROM _runs"), "1001");
    assert_eq!(scene.shown(), ["a=1"]);
}
