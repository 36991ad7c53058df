//! A run that finds the published rows writes almost nothing, however many rows it has.

use super::server::own_server;
use super::*;
use pieme::model::{ColumnType, Facet, ValueColumn};
use pieme::store::ReviewAction;

on_both! {
    an_unchanged_run_of_many_rows_writes_almost_nothing
    a_difference_anywhere_in_many_rows_is_published
    rows_kept_aside_are_whole_where_they_begin_as_the_published_ones_do
    a_run_loses_nothing_when_other_rows_are_published_under_it
    rows_that_a_run_was_compared_with_stay_until_it_has_ended
    values_that_are_read_otherwise_are_written_though_the_texts_are_the_same
    a_column_that_comes_late_is_added_to_rows_that_were_not_written
}

const UNCHANGED: Outcome = Outcome::Published(Publication::Unchanged);

/// More than twice as many as a run holds in memory.
const ROWS: usize = 45_000;

impl Scene {
    /// Bytes written so far: by this process to files, or by the server to its log.
    fn written(&self) -> u64 {
        let text = match &self.home {
            Home::Sqlite(_) => {
                let io = std::fs::read_to_string("/proc/self/io").expect("the kernel counts");
                io.lines().find_map(|line| line.strip_prefix("wchar: ")).expect("bytes written").to_owned()
            }
            Home::Postgres(_) => self.ask("SELECT pg_current_wal_insert_lsn() - '0/0'"),
        };
        text.parse().expect("a number")
    }

    /// Rows in pages of 500, all of them but one always the same.
    fn stage_many(&mut self, run: RunId, rows: usize, other: Option<usize>) {
        let cells: Vec<[String; 2]> = (0..rows)
            .map(|n| [format!("hotel {n}"), if Some(n) == other { "2".to_owned() } else { "1".to_owned() }])
            .collect();
        for page in cells.chunks(500) {
            let page: Vec<[&str; 2]> = page.iter().map(|cells| [cells[0].as_str(), cells[1].as_str()]).collect();
            let page: Vec<&[&str]> = page.iter().map(|cells| &cells[..]).collect();
            self.stage(run, &["name", "price"], &page);
        }
    }

    fn find(&mut self, rows: usize, other: Option<usize>) -> (Outcome, u64) {
        let before = self.written();
        let run = self.begin();
        self.stage_many(run, rows, other);
        let ended = self.end(run, CHANGED, rows as u64);
        (ended.outcome, self.written() - before)
    }

    /// Number of published rows and the positions of those at another price; asserts that all are known since the first
    /// run.
    fn seen(&self) -> (usize, Vec<usize>) {
        let rows = self.store.published(&self.task, u64::MAX, 0).expect("rows").expect("published");
        let named = |(n, row): (usize, &Row)| row.cells[0].as_deref() == Some(format!("hotel {n}").as_str());
        assert!(rows.table.rows.iter().enumerate().all(named), "in their order");
        let others = rows.table.rows.iter().enumerate().filter(|(_, row)| row.cells[1].as_deref() != Some("1"));
        (rows.table.rows.len(), others.map(|(n, _)| n).collect())
    }
}

fn an_unchanged_run_of_many_rows_writes_almost_nothing(kind: Kind) {
    // Everything that this server writes is written for this test: nobody else uses it.
    let (_server, mut scene) = match kind {
        Kind::Sqlite => (None, Scene::on(kind)),
        Kind::Postgres => {
            let (folder, server, scene) = own_server();
            (Some((server, folder)), scene)
        }
    };
    let (_, first) = scene.find(ROWS, None);
    let (outcome, again) = scene.find(ROWS, None);
    assert_eq!(outcome, UNCHANGED);
    assert!(again * 50 < first, "{again} bytes after {first}");
    assert_eq!(scene.generations().len(), 1);
}

fn a_difference_anywhere_in_many_rows_is_published(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.find(ROWS, None);
    let born = scene.store.published(&scene.task, 1, 0).expect("rows").expect("published").first_seen[0];
    // In the first chunk, in the second, and in what is left in memory.
    for (turn, other) in [3, 20_001, 25_000, ROWS - 1].into_iter().enumerate() {
        let (outcome, _) = scene.find(ROWS, Some(other));
        assert_eq!((outcome, scene.seen()), (CHANGED, (ROWS, vec![other])), "row {other}");
        let counts = scene.store.changes(&scene.task, None, 1).expect("changes")[0].counts.expect("compared");
        assert_eq!((counts.added, counts.changed, counts.removed), (0, if turn == 0 { 1 } else { 2 }, 0));
    }
    for rows in [40_000, 20_000, 19_000, ROWS] {
        assert_eq!((scene.find(rows, None).0, scene.seen()), (CHANGED, (rows, vec![])), "{rows} rows");
    }
    let rows = scene.store.published(&scene.task, 1, 0).expect("rows").expect("published");
    assert_eq!(rows.first_seen[0], born);
    let found = scene.store.published_by_key(&scene.task, &[vec![("name", "hotel 44999")]]).expect("an answer");
    assert!(found[0].is_some(), "its key is known");
    // Every view is compared with its digest.
    scene.store.quick_check().expect("a sound database");
}

