//! What `pieme gc` removes, and what it never does.

use super::*;
use pieme::model::{PageMeta, TimeSpan, TraceLine};
use pieme::store::{GcCounts, RetentionLimits};

on_both! {
    nothing_goes_that_the_rules_keep
    a_stricter_rule_holds_for_what_is_there_and_published_rows_stay
    old_runs_go_however_few_there_are_but_the_last_is_still_shown
    of_a_task_that_is_long_gone_the_published_rows_stay
    a_rule_without_end_keeps_everything
    a_change_of_many_records_goes_whole
}

const FAILED: Outcome = Outcome::Failed(Failure::Http);
const DAY: i64 = 24 * 60;

impl Scene {
    /// A run with a trace of two lines and a page of ten bytes.
    pub(super) fn go_with_traces(&mut self, outcome: Outcome, rows: &[&[&str]]) -> RunId {
        let run = self.begin();
        let line = TraceLine { at: minute(1), step: 1, verb: "get".to_owned(), text: "x".to_owned() };
        self.store.append_trace(run, &[line.clone(), line]).expect("traced");
        let meta = PageMeta {
            url: "https://example.org/".parse().expect("a URL"),
            status: 200,
            headers: Vec::new(),
            fetched_at: minute(1),
            elapsed_ms: 1,
            saved_as: None,
        };
        self.store.store_page(run, 0, &meta, &[7; 10]).expect("kept");
        self.stage(run, &["name", "price"], rows);
        self.end(run, outcome, rows.len() as u64);
        run
    }

    /// Counts what would be removed, then removes it: both are the same, and then nothing is left to remove.
    pub(super) fn collect(&mut self, now: DateTime<Utc>) -> GcCounts {
        let task = self.task.clone();
        let would = self.store.count_garbage(&task, now).expect("said");
        assert_eq!(self.store.count_garbage(&task, now).expect("said"), would, "a dry run changes nothing");
        let mut all = GcCounts::default();
        loop {
            let step = self.store.collect_garbage(&task, now).expect("collected");
            if step.is_zero() {
                break;
            }
            all += step;
        }
        assert_eq!(all, would);
        all
    }
}

/// Ten runs under generous limits: two published, three quarantined, five failed.
fn ten_runs(kind: Kind) -> Scene {
    let mut scene = Scene::on(kind);
    for price in ["1", "2"] {
        scene.go_with_traces(CHANGED, &[&["a", price]]);
    }
    for price in ["3", "4", "5"] {
        scene.go_with_traces(LAYOUT, &[&["a", price]]);
    }
    for _ in 0..5 {
        scene.go_with_traces(FAILED, &[]);
    }
    scene
}

fn nothing_goes_that_the_rules_keep(kind: Kind) {
    let mut scene = ten_runs(kind);
    let now = scene.now();
    assert_eq!(scene.collect(now), GcCounts::default());
}

fn a_stricter_rule_holds_for_what_is_there_and_published_rows_stay(kind: Kind) {
    let mut scene = ten_runs(kind);
    scene.store.set_retention(RetentionLimits {
        bad_runs: 1,
        runs: 4,
        traces: 3,
        quarantined: 1,
        ..RetentionLimits::default()
    });
    let now = scene.now();
    let collected = scene.collect(now);
    // Of the six runs beyond the newest four, those of the published, the previous and the quarantined rows stay.
    let expected = GcCounts { runs: 3, trace_lines: 14, pages: 4, page_bytes: 40, generations: 2, changes: 0 };
    assert_eq!((collected.runs, collected.generations), (3, 2), "{collected:?}");
    assert_eq!(collected, expected);
    assert_eq!(scene.shown(), ["a=2"]);
    assert_eq!(scene.ask("SELECT count(*) FROM _runs"), "7");
    assert_eq!(scene.generations().len(), 3);
    if kind == Kind::Sqlite {
        assert_eq!(scene.ask("PRAGMA integrity_check; PRAGMA foreign_key_check"), "ok");
    }
}

fn old_runs_go_however_few_there_are_but_the_last_is_still_shown(kind: Kind) {
    let mut scene = ten_runs(kind);
    let (later, task) = (minute(401 * DAY), scene.task.clone());
    let collected = scene.collect(later);
    assert_eq!(collected.runs, 4, "{collected:?}");
    let row = &scene.store.tasks().expect("tasks")[0];
    assert_eq!(row.last_run.as_ref().map(|run| run.verdict.outcome), Some(FAILED));
    assert_eq!(scene.store.past_verdicts(&task, 100).expect("runs").len(), 6);
    assert_eq!(scene.shown(), ["a=2"]);
}

fn of_a_task_that_is_long_gone_the_published_rows_stay(kind: Kind) {
    let mut scene = ten_runs(kind);
    let task = scene.task.clone();
    scene.store.mark_task_removed(&task, minute(DAY)).expect("forgotten");
    assert_eq!(scene.collect(minute(30 * DAY)), GcCounts::default(), "a folder may come back");
    let collected = scene.collect(minute(32 * DAY));
    assert_eq!((collected.generations, collected.trace_lines), (4, 20), "{collected:?}");
    assert_eq!(scene.ask("SELECT count(*) FROM _pages"), "0");
    assert_eq!(scene.shown(), ["a=2"]);
    assert_eq!(scene.generations().len(), 1);
    scene.go(CHANGED, &[&["a", "9"]]);
    assert_eq!(scene.shown(), ["a=9"], "it can come back all the same");
}

fn a_rule_without_end_keeps_everything(kind: Kind) {
    let mut scene = ten_runs(kind);
    let ages = TimeSpan(std::time::Duration::MAX);
    scene.store.set_retention(RetentionLimits {
        max_run_age: ages,
        max_removed_age: ages,
        ..RetentionLimits::default()
    });
    scene.store.keep_history(&[(scene.task.clone(), ages)]).expect("kept");
    assert_eq!(scene.collect(minute(100_000 * DAY)), GcCounts::default());
}

fn a_change_of_many_records_goes_whole(kind: Kind) {
    let mut scene = Scene::on(kind);
    let names: Vec<String> = (0..6_000).map(|n| format!("hotel {n}")).collect();
    for price in ["1", "2"] {
        let rows: Vec<[&str; 2]> = names.iter().map(|name| [name.as_str(), price]).collect();
        scene.go(CHANGED, &rows.iter().map(<[&str; 2]>::as_slice).collect::<Vec<_>>());
    }
    let task = scene.task.clone();
    scene.store.keep_history(&[(task.clone(), TimeSpan::seconds(1))]).expect("kept");
    let (now, mut steps) = (scene.now(), 0);
    while !scene.store.collect_garbage(&task, now).expect("a step").is_zero() {
        steps += 1;
        for change in scene.store.changes(&task, None, 10).expect("changes") {
            let listed = scene.store.records_of(change.id, 0, u32::MAX).expect("records").len();
            assert_eq!(Some(listed as u64), change.counts.map(|it| it.total()), "after step {steps}");
        }
    }
    assert!(steps > 0 && scene.store.changes(&task, None, 10).expect("changes").is_empty());
}
