//! Readers never see a half-replaced set of rows, and a finished run survives `kill -9`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chrono::Utc;
use pieme::model::{ChangeCounts, TaskName};
use pieme::store::Store;
use rusqlite::{Connection, OpenFlags};

use super::writer::{self, Ack, TASKS, database, inspect, look};
use super::{Dice, report, role, times};

const NAME: &str = "promises::p01_p02_kill::promise_01_02_sets_are_whole_and_finished_runs_survive_kill_9";
/// More generations than a writer makes before it is killed.
const ENDLESS: usize = 1_000_000;
/// A writer that publishes nothing for this long hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Within this time a writer publishes a dozen generations, one of them a large one.
const LONGEST_MICROS: usize = 60_000;
/// Changes that a killed writer may have left incomplete, and some earlier ones.
const LOOKED_AT: u32 = 20;
/// A control that is still undamaged after this many kills is given up.
const CONTROL_KILLS: usize = 200;
/// The large table is read less often: reading it costs a hundred times as much as the small one.
const LARGE_LOOK_EVERY: usize = 50;

#[derive(Default)]
struct Counted {
    kills: usize,
    acks: usize,
    reads: usize,
    half: usize,
    lost: usize,
    corrupt: usize,
}

#[test]
fn promise_01_02_sets_are_whole_and_finished_runs_survive_kill_9() {
    if let Some(role) = role() {
        return writer::main(&role);
    }
    let product = fire("product", times(10, 1_000), times(500, 3_000_000));
    let control = fire("autocommit", times(8, 60), times(50, 20_000));
    let reads = format!("{} reads during {} kill -9 of the writer: half sets", product.reads, product.kills);
    report(1, &reads, product.half, control.half);
    let runs = format!("{} kill -9, {} acknowledged runs: lost or corrupt", product.kills, product.acks);
    report(2, &runs, product.lost + product.corrupt, control.lost + control.corrupt);
}

/// Kills writers repeatedly while readers read, until there were enough of both.
fn fire(role: &str, kills: usize, reads: usize) -> Counted {
    let folder = tempfile::tempdir().expect("a scratch folder");
    drop(Store::open(&database(folder.path())).expect("a new database"));
    let (done, looks, half) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut counted = Counted::default();
    let mut dice = Dice(kills as u64);
    thread::scope(|threads| {
        let _ends = SetWhenDropped(&done);
        for number in 0..2 {
            let (done, looks, half, folder) = (&done, &looks, &half, folder.path());
            threads.spawn(move || read(folder, number == 1 && role == "product", done, looks, half));
        }
        // A kill hits the control between two of its commits only by chance.
        let unharmed = |counted: &Counted| counted.lost + counted.corrupt == 0 && counted.kills < CONTROL_KILLS;
        while counted.kills < kills || looks.load(Ordering::Relaxed) < reads || role != "product" && unharmed(&counted)
        {
            kill_one(folder.path(), role, &mut dice, &mut counted);
        }
    });
    (counted.reads, counted.half) = (looks.into_inner(), half.into_inner());
    counted.acks = Ack::read(folder.path()).len();
    counted
}

fn kill_one(folder: &Path, role: &str, dice: &mut Dice, counted: &mut Counted) {
    let before = Ack::read(folder).len();
    let mut child = writer::start(NAME, role, folder, ENDLESS, &[]);
    let started = Instant::now();
    // Now and then it is killed while it starts; otherwise once it is at work.
    let at_work = dice.below(8) > 0;
    while at_work && Ack::read(folder).len() == before {
        assert!(started.elapsed() < PATIENCE, "the writer hangs: {}", last_words(folder));
        assert!(child.try_wait().expect("its state").is_none(), "{}", last_words(folder));
        thread::park_timeout(Duration::from_millis(1));
    }
    writer::wait(dice, LONGEST_MICROS);
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    counted.kills += 1;
    let acks = Ack::read(folder);
    // The newest of both tasks, and the runs of this round.
    let from = acks.len().saturating_sub(acks.len() - before + 30);
    let harm = inspect(folder, &acks[from..]);
    counted.lost += harm.lost + if role == "product" { forgotten_changes(folder) } else { 0 };
    counted.corrupt += harm.corrupt;
}

/// Publications whose changes are incomplete after the next start: each changes all rows that both generations have,
/// and the number of a generation tells how many rows there are.
fn forgotten_changes(folder: &Path) -> usize {
    let mut store = Store::open(&database(folder)).expect("a sound database");
    store.end_interrupted_runs(Utc::now()).expect("what was cut short is finished");
    let connection = Connection::open(database(folder)).expect("a reader");
    let mut forgotten = 0;
    for task in TASKS {
        let newest = look(&connection, task).map_or(0, |seen| seen.newest);
        let changes = store.changes(&TaskName::new(task).expect("a name"), None, LOOKED_AT).expect("changes");
        forgotten += usize::from(changes.len() as u64 != newest.saturating_sub(1).min(LOOKED_AT.into()));
        for (change, number) in changes.iter().zip((0..=newest).rev()) {
            let (before, after) = (writer::rows(task, number - 1), writer::rows(task, number));
            let (added, removed) = (after.saturating_sub(before), before.saturating_sub(after));
            let counts = ChangeCounts { added, changed: before.min(after), removed };
            let listed = store.records_of(change.id, 0, u32::MAX).expect("records").len() as u64;
            forgotten += usize::from(change.counts != Some(counts) || listed != counts.total());
        }
    }
    forgotten
}

fn last_words(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("stderr")).unwrap_or_default()
}

/// Reads the views until stopped: by SQL, or as `pieme records` does.
fn read(folder: &Path, by_store: bool, done: &AtomicBool, looks: &AtomicUsize, half: &AtomicUsize) {
    let path = database(folder);
    let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a reader");
    connection.busy_timeout(PATIENCE).expect("patience");
    let store = Store::open_reader(&path).expect("a reader");
    let mut turn = 0;
    while !done.load(Ordering::Relaxed) {
        turn += 1;
        let task = TASKS[usize::from(turn % LARGE_LOOK_EVERY == 0)];
        let whole =
            if by_store { by_the_store(&store, task) } else { look(&connection, task).map(|seen| seen.is_whole(task)) };
        let Some(whole) = whole else { continue };
        looks.fetch_add(1, Ordering::Relaxed);
        half.fetch_add(usize::from(!whole), Ordering::Relaxed);
    }
}

fn by_the_store(store: &Store, task: &str) -> Option<bool> {
    let rows = store.published(&TaskName::new(task).expect("a good name"), u64::MAX, 0).ok().flatten()?;
    let first = rows.table.rows.first()?.cells[1].clone();
    let number = first.as_deref()?.parse().ok()?;
    let count = rows.table.rows.len() as u64;
    Some(count == writer::rows(task, number) && rows.table.rows.iter().all(|row| row.cells[1] == first))
}

/// Ends the readers also when an assertion fails.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
