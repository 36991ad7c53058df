//! A task never overlaps itself and is never stuck, however its daemon ends.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use rusqlite::Connection;

use super::slots::lay_out;
use super::{Dice, report, times};
use crate::stage::{Stage, is_alive};

const TASK: &str = "hangs";
/// A child ends with its daemon.
const ORPHANS: Duration = Duration::from_secs(20);

#[test]
fn promise_12_a_task_never_overlaps_itself_and_is_never_stuck() {
    let mut stage = Stage::new();
    lay_out(&stage, TASK, "/bad/hang", "every = \"1h\"", Utc::now() + TimeDelta::hours(1));
    let kills = times(5, 1_000);
    let (mut overlaps, mut stuck, mut control) = (0, 0, 0);
    let mut dice = Dice(12);
    for _ in 0..kills {
        let daemon = stage.start_daemon();
        // The control: a daemon that trusts the running flags it finds, whoever set them.
        stuck += usize::from(is_flagged(&stage));
        let before = runs(&stage);
        let mut asked = ask_for_a_run(&stage);
        stage.wait_for("a run", || runs(&stage) > before && !stage.children_of(daemon).is_empty());
        let children = stage.children_of(daemon);
        overlaps += children.len() - 1;
        thread::park_timeout(Duration::from_millis(dice.below(200) as u64));
        stage.signal_daemon("-KILL");
        stage.daemon_ended();
        asked.wait().expect("pieme hears that the daemon is gone");
        let killed = Instant::now();
        while children.iter().any(|&child| is_alive(child)) && killed.elapsed() < ORPHANS {
            thread::park_timeout(Duration::from_millis(5));
        }
        overlaps += children.iter().filter(|&&child| is_alive(child)).count();
        control += usize::from(is_flagged(&stage));
    }
    overlaps += overlapping(&stage);
    let counted =
        format!("{kills} kill -9 of the daemon in the middle of a run: overlapping runs, tasks that are stuck");
    report(12, &counted, overlaps + stuck, control);
}

/// Asks for a run without waiting for its end. A daemon that believes the task to be running refuses.
fn ask_for_a_run(stage: &Stage) -> Child {
    Command::new(env!("CARGO_BIN_EXE_pieme"))
        .arg("--config")
        .arg(stage.path("config.toml"))
        .args(["run", TASK])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("pieme starts")
}

fn database(stage: &Stage) -> Connection {
    let database = Connection::open(stage.path("state/pieme.db")).expect("the database");
    // The first process that opens the database after a kill recovers it.
    database.busy_timeout(ORPHANS).expect("patience");
    database
}

fn count(stage: &Stage, sql: &str) -> usize {
    let counted: u32 = database(stage).query_row(sql, [], |row| row.get(0)).expect("a number");
    counted as usize
}

fn runs(stage: &Stage) -> usize {
    count(stage, "SELECT count(*) FROM _runs")
}

/// Whether the database has a run that started under an earlier daemon and never ended.
fn is_flagged(stage: &Stage) -> bool {
    if !stage.path("state/pieme.db").exists() {
        return false;
    }
    count(stage, "SELECT count(*) FROM _runs WHERE ended IS NULL AND trigger = 'person'") > 0
}

/// Pairs of runs that overlapped.
fn overlapping(stage: &Stage) -> usize {
    count(
        stage,
        "SELECT count(*) FROM _runs a JOIN _runs b ON a.task = b.task AND a.id < b.id
         WHERE b.started < coalesce(a.ended, '9') AND a.started < coalesce(b.ended, '9')",
    )
}
