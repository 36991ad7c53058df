//! An interrupted end of a run: either the old or the new rows are published, with all changes between them.

use std::fs::OpenOptions;
use std::io::Write;

use chrono::Utc;
use pieme::model::{ChangeCounts, RunId, TaskName};
use pieme::store::Store;

use super::{Kind, Place, begun, kill_within, told};
use crate::promises::writer::{self, Ack, TASKS};
use crate::promises::{Dice, role, times};

/// One in so many generations is a large one.
const LARGE_EVERY: u64 = 4;
/// Changes that are checked after each kill: those that the killed process may have left half-written, and some earlier
/// ones.
const LOOKED_AT: u32 = 8;

#[test]
fn on_sqlite() {
    check("killed::publishing::on_sqlite", Kind::Sqlite);
}

#[test]
fn on_postgres() {
    check("killed::publishing::on_postgres", Kind::Postgres);
}

fn check(name: &str, kind: Kind) {
    if role().is_some() {
        return publish_on_and_on();
    }
    let place = Place::new(kind);
    drop(Store::open(place.address()).expect("a new store"));
    let (mut dice, mut acked) = (Dice(17), 0);
    let kills = times(6, 100);
    for _ in 0..kills {
        let mut child = place.start(name, "publish");
        // Within this time several generations are published, one of them a large one.
        let within = std::time::Duration::from_millis(if kind == Kind::Sqlite { 150 } else { 600 });
        assert!(kill_within(&mut child, within, &mut dice), "it goes on until it is killed");
        let acks = Ack::read(place.folder.path());
        inspect(&place, &acks, acked);
        acked = acks.len();
    }
    println!("KILLED {kind:?} | publish | {kills} kills, {acked} acknowledged runs");
    assert!(acked > 0, "something was published");
}

/// The process that is killed: it publishes one generation after the other, and reports those that are done.
fn publish_on_and_on() {
    let (folder, address) = told();
    let mut store = Store::open(address).expect("a sound store");
    store.end_interrupted_runs(Utc::now()).expect("what was cut short is recorded");
    let mut acks = OpenOptions::new().create(true).append(true).open(folder.join("acks")).expect("a file for the acks");
    begun(&folder);
    loop {
        let newest = TASKS.map(|task| shown(&store, task).unwrap_or(0));
        let turn = usize::from(newest.iter().sum::<u64>() % LARGE_EVERY == LARGE_EVERY - 1);
        let (task, number, run) = (TASKS[turn], newest[turn] + 1, RunId::new());
        writer::try_publish(&mut store, task, number, run).expect("published");
        // In one write, so that a kill leaves a whole line or none.
        acks.write_all(format!("{task} {number} {run} .\n").as_bytes()).expect("the ack is written");
    }
}

/// Which generation of a task is published; fails where there is none, or where it is incomplete.
fn shown(store: &Store, task: &str) -> Option<u64> {
    let rows = store.published(&name(task), u64::MAX, 0).expect("rows")?;
    let first = rows.table.rows.first().and_then(|row| row.cells[1].clone()).expect("rows with a number");
    let number = first.parse().expect("a number");
    let is_whole = rows.table.rows.iter().all(|row| row.cells[1].as_deref() == Some(&first));
    assert!(is_whole && rows.table.rows.len() as u64 == writer::rows(task, number), "half of {task}, {number}");
    Some(number)
}

fn name(task: &str) -> TaskName {
    TaskName::new(task).expect("a good name")
}

/// As the next start would find it.
fn inspect(place: &Place, acks: &[Ack], before: usize) {
    let reader = Store::open_reader(place.address()).expect("a reader");
    for task in TASKS {
        let acked = acks.iter().filter(|ack| ack.task == task).map(|ack| ack.number).max();
        assert!(shown(&reader, task) >= acked, "{task}: {acked:?} was acknowledged");
    }
    drop(reader);
    let mut store = Store::open(place.address()).expect("a sound store");
    store.end_interrupted_runs(Utc::now()).expect("what was cut short is finished");
    store.quick_check().expect("a sound store");
    for run in acks[before..].iter().filter_map(|ack| ack.run) {
        let end = store.run(run).expect("runs").and_then(|row| row.end);
        assert!(end.is_some_and(|(_, verdict)| verdict.outcome.is_published()), "{run} was acknowledged");
    }
    TASKS.iter().for_each(|task| changes_are_whole(&store, task));
}

/// Every publication changes all rows that both have, and the number of a generation says how many rows there are.
fn changes_are_whole(store: &Store, task: &str) {
    let newest = shown(store, task).unwrap_or(0);
    let changes = store.changes(&name(task), None, LOOKED_AT).expect("changes");
    assert_eq!(changes.len() as u64, newest.saturating_sub(1).min(LOOKED_AT.into()), "changes of {task}");
    for (change, number) in changes.iter().zip((0..=newest).rev()) {
        let (before, after) = (writer::rows(task, number - 1), writer::rows(task, number));
        let (added, removed) = (after.saturating_sub(before), before.saturating_sub(after));
        let counts = ChangeCounts { added, changed: before.min(after), removed };
        let listed = store.records_of(change.id, 0, u32::MAX).expect("records").len() as u64;
        assert_eq!((change.counts, listed), (Some(counts), counts.total()), "change {number} of {task}");
    }
}
