//! Changes that could not be compared at once.

use super::*;
use crate::model::ChangeCounts;
use crate::store::{History, UnlistedReason};

/// More than are compared in the transaction that publishes them.
const LARGE: usize = 6_000;

const FULL: &str =
    "CREATE TEMP TRIGGER full BEFORE INSERT ON main._changed_record BEGIN SELECT RAISE(ABORT, 'full'); END";

/// A publication that could not be compared: three records more than before.
fn cut_short() -> (tempfile::TempDir, Sqlite) {
    let (folder, mut store) = scene();
    publish(&mut store, LARGE);
    store.connection.execute_batch(FULL).expect("a disk that is full");
    publish(&mut store, LARGE + 3);
    (folder, store)
}

fn newest(store: &Sqlite) -> (Option<ChangeCounts>, Option<UnlistedReason>, usize) {
    let change = store.changes(&task(), None, 1).expect("changes").remove(0);
    (change.counts, change.unlisted, store.records_of(change.id, 0, 100).expect("records").len())
}

#[test]
fn a_change_that_was_cut_short_is_compared_at_the_next_start() {
    let (folder, store) = cut_short();
    assert_eq!(newest(&store), (None, None, 0), "it is there, and not compared");
    drop(store);
    let mut store = Sqlite::open(&folder.path().join("pieme.db")).expect("the same database");
    store.end_interrupted_runs(now()).expect("a start");
    assert_eq!(newest(&store), (Some(ChangeCounts { added: 3, ..ChangeCounts::default() }), None, 3));
}

#[test]
fn rows_of_before_stay_until_they_were_compared() {
    let (_folder, mut store) = cut_short();
    let run = begin(&mut store);
    stage(&mut store, run, LARGE + 5).expect("staged");
    let outcome = Outcome::Published(Publication::Changed);
    let verdict = Verdict { outcome, rows: LARGE as u64 + 5, ..Verdict::failed(Failure::Internal, "") };
    store.end_run(run, &verdict, now()).expect_err("the rows before the last would go unseen");
    store.connection.execute_batch("DROP TRIGGER full").expect("room");
    store.end_run(run, &verdict, now()).expect("tried again");
    let added: Vec<Option<u64>> = store
        .changes(&task(), None, 9)
        .expect("changes")
        .iter()
        .map(|change| change.counts.map(|counts| counts.added))
        .collect();
    assert_eq!(added, [Some(2), Some(3)]);
}

#[test]
fn rows_that_went_before_they_were_compared_are_said_to_be_lost() {
    let (_folder, mut store) = cut_short();
    let gone = "DROP TRIGGER full; UPDATE _generation SET state = 'old' WHERE state = 'previous'";
    store.connection.execute_batch(gone).expect("rows that went");
    store.end_interrupted_runs(now()).expect("a start");
    assert_eq!(newest(&store), (Some(ChangeCounts::default()), Some(UnlistedReason::Lost), 0));
}

#[test]
fn generations_without_digests_are_compared_by_their_rows() {
    let (_folder, mut store) = scene();
    publish(&mut store, LARGE);
    let as_before = "UPDATE _keys SET digests = NULL; UPDATE _generation SET key = NULL";
    store.connection.execute_batch(as_before).expect("the format of before");
    publish(&mut store, LARGE + 3);
    assert_eq!(newest(&store).0, Some(ChangeCounts { added: 3, ..ChangeCounts::default() }));
}

#[test]
fn many_changes_of_ten_thousand_tasks_are_not_walked() {
    let (_folder, store) = scene();
    for sql in [
        "SELECT id FROM _change WHERE added IS NULL AND (?1 IS NULL OR task = ?1) LIMIT 1",
        "SELECT id FROM _change WHERE task = ?1 AND id < ?2 ORDER BY id DESC LIMIT 9",
        "SELECT id FROM _changed_record WHERE change = ?1 ORDER BY id LIMIT 9",
        "SELECT r.id FROM _changed_record r JOIN _change c ON c.id = r.change
         WHERE r.key = ?1 AND c.task = ?2 ORDER BY r.id",
        "SELECT id FROM _change WHERE task = ?1 AND at < ?2 ORDER BY id LIMIT 1",
        "SELECT id FROM _change WHERE run = ?1",
    ] {
        check_plan(&store.connection, sql);
    }
}
