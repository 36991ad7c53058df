//! The daemon's metrics in the text format of Prometheus, in base units.
//!
//! Counters are over all tasks, by outcome and cause, which are closed sets: each starts at 0, so that the first crash
//! is an increase. Each task has five gauges, read from the store at every scrape: ten thousand tasks cost nothing
//! between two scrapes, and a removed task leaves no series behind.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use crate::judge::{self, TaskSnapshot};
use crate::model::{Outcome, State};
use crate::store::TaskRow;

use super::connections::Listeners;
use crate::daemon::runs::overtime::must_end_by;
use crate::daemon::schedule::clock::MAX_TICK_GAP;

/// Upper bounds of the buckets in seconds, from a cached page and one page to a long list and the default time limit.
const BUCKETS: &[f64] = &[0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 600.0];

/// Counters since the daemon started.
pub struct DaemonMetrics {
    runs: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    durations: Mutex<DurationHistogram>,
    alerts_sent: AtomicU64,
    alerts_failed: AtomicU64,
    queued: AtomicUsize,
    running: AtomicUsize,
    started_at: DateTime<Utc>,
    /// When the event loop last completed an iteration.
    last_iteration: Mutex<Instant>,
    /// The health of the listeners.
    pub listeners: Listeners,
}

#[derive(Default)]
struct DurationHistogram {
    /// Runs per bucket, not cumulative; the last one is above all bounds.
    counts: [u64; BUCKETS.len() + 1],
    sum: f64,
}

impl Default for DaemonMetrics {
    fn default() -> DaemonMetrics {
        DaemonMetrics {
            runs: Mutex::new(Outcome::all().map(|it| ((it.word(), it.cause()), 0)).collect()),
            durations: Mutex::default(),
            alerts_sent: AtomicU64::new(0),
            alerts_failed: AtomicU64::new(0),
            queued: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            started_at: Utc::now(),
            last_iteration: Mutex::new(Instant::now()),
            listeners: Listeners::default(),
        }
    }
}

impl DaemonMetrics {
    pub fn count_run(&self, outcome: Outcome, took: Duration) {
        *lock(&self.runs).entry((outcome.word(), outcome.cause())).or_default() += 1;
        let (mut durations, seconds) = (lock(&self.durations), took.as_secs_f64());
        let bucket = BUCKETS.iter().position(|&bound| seconds <= bound).unwrap_or(BUCKETS.len());
        durations.counts[bucket] += 1;
        durations.sum += seconds;
    }

