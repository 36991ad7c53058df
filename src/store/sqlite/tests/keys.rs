//! The keys of a generation, in an index or in blocks.

use chrono::TimeDelta;

use super::*;

/// More than has an index.
const LARGE: usize = 6_000;

struct Scene {
    store: Sqlite,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let (_folder, store) = scene();
        Scene { store, _folder }
    }

    /// Publishes rows whose key is their first cell; the second tells the days apart.
    fn publish(&mut self, names: impl IntoIterator<Item = usize>, day: i64) {
        let (run, verdict) = self.stage(names, day);
        let ended = self.store.end_run(run, &verdict, now() + TimeDelta::days(day)).expect("an end");
        assert_eq!(ended.outcome, verdict.outcome);
    }

    fn stage(&mut self, names: impl IntoIterator<Item = usize>, day: i64) -> (RunId, Verdict) {
        let run = begin(&mut self.store);
        let row = |name| Row { cells: vec![Some(format!("name {name}")), Some(format!("day {day}"))], page: 0 };
        let rows: Vec<Row> = names.into_iter().map(row).collect();
        let columns = ["name", "day"].map(str::to_owned);
        let seen = now() + TimeDelta::days(day);
        self.store.stage_rows(run, &task(), &columns, &columns[..1], &rows, seen).expect("staged");
        let outcome = Outcome::Published(Publication::Changed);
        (run, Verdict { outcome, rows: rows.len() as u64, ..Verdict::failed(Failure::Internal, "") })
    }

    /// The day on which some of the published rows were first seen.
    fn first_seen<const N: usize>(&self, places: [usize; N]) -> [i64; N] {
        let rows = self.store.published(&task(), u64::MAX, 0).expect("rows").expect("published");
        places.map(|place| (rows.first_seen[place] - now()).num_days())
    }

    fn count(&self, sql: &str) -> i64 {
        self.store.connection.query_row(sql, [], |row| row.get(0)).expect("a count")
    }

    fn day_of(&self, name: &str) -> Option<String> {
        let found = self.store.published_by_key(&task(), &[vec![("name", name)]]).expect("an answer");
        found.into_iter().next().flatten().and_then(|row| row.cells[1].clone())
    }
}

#[test]
fn keys_in_an_index_as_before_there_were_blocks_are_read_too() {
    let mut scene = Scene::new();
    scene.publish(0..LARGE, 0);
    let before = "DELETE FROM _keys; CREATE INDEX _rows_1_key ON _rows_1 (_key, _first_seen)";
    scene.store.connection.execute_batch(before).expect("the format of before");
    assert_eq!(scene.day_of("name 17").as_deref(), Some("day 0"));
    scene.publish(5..LARGE + 5, 1);
    assert_eq!(scene.first_seen([0, LARGE - 6, LARGE - 5]), [0, 0, 1]);
}

#[test]
fn a_large_generation_has_its_keys_before_it_is_published_and_they_go_with_it() {
    let mut scene = Scene::new();
    scene.publish(0..LARGE, 0);
    assert_eq!(scene.count("SELECT count(*) FROM sqlite_schema WHERE name GLOB '_rows_*_key'"), 0);
    let fail = "CREATE TEMP TRIGGER full BEFORE UPDATE ON main._runs BEGIN SELECT RAISE(ABORT, 'full'); END";
    scene.store.connection.execute_batch(fail).expect("a disk that is full");
    let (run, verdict) = scene.stage(1..LARGE + 1, 1);
    scene.store.end_run(run, &verdict, now()).expect_err("full");
    assert_eq!(scene.count("SELECT count(DISTINCT generation) FROM _keys"), 2);
    assert_eq!(scene.day_of("name 1").as_deref(), Some("day 0"), "what was published is");
    scene.store.connection.execute_batch("DROP TRIGGER full").expect("room");
    scene.store.end_run(run, &verdict, now()).expect("tried again");
    assert_eq!(scene.day_of("name 1").as_deref(), Some("day 1"));
    scene.publish(2..LARGE + 2, 2);
    assert_eq!(scene.count("SELECT count(DISTINCT generation) FROM _keys"), 2, "published, and the one before");
}
