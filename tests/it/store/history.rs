//! History: what changed, record by record.

use super::*;
use pieme::model::{ColumnType, Facet, TimeSpan, ValueColumn};
use pieme::store::{ChangeSet, RecordChange, RecordHistory, RetentionLimits, ReviewAction, UnlistedReason};

on_both! {
    a_task_of_which_everything_changes_all_the_time_does_not_fill_the_disk
    what_was_added_changed_and_removed_is_kept_cell_by_cell
    changes_are_read_page_by_page
    rows_are_told_what_a_change_did_to_them
    of_a_large_change_a_few_records_are_found
    a_record_that_leaves_and_comes_back_is_the_same_record
    rows_that_are_brought_back_are_a_change_too
    where_columns_changed_only_those_that_both_have_are_compared
    another_key_does_not_make_all_records_new
    rows_that_share_a_key_are_counted_and_listed_each
    rows_of_a_large_table_that_share_a_key_are_counted_and_listed_each
    rows_that_share_a_key_in_another_order_are_no_change
    large_tables_are_compared_as_small_ones_are
    most_of_a_large_table_is_one_line
    changes_are_kept_as_long_as_the_task_says
    a_column_over_time_has_its_values
    history_is_a_view_that_anybody_can_query
    a_record_is_found_by_its_key_or_by_a_part_of_its_name
}

const DAY: i64 = 24 * 60;

impl Scene {
    fn changes(&self) -> Vec<ChangeSet> {
        self.store.changes(&self.task, None, 100).expect("changes")
    }

    /// The newest change in short: `+a`, `a.price 1>2`, `-b`.
    fn last_change(&self) -> Vec<String> {
        let change = self.changes().into_iter().next().expect("a change");
        let records = self.store.records_of(change.id, 0, 100).expect("its records");
        records.iter().flat_map(in_short).collect()
    }

    fn counts(&self) -> Option<(u64, u64, u64)> {
        self.changes()[0].counts.map(|it| (it.added, it.changed, it.removed))
    }

    fn life(&self, words: &[&str]) -> RecordHistory {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let found = self.store.records_named(&self.task, &words, 10).expect("records");
        assert_eq!(found.len(), 1, "{found:?}");
        self.store.record_history(&self.task, found[0].0).expect("a life").expect("a record")
    }

    fn born(&self, place: usize) -> DateTime<Utc> {
        self.store.published(&self.task, 100, 0).expect("rows").expect("published").first_seen[place]
    }

    /// A run that found so many hotels at one price, except for a few others.
    fn go_many(&mut self, rows: usize, price: &str, others: &[(usize, &str)]) -> RunId {
        let run = self.begin();
        let price_of = |n: usize| others.iter().find(|(other, _)| *other == n).map_or(price, |(_, price)| price);
        let cells: Vec<[String; 2]> = (0..rows).map(|n| [format!("hotel {n}"), price_of(n).to_owned()]).collect();
        for page in cells.chunks(500) {
            let page: Vec<Vec<&str>> = page.iter().map(|cells| cells.iter().map(String::as_str).collect()).collect();
            let page: Vec<&[&str]> = page.iter().map(Vec::as_slice).filter(|cells| cells[1] != "gone").collect();
            self.stage(run, &["name", "price"], &page);
        }
        let gone = others.iter().filter(|(_, price)| *price == "gone").count();
        self.end(run, CHANGED, (rows - gone) as u64);
        run
    }
}

fn in_short(record: &RecordChange) -> Vec<String> {
    let text = |it: &Option<String>| it.clone().unwrap_or_else(|| "-".to_owned());
    match record.what.word() {
        "added" => vec![format!("+{}", record.name)],
        "removed" => vec![format!("-{}", record.name)],
        _ => {
            let cell = |it: &pieme::store::CellChange| {
                format!("{}.{} {}>{}", record.name, it.column, text(&it.from.text), text(&it.to.text))
            };
            record.cells.iter().map(cell).collect()
        }
    }
}

