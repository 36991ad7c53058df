//! Ten thousand tasks: a quick start, little memory, little CPU time while idle, runs on time, and every folder
//! noticed.

use std::fs;
use std::time::{Duration, Instant};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use rusqlite::{Connection, params};

use super::{report, times};
use crate::stage::Stage;

/// The template of the practice shop, for a learned task.
const TEMPLATE: &str = include_str!("../../../tasks/practice-shop/template.json");
/// Clock ticks a second, as /proc counts them on every Linux.
const TICKS: f64 = 100.0;

/// The limits of docs/design/safety.md 2.13 and 2.14.
struct Limits {
    start: Duration,
    rss_mb: u64,
    idle_percent: f64,
    late_p99: Duration,
    seen: Duration,
}

/// The short form is a debug build on a machine that builds other things.
fn limits() -> Limits {
    let seconds = |short, long| Duration::from_secs(times(short, long) as u64);
    Limits {
        start: seconds(40, 5),
        rss_mb: 150,
        idle_percent: times(20, 1) as f64,
        late_p99: seconds(30, 1),
        seen: seconds(60, 60),
    }
}

#[test]
fn promise_13_many_tasks_start_quickly_rest_quietly_and_run_on_time() {
    let limits = limits();
    let (tasks, due) = (times(300, 10_000), times(20, 300));
    let mut stage = Stage::new();
    let config = stage.read("config.toml");
    stage.write("config.toml", &format!("{config}per_host = 64\nmax_running = 8\n"));
    for number in 0..tasks {
        lay_out(&stage, number);
    }
    let due_within = TimeDelta::seconds(times(5, 30) as i64);
    // Due in the far future, except a few that are due shortly after the start.
    let first = Utc::now().trunc_subsecs(3) + TimeDelta::seconds(times(7, 60) as i64);
    remember(&stage, tasks, |number| match number {
        near if near < due => first + due_within * i32::try_from(near).unwrap_or(0) / i32::try_from(due).unwrap_or(1),
        _ => Utc::now() + TimeDelta::hours(5),
    });

    let started = Instant::now();
    let daemon = stage.start_daemon_with(&[("RUST_LOG", "info")]);
    let start = ready_after(&stage, started);
    let idle = idle_percent(daemon, Duration::from_secs(times(3, 20) as u64));
    let rss_mb = rss_mb(daemon);
    let begun = "SELECT count(*) FROM _runs WHERE slot IS NOT NULL AND ended IS NOT NULL";
    stage.wait_long_for("the runs that are due", Duration::from_secs(200), || stage.sql(begun) == due.to_string());
    let late = p99(lateness(&stage));
    let rss_after = self::rss_mb(daemon).max(rss_mb);

    let measured = [start.as_secs_f64(), rss_after as f64, idle, late.as_secs_f64()];
    let allowed =
        [limits.start.as_secs_f64(), limits.rss_mb as f64, limits.idle_percent, limits.late_p99.as_secs_f64()];
    let counted = format!(
        "{tasks} tasks: ready after {:.2} s, {rss_after} MB, idle {idle:.2} % CPU, \
         {due} runs late by {:.3} s (p99): beyond the limits",
        start.as_secs_f64(),
        late.as_secs_f64()
    );
    // The control starts the same runs by a clock that ticks too rarely.
    let coarse = p99(started_by_ticks(&stage, limits.late_p99 * 2));
    let coarse = [measured[0], measured[1], measured[2], coarse.as_secs_f64()];
    report(13, &counted, beyond(&measured, &allowed), beyond(&coarse, &allowed));
}

#[test]
fn promise_14_every_folder_is_seen_however_many_are_dropped_at_once() {
    let limits = limits();
    let tasks = times(300, 10_000);
    let mut stage = Stage::new();
    stage.start_daemon_with(&[("RUST_LOG", "info")]);
    let dropped = Instant::now();
    for number in 0..tasks {
        lay_out(&stage, number);
    }
    let laid_out = dropped.elapsed();
    let seen = || stage.sql("SELECT count(*) FROM _task WHERE removed_at IS NULL").parse::<usize>().unwrap_or(0);
    let control = tasks - seen();
    stage.wait_long_for("all folders to be seen", limits.seen * 2, || seen() == tasks);
    let all = dropped.elapsed();
    let counted = format!(
        "{tasks} folders dropped within {:.1} s, all seen {:.1} s after the last: too late or never",
        laid_out.as_secs_f64(),
        (all - laid_out).as_secs_f64()
    );
    // The control is a watcher without a rescan after its events.
    report(14, &counted, usize::from(all > limits.seen + laid_out) + (tasks - seen()), control);
}

