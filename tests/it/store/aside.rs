//! Review of unpublished rows: a person accepts them, drops them, or rolls back to the previous ones.

use super::*;
use pieme::store::ReviewAction;

on_both! {
    the_newest_rows_that_were_kept_aside_are_accepted
    what_is_dropped_is_gone_and_nothing_else
    rows_of_before_come_back_once
}

/// More rows than are copied at a time.
const MANY: u64 = 5_003;

impl Scene {
    /// A repaired run with so many rows.
    fn mended(&mut self, outcome: Outcome, rows: u64) -> RunId {
        let run = self.begin();
        let (task, now) = (self.task.clone(), self.now());
        let cells = |n: u64| Row { cells: vec![Some(format!("{n} of {rows}"))], page: 0 };
        let staged: Vec<Row> = (0..rows).map(cells).collect();
        self.store.stage_rows(run, &task, &["name".to_owned()], &[], &staged, now).expect("rows");
        let figures = RunStatistics { repaired: true, ..RunStatistics::default() };
        self.store.end_run(run, &Verdict { statistics: figures, ..verdict(outcome, rows) }, now).expect("an end");
        run
    }

    fn resort(&mut self, what: ReviewAction) -> Option<Verdict> {
        let (task, now) = (self.task.clone(), self.now());
        self.store.apply_review(&task, what, &[], now).expect("an answer")
    }

    fn published(&self) -> u64 {
        self.store.published(&self.task, 0, 0).expect("a store").map_or(0, |rows| rows.total)
    }
}

fn the_newest_rows_that_were_kept_aside_are_accepted(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.mended(CHANGED, 9);
    scene.mended(LAYOUT, 4);
    let newest = scene.mended(LAYOUT, MANY);
    assert_eq!(scene.store.quarantined_run(&scene.task).expect("a store"), Some(newest));
    let verdict = scene.resort(ReviewAction::Accept).expect("a run");
    assert_eq!((verdict.outcome, verdict.rows, scene.published()), (CHANGED, MANY, MANY));
    assert!(verdict.statistics.accepted && !verdict.statistics.repaired, "a person has said so now");
    assert_eq!(verdict.similarity, Some(0.9), "as they were measured");
}

fn what_is_dropped_is_gone_and_nothing_else(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.mended(CHANGED, 9);
    scene.mended(LAYOUT, 4);
    assert_eq!(scene.resort(ReviewAction::Drop), None);
    assert_eq!(scene.store.quarantined_run(&scene.task).expect("a store"), None);
    assert_eq!((scene.published(), scene.generations().len()), (9, 1));
    assert_eq!(scene.resort(ReviewAction::Accept), None, "nothing is left");
}

fn rows_of_before_come_back_once(kind: Kind) {
    let mut scene = Scene::on(kind);
    assert_eq!(scene.resort(ReviewAction::RollBack), None);
    scene.mended(CHANGED, 9);
    scene.mended(CHANGED, 5);
    scene.resort(ReviewAction::RollBack).expect("a run");
    assert_eq!(scene.published(), 9);
    assert_eq!(scene.resort(ReviewAction::RollBack), None, "the refused rows are no rows of before");
    assert_eq!(scene.published(), 9);
}