fn what_was_added_changed_and_removed_is_kept_cell_by_cell(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"], &["b", "1"], &["c", "1"]]);
    assert_eq!(scene.changes(), [], "the first rows are no news: `_first_seen` says it");
    let run = scene.go(CHANGED, &[&["d", "9"], &["c", "-"], &["a", "2"]]);
    assert_eq!(scene.last_change(), ["+d", "c.price 1>-", "a.price 1>2", "-b"]);
    let change = scene.changes().remove(0);
    assert_eq!((change.run, change.rows_before, change.rows_after, change.unlisted), (run, 3, 3, None));
    assert_eq!(scene.counts(), Some((1, 2, 1)));
    assert_eq!(scene.store.change_of(run).expect("a store"), Some(change));
    scene.go(CHANGED, &[&["a", "2"], &["c", "-"], &["d", "9"]]);
    assert_eq!(scene.changes().len(), 1, "the same rows in another order are no change");
    for outcome in bad_outcomes() {
        scene.go(outcome, &[&["rubbish", "0"]]);
    }
    assert_eq!(scene.changes().len(), 1, "nothing else than a publication is");
    // The third generation is written into the tables of the first two.
    scene.go(CHANGED, &[&["a", "3"], &["c", "-"], &["d", "9"]]);
    assert_eq!(scene.last_change(), ["a.price 2>3"]);
}

fn changes_are_read_page_by_page(kind: Kind) {
    let mut scene = Scene::on(kind);
    for price in ["1", "2", "3", "4"] {
        scene.go(CHANGED, &[&["a", price], &["b", price]]);
    }
    let all: Vec<i64> = scene.changes().iter().map(|it| it.id).collect();
    assert_eq!(all.len(), 3);
    let page = |before| scene.store.changes(&scene.task, before, 2).expect("changes").iter().map(|it| it.id).collect();
    let (first, second): (Vec<i64>, Vec<i64>) = (page(None), page(Some(all[1])));
    assert_eq!((first.as_slice(), second.as_slice()), (&all[..2], &all[2..]));
    let records = scene.store.records_of(all[0], 0, 1).expect("records");
    let rest = scene.store.records_of(all[0], records[0].id, 9).expect("records");
    assert_eq!((in_short(&records[0]), rest.len()), (vec!["a.price 3>4".to_owned()], 1));
}

/// What a change did to some of the published rows, in short.
fn among(scene: &Scene, change: &ChangeSet, rows: std::ops::Range<usize>) -> Vec<String> {
    let shown = scene.store.published(&scene.task, rows.len() as u64, rows.start as u64).expect("rows");
    let keys = shown.expect("published").keys;
    assert_eq!(keys.len(), rows.len());
    let mut found: Vec<String> =
        scene.store.changed_among(change.id, &keys).expect("records").iter().flat_map(in_short).collect();
    found.sort();
    found
}

fn rows_are_told_what_a_change_did_to_them(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"], &["b", "1"], &["c", "1"]]);
    scene.go(CHANGED, &[&["d", "9"], &["c", "-"], &["a", "2"], &["e", "1"]]);
    scene.go(CHANGED, &[&["d", "9"], &["c", "-"], &["a", "3"], &["e", "1"]]);
    let changes = scene.changes();
    assert_eq!(among(&scene, &changes[1], 0..2), ["+d", "c.price 1>-"], "only of the rows that were asked for");
    assert_eq!(among(&scene, &changes[1], 2..4), ["+e", "a.price 1>2"]);
    assert_eq!(among(&scene, &changes[0], 0..4), ["a.price 2>3"], "and only of that change");
    assert_eq!(scene.store.changed_among(changes[0].id, &[]).expect("a store"), []);
}

