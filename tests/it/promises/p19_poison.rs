//! Crash backoff: a task that crashes repeatedly is retried at growing intervals, is flagged, and affects no other
//! task.

use std::fs::File;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, TimeDelta, Utc};
use pieme::daemon::schedule::crash_backoff::backoff_until;
use pieme::due;
use pieme::model::task::Schedule;
use pieme::model::{Failure, RunId, TaskName, TimeSpan, Verdict};
use pieme::store::{RunRow, RunStart, Store, Trigger};

use super::{report, times};
use crate::stage::{Stage, signal_process};

const POISON: &str = "poison";
const SHOP: &str = "practice-shop";
/// Seconds between two runs of the task.
const HOUR: i64 = 3_600;

#[test]
fn promise_19_a_task_that_crashes_again_and_again_is_put_off_and_flagged() {
    let (mut crashes, mut violations) = (0, 0);
    for before in 2..2 + times(1, 4) {
        violations += crash_once_more(before);
        crashes += before + 1;
    }
    let (tries, too_many) = a_day(|runs, schedule| backoff_until(runs, schedule, None));
    let (_, control) = a_day(|_, _| None);
    let counted = format!(
        "{crashes} crashes in rows of 3 and more: not put off, not flagged, forgotten over kill -9, \
         in the way of others; \
         {tries} tries in a day of a task every 10 s: too many"
    );
    report(19, &counted, violations + too_many, control);
}

/// Lets a task that has crashed `before` times crash again under the real daemon, which is then killed and restarted.
fn crash_once_more(before: usize) -> usize {
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}per_host = 2\n"));
    stage.drop_folder(SHOP);
    stage.write_task(POISON, "/bad/hang", &format!("[schedule]\nevery = \"{HOUR}s\"\n"));
    remember_crashes(&stage, before);
    let daemon = stage.start_daemon();
    stage.wait_for_state(SHOP, "ok");
    stage.wait_for("the run that hangs", || stage.children_of(daemon).len() == 1);
    signal_process(stage.children_of(daemon)[0], "-KILL");
    stage.wait_for("its end", || stage.status(POISON)["fails"] == before + 1);
    let slot: DateTime<Utc> =
        stage.sql("SELECT max(slot) FROM _runs WHERE task = 'poison'").parse().expect("the slot that was made up");
    let until = slot + pause(before + 1);

    let mut violations = 0;
    let mut must = |holds: bool, what: &str| {
        if !holds {
            violations += 1;
            eprintln!("after {before} crashes not so: {what}");
        }
    };
    stage.wait_for("the next run to be planned", || next(&stage).is_some_and(|next| next > Utc::now()));
    let sentence = |stage: &Stage| stage.status(POISON)["last_run"]["sentence"].as_str().unwrap_or_default().to_owned();
    must(next(&stage) == Some(until), "put off");
    must(stage.state(POISON) == "crash", "flagged");
    must(sentence(&stage).contains(&until.format("before %Y-%m-%d %H:%M:%S").to_string()), "says until when");
    must(sentence(&stage).contains("`pieme run poison` tries at once"), "says what to do");
    must(stage.pieme(&["run", SHOP]).code == 0, "others go on");
    stage.signal_daemon("-KILL");
    stage.daemon_ended();
    stage.start_daemon();
    must(next(&stage) == Some(until), "put off after a restart as well");
    must(stage.sql("SELECT count(*) FROM _runs WHERE task = 'poison'") == (before + 1).to_string(), "not tried");
    stage.write_task(POISON, "/products", &format!("[schedule]\nevery = \"{HOUR}s\"\n"));
    stage.wait_for("the edit to end it", || next(&stage).is_some_and(|next| next < slot + TimeDelta::hours(2)));
    must(stage.pieme(&["run", POISON]).code == 3, "a person may run it");
    violations
}

/// The expected backoff after this many consecutive crashes.
fn pause(crashes: usize) -> TimeDelta {
    let hours = if crashes < 3 { 1 } else { (1 << (crashes - 2)).min(24) };
    TimeDelta::seconds(HOUR * hours)
}

fn next(stage: &Stage) -> Option<DateTime<Utc>> {
    stage.status(POISON)["next"].as_str()?.parse().ok()
}

/// Records this many crashes, an hour apart; the backoff after them is over, and the next run is due.
fn remember_crashes(stage: &Stage, count: usize) {
    let yesterday = SystemTime::now() - Duration::from_secs(86_400);
    let file = File::options().append(true).open(stage.path("tasks/poison/task.toml")).expect("its task.toml");
    file.set_modified(yesterday).expect("an old file");
    std::fs::create_dir_all(stage.path("state")).expect("a state folder");
    let mut store = Store::open(&stage.path("state/pieme.db")).expect("a new store");
    let last = Utc::now() - pause(count) - TimeDelta::seconds(60);
    for ago in (0..count).rev() {
        let slot = last - TimeDelta::seconds(HOUR * ago as i64);
        let row = crash(slot);
        store.begin_run(&row.start).expect("begun");
        store.end_run(row.start.run, &Verdict::failed(Failure::Crash, "killed"), slot).expect("ended");
    }
    store.set_next_due(&name(), Some(last + pause(count))).expect("promised");
}

/// Simulates a day of a task that always crashes: how often it was tried, and how often too early.
fn a_day(until: impl Fn(&[RunRow], &Schedule) -> Option<DateTime<Utc>>) -> (usize, usize) {
    // Three in a row, then 13 doublings up to a day.
    const ENOUGH: usize = 16;
    let schedule = Schedule { every: Some(TimeSpan::seconds(10)), ..Schedule::default() };
    let start = DateTime::from_timestamp(1_800_000_000, 0).expect("a time of this century");
    let mut runs: Vec<RunRow> = Vec::new();
    let (mut now, mut tries) = (start, 0);
    while now < start + TimeDelta::days(1) {
        tries += 1;
        runs.insert(0, crash(now));
        runs.truncate(32);
        let next = due::next_due(&schedule, now, &name()).expect("a next slot").slot.0;
        now = until(&runs, &schedule).map_or(next, |until| until.max(next));
    }
    (tries, tries.saturating_sub(ENOUGH))
}

fn crash(slot: DateTime<Utc>) -> RunRow {
    let start = RunStart {
        run: RunId::new(),
        task: name(),
        slot: Some(slot),
        trigger: Trigger::Schedule,
        started_at: slot,
        pid: None,
    };
    RunRow { start, boot: None, end: Some((slot, Verdict::failed(Failure::Crash, "killed"))) }
}

fn name() -> TaskName {
    TaskName::new(POISON).expect("a name")
}