fn rows_kept_aside_are_whole_where_they_begin_as_the_published_ones_do(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.find(ROWS, None);
    let run = scene.begin();
    scene.stage_many(run, ROWS, None);
    scene.end(run, LAYOUT, ROWS as u64);
    let aside = scene.store.quarantined_rows(run, 1, 44_999).expect("rows").expect("kept");
    assert_eq!((aside.total, short(&aside.table.rows[0])), (ROWS as u64, "hotel 44999=1".to_owned()));
    let run = scene.begin();
    scene.stage_many(run, ROWS, None);
    scene.end(run, Outcome::Failed(Failure::Network), 0);
    assert_eq!(scene.seen(), (ROWS, vec![]));
}

fn a_run_loses_nothing_when_other_rows_are_published_under_it(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.find(ROWS, None);
    scene.go(LAYOUT, &[&["accepted", "7"]]);
    let run = scene.begin();
    scene.stage_many(run, ROWS, None);
    let (task, now) = (scene.task.clone(), scene.now());
    scene.store.apply_review(&task, ReviewAction::Accept, &["name".to_owned()], now).expect("a store").expect("a run");
    assert_eq!(scene.shown(), ["accepted=7"]);
    scene.end(run, CHANGED, ROWS as u64);
    assert_eq!(scene.seen(), (ROWS, vec![]));
}

fn rows_that_a_run_was_compared_with_stay_until_it_has_ended(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.find(ROWS, None);
    scene.go(LAYOUT, &[&["accepted", "7"]]);
    let run = scene.begin();
    scene.stage_many(run, ROWS, None);
    // Two publications: what was published before them is not even the previous generation any more.
    for what in [ReviewAction::Accept, ReviewAction::RollBack] {
        let (task, now) = (scene.task.clone(), scene.now());
        scene.store.apply_review(&task, what, &["name".to_owned()], now).expect("a store").expect("a run");
        scene.store.collect_garbage(&task, now).expect("collected");
    }
    scene.stage(run, &["name", "price"], &[&["hotel 45000", "1"]]);
    scene.end(run, CHANGED, ROWS as u64 + 1);
    assert_eq!(scene.seen(), (ROWS + 1, vec![]));
    assert_eq!(scene.generations().len(), 2, "then they go");
}

fn values_that_are_read_otherwise_are_written_though_the_texts_are_the_same(kind: Kind) {
    let mut scene = Scene::on(kind);
    let kinds = [ColumnType::Int, ColumnType::Number, ColumnType::Money, ColumnType::Bool, ColumnType::Date];
    let columns: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}")).collect();
    let values = kinds.into_iter().enumerate();
    let values: Vec<ValueColumn> = values.map(|(of, kind)| ValueColumn { of, kind, facet: Facet::Value }).collect();
    let mut go = |meaning: [&str; 5], last: &str| {
        let (run, task, now) = (scene.begin(), scene.task.clone(), scene.now());
        let mut rows = vec![row(&[&["text"; 5][..], &meaning[..]].concat()); 20_000];
        rows.push(row(&[&[last; 5][..], &meaning[..]].concat()));
        scene.store.stage_values(run, &task, (&columns, &values), &[], &rows, now).expect("staged");
        scene.end(run, CHANGED, rows.len() as u64);
        scene.store.published(&task, 1, 0).expect("rows").expect("published").cells[0].clone()
    };
    let first = ["7", "1.50", "95.00", "1", "2024-04-03"];
    let (old, same) = (go(first, "a"), go(first, "b"));
    assert_eq!(old, same);
    for (at, other) in ["8", "1.75", "95.01", "0", "2024-04-04"].into_iter().enumerate() {
        let mut meaning = first;
        meaning[at] = other;
        let read = go(meaning, &format!("c{at}"));
        let differing: Vec<usize> = (0..5).filter(|&at| read[at] != old[at]).collect();
        assert_eq!(differing, [at], "{read:?}");
        assert_eq!(go(first, &format!("d{at}")), old);
    }
}

fn a_column_that_comes_late_is_added_to_rows_that_were_not_written(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.find(ROWS, None);
    let run = scene.begin();
    scene.stage_many(run, ROWS, None);
    scene.stage(run, &["name", "price", "badge"], &[&["last", "1", "new"]]);
    scene.end(run, CHANGED, ROWS as u64 + 1);
    let rows = scene.store.published(&scene.task, 2, ROWS as u64 - 1).expect("rows").expect("published");
    let told: Vec<String> = rows.table.rows.iter().map(short).collect();
    assert_eq!(told, ["hotel 44999=1=-", "last=1=new"]);
}