fn of_a_large_change_a_few_records_are_found(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go_many(6_000, "1", &[]);
    scene.go_many(6_001, "1", &[(5_999, "2"), (17, "3")]);
    let change = scene.changes().remove(0);
    assert_eq!(among(&scene, &change, 0..50), ["hotel 17.price 1>3"]);
    assert_eq!(among(&scene, &change, 5_995..6_001), ["+hotel 6000", "hotel 5999.price 1>2"]);
}

fn a_record_that_leaves_and_comes_back_is_the_same_record(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"], &["b", "1"]]);
    let born = scene.born(1);
    scene.go(CHANGED, &[&["a", "1"]]);
    scene.go(CHANGED, &[&["a", "1"], &["c", "1"]]);
    scene.go(CHANGED, &[&["a", "1"], &["b", "2"]]);
    assert_eq!(scene.born(1), born);
    let life = scene.life(&["b"]);
    let told: Vec<&str> = life.events.iter().map(|event| event.record.what.word()).collect();
    assert_eq!((life.first_seen, told), (Some(born), vec!["removed", "added"]));
    let series: Vec<Option<String>> = life.series("price").into_iter().map(|point| point.cell.text).collect();
    assert_eq!(series, [Some("1".to_owned()), None, Some("2".to_owned())]);
    let gone = scene.life(&["c"]);
    assert!(gone.now.is_none() && gone.first_seen.is_some_and(|at| at > born), "{gone:?}");
}

fn rows_that_are_brought_back_are_a_change_too(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"], &["b", "1"]]);
    scene.go(CHANGED, &[&["a", "2"]]);
    let (task, now) = (scene.task.clone(), scene.now());
    scene
        .store
        .apply_review(&task, ReviewAction::RollBack, &["name".to_owned()], now)
        .expect("a store")
        .expect("a run");
    assert_eq!(scene.last_change(), ["+b", "a.price 2>1"]);
    scene.go(LAYOUT, &[&["a", "7"]]);
    let now = scene.now();
    scene.store.apply_review(&task, ReviewAction::Accept, &["name".to_owned()], now).expect("a store").expect("a run");
    assert_eq!(scene.last_change(), ["a.price 1>7", "-b"]);
}

fn where_columns_changed_only_those_that_both_have_are_compared(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"], &["b", "1"]]);
    let publish = |scene: &mut Scene, columns: &[&str], rows: &[&[&str]]| {
        let run = scene.begin();
        scene.stage(run, columns, rows);
        scene.end(run, CHANGED, rows.len() as u64);
    };
    publish(&mut scene, &["badge", "name", "price"], &[&["new", "a", "1"], &["-", "b", "2"]]);
    assert_eq!(scene.last_change(), ["b.price 1>2"]);
    publish(&mut scene, &["title", "price"], &[&["a", "1"], &["b", "2"]]);
    assert_eq!(scene.last_change(), [""; 0], "without its key the rest of a record identifies it");
    assert_eq!(scene.counts(), Some((0, 0, 0)));
    publish(&mut scene, &["name"], &[&["a"], &["b"]]);
    assert_eq!(scene.changes()[0].unlisted, Some(UnlistedReason::Key));
    assert_eq!(scene.last_change(), [""; 0]);
}

fn another_key_does_not_make_all_records_new(kind: Kind) {
    let mut scene = Scene::on(kind);
    let publish = |scene: &mut Scene, key: &str, price: &str| {
        let (run, task, now) = (scene.begin(), scene.task.clone(), scene.now());
        let columns = ["name", "link", "price"].map(str::to_owned);
        let rows = [row(&["a", "/a", price]), row(&["b", "/b", "1"])];
        scene.store.stage_rows(run, &task, &columns, &[key.to_owned()], &rows, now).expect("staged");
        scene.end(run, CHANGED, 2);
    };
    publish(&mut scene, "name", "1");
    publish(&mut scene, "link", "2");
    assert_eq!(scene.last_change(), ["/a.price 1>2"]);
}

