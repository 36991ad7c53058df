//! A stop is clean: it ends in time, and runs that were running or queued stay due.

use std::time::{Duration, Instant};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

use super::slots::{PERIOD, lay_out};
use super::{Dice, report, times};
use crate::stage::{Stage, is_alive};

/// One task hangs, the others are queued behind it.
const TASKS: usize = 4;
const IN_TIME: Duration = Duration::from_secs(45);

#[test]
fn promise_18_a_stop_is_in_time_and_loses_no_run() {
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}max_running = 1\nstop_grace = \"1s\"\n"));
    let tasks: Vec<String> = (0..TASKS).map(|number| format!("task-{number}")).collect();
    let first = Utc::now().trunc_subsecs(3) - TimeDelta::seconds(1);
    for task in &tasks {
        lay_out(&stage, task, "/bad/hang", "every = \"1h\"", first);
    }
    let stops = times(2, 100);
    let (mut late, mut lost, mut control, mut left) = (0, 0, 0, 0);
    let mut dice = Dice(18);
    for _ in 0..stops {
        let daemon = stage.start_daemon();
        stage.wait_for("a run that hangs", || !stage.children_of(daemon).is_empty());
        let children = stage.children_of(daemon);
        std::thread::park_timeout(Duration::from_millis(dice.below(300) as u64));
        let told = Instant::now();
        stage.signal_daemon("-TERM");
        let code = stage.daemon_ended();
        late += usize::from(told.elapsed() > IN_TIME || code != Some(0));
        left += children.iter().filter(|&&child| is_alive(child)).count();
        let now = Utc::now();
        let next: Vec<Option<DateTime<Utc>>> = tasks.iter().map(|task| next_due(&stage, task)).collect();
        lost += not_owed(&next, now);
        // As if the next due time had been stored when this run became due.
        let promised: Vec<Option<DateTime<Utc>>> = next.iter().map(|due| due.map(|due| due + PERIOD * 360)).collect();
        control += not_owed(&promised, now);
    }
    // And the runs that stayed due are made.
    for task in &tasks {
        lay_out_again(&stage, task);
    }
    let restarted = Utc::now();
    stage.start_daemon();
    stage.wait_for("what is owed to be made up", || {
        let made_up = "SELECT count(DISTINCT task) FROM _runs WHERE trigger = 'catch-up' AND ended IS NOT NULL";
        let since = restarted.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        stage.sql(&format!("{made_up} AND started >= '{since}'")) == TASKS.to_string()
    });
    let counted = format!(
        "{stops} SIGTERM with a run going and {} in line: not ended well within 45 s, children left, runs not owed",
        TASKS - 1
    );
    report(18, &counted, late + lost + left, control);
}

/// The same task at a page that answers.
fn lay_out_again(stage: &Stage, task: &str) {
    let text = stage.read(&format!("tasks/{task}/task.toml"));
    stage.write(&format!("tasks/{task}/task.toml"), &text.replace("/bad/hang", "/bad/404"));
}

fn next_due(stage: &Stage, task: &str) -> Option<DateTime<Utc>> {
    stage.sql(&format!("SELECT next_due FROM _task WHERE name = '{task}'")).parse().ok()
}

/// Tasks that would not run at the next start, although they are due.
fn not_owed(next: &[Option<DateTime<Utc>>], now: DateTime<Utc>) -> usize {
    next.iter().filter(|due| due.is_none_or(|due| due > now)).count()
}