    pub fn count_delivery(&self, arrived: bool) {
        let counter = if arrived { &self.alerts_sent } else { &self.alerts_failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Called after each iteration of the event loop.
    pub fn record_iteration(&self, queued: usize, running: usize) {
        self.queued.store(queued, Ordering::Relaxed);
        self.running.store(running, Ordering::Relaxed);
        *lock(&self.last_iteration) = Instant::now();
    }

    /// How late the event loop is. It iterates at least every [`MAX_TICK_GAP`].
    pub fn lag(&self) -> Duration {
        lock(&self.last_iteration).elapsed().saturating_sub(MAX_TICK_GAP)
    }

    /// Prints all metrics except those of tasks and host.
    pub fn print(&self, out: &mut MetricsText) {
        out.gauge("pieme_build_info", "The version of the running daemon.", [(version(), 1.0)]);
        let started = [(String::new(), seconds_of(self.started_at))];
        out.gauge("pieme_start_time_seconds", "When the daemon started, in seconds since the Unix epoch.", started);
        let runs = lock(&self.runs).clone();
        let labels = |(outcome, cause): &(&str, &str)| format!("outcome=\"{outcome}\",cause=\"{cause}\"");
        let runs = runs.iter().map(|(words, count)| (labels(words), *count as f64));
        out.counter("pieme_runs_total", "Finished runs by outcome and cause.", runs);
        self.print_durations(out);
        let one = |value: f64| [(String::new(), value)];
        let count = |counter: &AtomicU64| one(counter.load(Ordering::Relaxed) as f64);
        out.counter("pieme_alerts_sent_total", "Alerts delivered to a target.", count(&self.alerts_sent));
        let failed = "Failed attempts to deliver an alert.";
        out.counter("pieme_alerts_failed_total", failed, count(&self.alerts_failed));
        let size = |value: &AtomicUsize| one(value.load(Ordering::Relaxed) as f64);
        out.gauge("pieme_queue_length", "Runs that wait for a free slot.", size(&self.queued));
        out.gauge("pieme_running", "Runs under way.", size(&self.running));
        let lag = "How late the event loop is.";
        out.gauge("pieme_scheduler_lag_seconds", lag, one(self.lag().as_secs_f64()));
        let up = |(name, trouble): (&str, Option<String>)| {
            (format!("listener=\"{name}\""), if trouble.is_none() { 1.0 } else { 0.0 })
        };
        let listeners = self.listeners.all().into_iter().map(up);
        out.gauge("pieme_listener_up", "1 for a listener that accepts connections, 0 for one that cannot.", listeners);
    }

    fn print_durations(&self, out: &mut MetricsText) {
        let durations = lock(&self.durations);
        let name = "pieme_run_duration_seconds";
        out.head(name, "Duration of runs.", "histogram");
        let mut total = 0;
        let bounds = BUCKETS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (count, bound) in durations.counts.iter().zip(bounds) {
            total += count;
            out.sample(&format!("{name}_bucket"), &format!("le=\"{bound}\""), total as f64);
        }
        out.sample(&format!("{name}_sum"), "", durations.sum);
        out.sample(&format!("{name}_count"), "", total as f64);
    }
}

fn version() -> String {
    format!("version=\"{}\"", env!("CARGO_PKG_VERSION"))
}

fn seconds_of(time: DateTime<Utc>) -> f64 {
    time.timestamp_millis() as f64 / 1_000.0
}

/// The metrics of every task: its state and four numbers.
pub fn print_tasks(out: &mut MetricsText, tasks: &Path, rows: &[TaskRow], now: DateTime<Utc>) {
    let there = || rows.iter().filter(|row| !row.removed);
    // Task names and states are letters, digits, `.`, `_` and `-`, so nothing has to be escaped.
    let named = |row: &TaskRow| format!("task=\"{}\"", row.name);
    let standing = there().map(|row| (row, state(tasks, row, now)));
    let mut counts: BTreeMap<State, u64> = State::ALL.iter().map(|&state| (state, 0)).collect();
    let states: Vec<(String, f64)> = standing
        .map(|(row, state)| {
            *counts.entry(state).or_default() += 1;
            (format!("{},state=\"{state}\"", named(row)), 1.0)
        })
        .collect();
    let counts = counts.iter().map(|(state, count)| (format!("state=\"{state}\""), *count as f64));
    out.gauge("pieme_tasks", "Tasks by state.", counts);
    out.gauge("pieme_task_state", "1 for the task's current state.", states);
    let rows_of = there().filter_map(|row| Some((named(row), row.published_rows? as f64)));
    out.gauge("pieme_task_rows", "Published rows.", rows_of);
    let last_ok = there().filter_map(|row| Some((named(row), seconds_of(row.last_ok?))));
    out.gauge("pieme_task_last_success_timestamp_seconds", "When a run last published rows.", last_ok);
    let failures = there().map(|row| (named(row), f64::from(row.fails_in_a_row)));
    out.gauge("pieme_task_consecutive_failures", "Consecutive runs that published nothing.", failures);
    let likeness = |row: &TaskRow| row.last_run.as_ref()?.verdict.similarity;
    let similarity = there().filter_map(|row| Some((named(row), likeness(row)?)));
    out.gauge("pieme_task_similarity_ratio", "Similarity of the last page to the template, from 0 to 1.", similarity);
}

fn state(tasks: &Path, row: &TaskRow, now: DateTime<Utc>) -> State {
    let standing = TaskSnapshot {
        problem: row.problem.clone(),
        paused: row.paused,
        last_run: row.last_run.clone(),
        published_before: row.previous_rows.is_some(),
        running: row.running_since.is_some(),
        must_end_by: must_end_by(tasks, row),
        next_due: row.next_due,
    };
    judge::state(&standing, now)
}

/// The exposition text of Prometheus.
#[derive(Default)]
pub struct MetricsText(pub String);

impl MetricsText {
    pub fn gauge(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (String, f64)>) {
        self.family(name, help, "gauge", values);
    }

    pub fn counter(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (String, f64)>) {
        self.family(name, help, "counter", values);
    }

    fn family(&mut self, name: &str, help: &str, kind: &str, values: impl IntoIterator<Item = (String, f64)>) {
        self.head(name, help, kind);
        values.into_iter().for_each(|(labels, value)| self.sample(name, &labels, value));
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        // Writing into a string does not fail; here and below.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }
}

/// Ignores poisoning: counters are valid even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Failure, Publication, TaskName};

    #[test]
    fn runs_are_counted_by_their_words_and_buckets_add_up() {
        let figures = DaemonMetrics::default();
        figures.count_run(Outcome::Published(Publication::Changed), Duration::from_millis(50));
        figures.count_run(Outcome::Failed(Failure::Timeout), Duration::from_secs(700));
        figures.count_run(Outcome::Failed(Failure::Timeout), Duration::from_secs(2));
        let mut page = MetricsText::default();
        figures.print(&mut page);
        for line in [
            "pieme_runs_total{outcome=\"published\",cause=\"changed\"} 1\n",
            "pieme_runs_total{outcome=\"failed\",cause=\"timeout\"} 2\n",
            "pieme_runs_total{outcome=\"failed\",cause=\"crash\"} 0\n",
            "pieme_run_duration_seconds_bucket{le=\"0.1\"} 1\n",
            "pieme_run_duration_seconds_bucket{le=\"5\"} 2\n",
            "pieme_run_duration_seconds_bucket{le=\"600\"} 2\n",
            "pieme_run_duration_seconds_bucket{le=\"+Inf\"} 3\n",
            "pieme_run_duration_seconds_sum 702.05\n",
            "pieme_run_duration_seconds_count 3\n",
        ] {
            assert!(page.0.contains(line), "{line}{}", page.0);
        }
    }

    #[test]
    fn a_loop_that_has_not_turned_is_late() {
        let figures = DaemonMetrics::default();
        figures.record_iteration(2, 1);
        assert!(figures.lag() < Duration::from_secs(20));
        *lock(&figures.last_iteration) = Instant::now() - Duration::from_secs(60);
        assert!(figures.lag() >= Duration::from_secs(57), "{:?}", figures.lag());
    }

    #[test]
    fn a_task_is_in_one_state_and_one_that_is_gone_is_in_none() {
        let task = |name: &str, removed| TaskRow {
            removed,
            paused: true,
            ..TaskRow::unknown(TaskName::new(name).expect("a name"))
        };
        let mut page = MetricsText::default();
        print_tasks(&mut page, Path::new("tasks"), &[task("here", false), task("gone", true)], DateTime::UNIX_EPOCH);
        assert!(page.0.contains("pieme_task_state{task=\"here\",state=\"paused\"} 1\n"), "{}", page.0);
        assert!(page.0.contains("pieme_tasks{state=\"paused\"} 1\n"), "{}", page.0);
        assert!(!page.0.contains("gone"), "{}", page.0);
    }
}
