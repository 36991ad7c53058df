//! A restart resumes the schedule: every due slot has exactly one run.

use std::thread;
use std::time::Duration;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

use super::slots::{Down, PERIOD, lay_out, slots, wrong};
use super::{Dice, report, times};
use crate::stage::Stage;

/// Due one after the other, so that one is always about to start.
const TASKS: usize = 6;
/// The daemon is killed after this long at most.
const LONGEST_MS: usize = 1_500;
/// The last due run may still be about to start.
const MARGIN: TimeDelta = TimeDelta::seconds(2);

#[test]
fn promise_08_every_due_slot_has_one_run_over_kill_9_and_restart() {
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}per_host = {TASKS}\nmax_running = 2\n"));
    let begin = Utc::now().trunc_subsecs(3);
    let firsts: Vec<(String, DateTime<Utc>)> = (0..TASKS)
        .map(|number| {
            (format!("task-{number}"), (begin + PERIOD * i32::try_from(number).unwrap_or(0) / 6).trunc_subsecs(3))
        })
        .collect();
    for (task, first) in &firsts {
        lay_out(&stage, task, "/bad/404", "every = \"10s\"", *first);
    }
    let mut dice = Dice(8);
    let (mut downs, mut from) = (Vec::new(), begin);
    let kills = times(6, 1_000);
    for _ in 0..kills {
        stage.start_daemon();
        downs.push(Down { from, to: Utc::now() });
        thread::park_timeout(Duration::from_millis(dice.below(LONGEST_MS) as u64));
        stage.signal_daemon("-KILL");
        from = Utc::now();
        stage.daemon_ended();
    }
    stage.start_daemon();
    downs.push(Down { from, to: Utc::now() });
    let end = Utc::now();
    let made_up = || firsts.iter().all(|(task, _)| slots(&stage, task).last().is_some_and(|slot| *slot + PERIOD > end));
    stage.wait_for("what is due by now to have begun", made_up);

    let (mut due, mut violations, mut control) = (0, 0, 0);
    for (task, first) in &firsts {
        let slots = slots(&stage, task);
        due += slots.len();
        violations += wrong(&slots, *first, end - MARGIN, &downs);
        control += wrong(&without_unique_slots(slots, *first, &downs), *first, end - MARGIN, &downs);
    }
    let counted = format!("{kills} kill -9 and restarts, {due} slots of {TASKS} tasks: lost, run twice or not due");
    report(8, &counted, violations, control);
}

/// The control: a daemon that makes up the newest slot at each start without checking whether it has had its run.
fn without_unique_slots(mut slots: Vec<DateTime<Utc>>, first: DateTime<Utc>, downs: &[Down]) -> Vec<DateTime<Utc>> {
    let newest = |now: DateTime<Utc>| {
        let since_ms = (now - first).num_milliseconds();
        (since_ms >= 0).then(|| now - TimeDelta::milliseconds(since_ms % PERIOD.num_milliseconds()))
    };
    slots.extend(downs.iter().filter_map(|down| newest(down.to)).map(|slot| slot.trunc_subsecs(3)));
    slots
}
