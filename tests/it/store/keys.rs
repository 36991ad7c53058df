//! Keys identify a record from run to run and carry `_first_seen` along, in small and large generations.

use super::*;

on_both! {
    first_seen_is_carried_between_generations_of_any_size
    a_record_is_found_by_its_key_in_small_and_large_generations
    of_a_key_that_stands_twice_the_first_is_kept
}

/// More rows than SQLite has an index for.
const LARGE: usize = 6_000;

fn day(n: i64) -> DateTime<Utc> {
    minute(0) + TimeDelta::days(n)
}

impl Scene {
    /// Publishes rows whose key is their first cell; the second tells the days apart.
    fn publish(&mut self, names: impl IntoIterator<Item = usize>, on: i64) {
        let run = self.begin();
        let row = |name| Row { cells: vec![Some(format!("name {name}")), Some(format!("day {on}"))], page: 0 };
        let rows: Vec<Row> = names.into_iter().map(row).collect();
        let columns = ["name", "day"].map(str::to_owned);
        self.store.stage_rows(run, &self.task, &columns, &columns[..1], &rows, day(on)).expect("staged");
        let ended = self.store.end_run(run, &verdict(CHANGED, rows.len() as u64), day(on)).expect("an end");
        assert_eq!(ended.outcome, CHANGED);
    }

    /// The day on which some of the published rows were first seen.
    fn first_seen<const N: usize>(&self, places: [usize; N]) -> [i64; N] {
        let rows = self.store.published(&self.task, u64::MAX, 0).expect("rows").expect("published");
        places.map(|place| (rows.first_seen[place] - day(0)).num_days())
    }

    fn day_of(&self, name: &str) -> Option<String> {
        let found = self.store.published_by_key(&self.task, &[vec![("name", name)]]).expect("an answer");
        found.into_iter().next().flatten().and_then(|row| row.cells[1].clone())
    }
}

fn first_seen_is_carried_between_generations_of_any_size(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.publish(0..3, 0);
    scene.publish(0..LARGE, 1);
    assert_eq!(scene.first_seen([0, 2, 3, LARGE - 1]), [0, 0, 1, 1], "large after small");
    scene.publish(2..LARGE + 2, 2);
    assert_eq!(scene.first_seen([0, 1, LARGE - 3, LARGE - 2]), [0, 1, 1, 2], "large after large");
    scene.publish([2, 9, LARGE, 100_000], 3);
    assert_eq!(scene.first_seen([0, 1, 2, 3]), [0, 1, 2, 3], "small after large");
    scene.publish([2, 100_000, 7], 4);
    assert_eq!(scene.first_seen([0, 1, 2]), [0, 3, 1], "small into the table of the large one; the last came back");
    if kind == Kind::Sqlite {
        assert_eq!(scene.ask("SELECT count(*) FROM _keys"), "0", "its keys went with its rows");
    }
}

fn a_record_is_found_by_its_key_in_small_and_large_generations(kind: Kind) {
    let mut scene = Scene::on(kind);
    assert_eq!(scene.day_of("name 1"), None, "nothing is published");
    for (day, rows) in [(0, 3), (1, LARGE)] {
        scene.publish(0..rows, day);
        for name in [0, rows / 2, rows - 1] {
            assert_eq!(scene.day_of(&format!("name {name}")), Some(format!("day {day}")));
        }
        assert_eq!(scene.day_of(&format!("name {rows}")), None);
    }
}

fn of_a_key_that_stands_twice_the_first_is_kept(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.publish((0..LARGE).chain([7; 100]), 0);
    assert_eq!(scene.day_of("name 7").as_deref(), Some("day 0"));
    scene.publish(0..LARGE, 1);
    assert_eq!(scene.first_seen([7, 8]), [0, 0]);
}
