//! A missed run is made up once, if it is not too old; and however many runs are due at once, `max_running` holds.

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

use super::slots::lay_out;
use super::{report, times};
use crate::stage::Stage;

const MAX_RUNNING: usize = 2;
const DAYS_OFF: i64 = 7;

/// How missed runs of an hourly task are made up when its newest slot was half an hour ago.
struct Policy {
    name: &'static str,
    schedule: &'static str,
    make_ups: usize,
}

const POLICIES: [Policy; 3] = [
    Policy { name: "default", schedule: "every = \"1h\"", make_ups: 1 },
    Policy { name: "window", schedule: "every = \"1h\"\ncatch_up = \"40m\"", make_ups: 1 },
    Policy { name: "outside", schedule: "every = \"1h\"\ncatch_up = \"10m\"", make_ups: 0 },
];

#[test]
fn promise_09_a_week_off_is_made_up_once_and_never_above_the_cap() {
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}per_host = 50\nmax_running = {MAX_RUNNING}\n"));
    let first = Utc::now().trunc_subsecs(3) - TimeDelta::days(DAYS_OFF) + TimeDelta::minutes(30);
    let of_each = times(4, 100);
    let tasks: Vec<(String, &Policy)> = POLICIES
        .iter()
        .flat_map(|policy| (0..of_each).map(move |number| (format!("{}-{number}", policy.name), policy)))
        .collect();
    for (task, policy) in &tasks {
        lay_out(&stage, task, "/bad/404", policy.schedule, first);
    }
    stage.start_daemon();
    let expected: usize = tasks.iter().map(|(_, policy)| policy.make_ups).sum();
    let ended = "SELECT count(*) FROM _runs WHERE trigger != 'person' AND ended IS NOT NULL";
    stage.wait_for("the make-up runs", || stage.sql(ended).parse::<usize>().is_ok_and(|count| count >= expected));
    // The next due time is in the store, so every run to be made up has been queued by now.
    let count = |task: &str| {
        let sql = format!("SELECT count(*) FROM _runs WHERE task = '{task}' AND trigger != 'person'");
        stage.sql(&sql).parse::<usize>().expect("a number")
    };
    let missed = usize::try_from(DAYS_OFF * 24).expect("a few");
    let (mut violations, mut control) = (0, 0);
    for (task, policy) in &tasks {
        violations += off(count(task), policy);
        // Each missed slot made up, as schedulers do that keep a queue of them.
        control += off(missed, policy);
    }
    let times_of_runs = intervals(&stage);
    violations += at_once(&times_of_runs).saturating_sub(MAX_RUNNING);
    let begun_together: Vec<(DateTime<Utc>, DateTime<Utc>)> =
        times_of_runs.iter().map(|_| (first, Utc::now())).collect();
    control += at_once(&begun_together).saturating_sub(MAX_RUNNING);
    let counted = format!(
        "{} hourly tasks after {DAYS_OFF} days off, {expected} make-up runs: too many, too few, \
         more than {MAX_RUNNING} at once",
        tasks.len()
    );
    report(9, &counted, violations, control);
}

fn off(runs: usize, policy: &Policy) -> usize {
    runs.abs_diff(policy.make_ups)
}

fn intervals(stage: &Stage) -> Vec<(DateTime<Utc>, DateTime<Utc>)> {
    let rows = stage.sql("SELECT started, ended FROM _runs WHERE trigger != 'person' AND ended IS NOT NULL");
    let parse = |text: &str| text.parse().expect("an instant");
    rows.lines().filter_map(|row| row.split_once('|')).map(|(from, to)| (parse(from), parse(to))).collect()
}

/// The maximum number of concurrent runs.
fn at_once(runs: &[(DateTime<Utc>, DateTime<Utc>)]) -> usize {
    runs.iter().map(|(at, _)| runs.iter().filter(|(from, to)| from <= at && at < to).count()).max().unwrap_or(0)
}