fn rows_that_share_a_key_are_counted_and_listed_each(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"], &["a", "2"], &["b", "1"]]);
    scene.go(CHANGED, &[&["a", "1"], &["b", "2"]]);
    assert_eq!(scene.last_change(), ["b.price 1>2", "-a"]);
    assert_eq!(scene.counts(), Some((0, 1, 1)));
    // Four rooms in each of five hotels; all prices change.
    let rooms = |price: usize| -> Vec<[String; 2]> {
        (0..20).map(|n| [format!("hotel {}", n / 4), (price + n).to_string()]).collect()
    };
    for price in [100, 200] {
        let rows = rooms(price);
        let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
        let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
        scene.go(CHANGED, &rows);
    }
    assert_eq!(scene.counts(), Some((0, 20, 0)));
    let listed = scene.last_change();
    assert_eq!(listed.len(), 20, "{listed:?}");
    assert_eq!((listed[0].as_str(), listed[19].as_str()), ("hotel 0.price 100>200", "hotel 4.price 119>219"));
}

fn rows_of_a_large_table_that_share_a_key_are_counted_and_listed_each(kind: Kind) {
    let mut scene = Scene::on(kind);
    // Two rows a hotel; of one hotel forty, so that its keys do not fit into one block.
    let go = |scene: &mut Scene, first: &str, others: usize| {
        let run = scene.begin();
        let cells = (0..6_000).map(|n| {
            let hotel = if n < 40 { 0 } else { n / 2 };
            [format!("hotel {hotel}"), if n < others { first.to_owned() } else { n.to_string() }]
        });
        let cells: Vec<[String; 2]> = cells.collect();
        for page in cells.chunks(500) {
            let page: Vec<Vec<&str>> = page.iter().map(|cells| cells.iter().map(String::as_str).collect()).collect();
            let page: Vec<&[&str]> = page.iter().map(Vec::as_slice).collect();
            scene.stage(run, &["name", "price"], &page);
        }
        scene.end(run, CHANGED, 6_000);
    };
    go(&mut scene, "-", 0);
    go(&mut scene, "x", 44);
    assert_eq!(scene.counts(), Some((0, 44, 0)));
    let listed = scene.last_change();
    assert_eq!(listed.len(), 44, "{listed:?}");
    assert_eq!((listed[0].as_str(), listed[43].as_str()), ("hotel 0.price 0>x", "hotel 21.price 43>x"));
    assert_eq!(scene.born(5_999 - 5_900), minute(2), "and all of them are known");
}

fn rows_that_share_a_key_in_another_order_are_no_change(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"], &["a", "2"], &["a", "3"], &["b", "1"]]);
    scene.go(CHANGED, &[&["a", "3"], &["b", "5"], &["a", "4"], &["a", "1"]]);
    assert_eq!(scene.last_change(), ["b.price 1>5", "a.price 2>4"], "those that are as they were are no news");
    assert_eq!(scene.counts(), Some((0, 2, 0)));
}

fn large_tables_are_compared_as_small_ones_are(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go_many(6_000, "1", &[]);
    scene.go_many(6_001, "1", &[(5_999, "2"), (17, "3"), (100, "gone")]);
    assert_eq!(scene.last_change(), ["+hotel 6000", "hotel 17.price 1>3", "hotel 5999.price 1>2", "-hotel 100"]);
    scene.go(CHANGED, &[&["hotel 17", "3"]]);
    assert_eq!(scene.counts(), Some((0, 0, 5_999)), "small after large");
    scene.go_many(6_001, "1", &[(17, "4")]);
    assert_eq!(scene.counts(), Some((6_000, 1, 0)), "large after small");
    assert_eq!(scene.born(18), minute(2), "and all of them are known");
}

fn most_of_a_large_table_is_one_line(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go_many(10_001, "1", &[]);
    scene.go_many(10_001, "2", &[]);
    let change = scene.changes().remove(0);
    assert_eq!((scene.counts(), change.unlisted), (Some((0, 10_001, 0)), Some(UnlistedReason::Many)));
    assert_eq!(scene.last_change(), [""; 0]);
}