fn lay_out(stage: &Stage, number: usize) {
    // Not disabled, because those would not be planned; due so late that no run starts.
    stage.write_task(&name(number), "/bad/404", "[schedule]\nevery = \"6h\"\n");
    stage.write(&format!("tasks/{}/template.json", name(number)), TEMPLATE);
}

fn name(number: usize) -> String {
    format!("task-{number:05}")
}

/// Records an earlier run and the next due time of each task, in one transaction, directly by SQL.
fn remember(stage: &Stage, tasks: usize, next: impl Fn(usize) -> DateTime<Utc>) {
    fs::create_dir_all(stage.path("state")).expect("a state folder");
    let path = stage.path("state/pieme.db");
    drop(pieme::store::Store::open(&path).expect("a new store"));
    let mut connection = Connection::open(path).expect("the database");
    let transaction = connection.transaction().expect("a transaction");
    let text = |at: DateTime<Utc>| at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    let before = text(Utc::now() - TimeDelta::hours(1));
    for number in 0..tasks {
        let (task, run) = (name(number), pieme::model::RunId::new().to_string());
        transaction
            .execute(
                "INSERT INTO _task (name, added_at, next_due, last_run) VALUES (?1, ?2, ?3, ?4)",
                params![task, before, text(next(number)), run],
            )
            .expect("a task");
        transaction
            .execute(
                "INSERT INTO _runs (id, task, trigger, started, ended, outcome, cause, sentence, rows, \
                 pages, provisional)
                 VALUES (?1, ?2, 'person', ?3, ?3, 'failed', 'http', 'before', 0, 0, 0)",
                params![run, task, before],
            )
            .expect("a run");
    }
    transaction.commit().expect("all of it");
}

/// The log shows when tasks/ was read; the socket answers earlier.
fn ready_after(stage: &Stage, started: Instant) -> Duration {
    stage.wait_for("the daemon to be ready", || stage.read("log").contains("the daemon is ready"));
    started.elapsed()
}

fn rss_mb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number") / 1024
}

/// CPU usage in percent of one core, while nothing is due.
fn idle_percent(pid: u32, over: Duration) -> f64 {
    let used = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("its stat");
        let fields: Vec<&str> = stat[stat.rfind(')').expect("its name") + 2..].split(' ').collect();
        (fields[11].parse::<f64>().expect("user") + fields[12].parse::<f64>().expect("system")) / TICKS
    };
    let (before, from) = (used(), Instant::now());
    std::thread::park_timeout(over);
    100.0 * (used() - before) / from.elapsed().as_secs_f64()
}

fn lateness(stage: &Stage) -> Vec<Duration> {
    let rows = stage.sql("SELECT slot, started FROM _runs WHERE slot IS NOT NULL");
    let parse = |text: &str| text.parse::<DateTime<Utc>>().expect("an instant");
    let late = |row: &str| row.split_once('|').map(|(slot, started)| parse(started) - parse(slot));
    rows.lines().filter_map(late).map(|late| late.to_std().unwrap_or_default()).collect()
}

/// How late the same runs would start if the clock ticked only this often.
fn started_by_ticks(stage: &Stage, every: Duration) -> Vec<Duration> {
    let rows = stage.sql("SELECT slot FROM _runs WHERE slot IS NOT NULL");
    let every_ms = i64::try_from(every.as_millis()).expect("a few seconds");
    let mut slots: Vec<DateTime<Utc>> = rows.lines().map(|slot| slot.parse().expect("an instant")).collect();
    slots.sort();
    let first = slots[0];
    // The last tick was just before the first of them.
    let late_ms = |slot: DateTime<Utc>| every_ms - (slot - first).num_milliseconds().rem_euclid(every_ms);
    slots.into_iter().map(|slot| Duration::from_millis(late_ms(slot).unsigned_abs())).collect()
}

fn p99(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all.get(all.len().saturating_sub(1) * 99 / 100).copied().unwrap_or_default()
}

fn beyond(measured: &[f64], allowed: &[f64]) -> usize {
    measured.iter().zip(allowed).filter(|(is, may)| is > may).count()
}