fn changes_are_kept_as_long_as_the_task_says(kind: Kind) {
    let mut scene = Scene::on(kind);
    for price in ["1", "2", "3"] {
        scene.go(CHANGED, &[&["a", price]]);
    }
    assert_eq!(scene.collect(minute(89 * DAY)).changes, 0, "90 days by default");
    assert_eq!(scene.collect(minute(92 * DAY)).changes, 4, "two publications with a record each");
    assert_eq!((scene.changes(), scene.shown()), (vec![], vec!["a=3".to_owned()]));
    scene.go(CHANGED, &[&["a", "4"]]);
    scene.store.keep_history(&[(scene.task.clone(), TimeSpan::seconds(60))]).expect("kept");
    assert_eq!(scene.collect(minute(30)).changes, 2);
}

fn a_task_of_which_everything_changes_all_the_time_does_not_fill_the_disk(kind: Kind) {
    let mut scene = Scene::on(kind);
    for price in ["1", "2", "3", "4", "5"] {
        scene.go(CHANGED, &[&["a", price], &["b", price]]);
    }
    scene.store.set_retention(RetentionLimits { history_records: 5, ..RetentionLimits::default() });
    let now = scene.now();
    assert_eq!(scene.collect(now).changes, 6, "two publications with two records each");
    assert_eq!(scene.changes().len(), 2);
}

fn a_column_over_time_has_its_values(kind: Kind) {
    let mut scene = Scene::on(kind);
    let value = ValueColumn { of: 1, kind: ColumnType::Number, facet: Facet::Value };
    for (text, number) in [("ab 95,00", "95.00"), ("90,50", "90.5"), ("ask", "-")] {
        let (run, task, now) = (scene.begin(), scene.task.clone(), scene.now());
        let columns = ["name", "price"].map(str::to_owned);
        let rows = [row(&["a", text, number])];
        scene.store.stage_values(run, &task, (&columns, &[value]), &columns[..1], &rows, now).expect("staged");
        scene.end(run, CHANGED, 1);
    }
    let series = scene.life(&["a"]).series("price");
    let told: Vec<(i64, Option<f64>)> =
        series.iter().map(|it| ((it.at - minute(0)).num_minutes(), it.cell.value.as_f64())).collect();
    assert_eq!(told, [(2, Some(95.0)), (6, Some(90.5)), (9, None)]);
    assert_eq!(series[2].cell.text.as_deref(), Some("ask"));
}

fn history_is_a_view_that_anybody_can_query(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["a", "1"], &["b", "1"]]);
    scene.go(CHANGED, &[&["a", "2"], &["c", "1"]]);
    let sql = "SELECT what, record, \"column\", \"before\", \"after\" FROM _history WHERE task = 'halifax-hotels'";
    assert_eq!(
        scene.ask(sql),
        "added|c|name||c\nadded|c|price||1\nchanged|a|price|1|2\nremoved|b|name|b|\nremoved|b|price|1|"
    );
}

fn a_record_is_found_by_its_key_or_by_a_part_of_its_name(kind: Kind) {
    let mut scene = Scene::on(kind);
    scene.go(CHANGED, &[&["Lord Nelson", "1"], &["Lord Byron", "1"], &["Halliburton", "1"]]);
    scene.go(CHANGED, &[&["Lord Nelson", "2"], &["Lord Byron", "2"], &["Halliburton", "1"]]);
    let named = |word: &str| {
        let found = scene.store.records_named(&scene.task, &[word.to_owned()], 9).expect("records");
        found.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(named("lord"), ["Lord Byron", "Lord Nelson"]);
    assert_eq!(named("Halliburton"), ["Halliburton"], "never changed, but published");
    assert_eq!(named("burton"), ["Halliburton"]);
    assert_eq!(named("nobody"), [""; 0]);
}
