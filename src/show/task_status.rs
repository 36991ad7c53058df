//! The status line of each task, from the database and, without a running daemon, from the task folders.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::config::Config;
use crate::daemon::http::control::{self, ControlReply, ControlRequest};
use crate::daemon::runs::overtime::must_end_by;
use crate::daemon::runs::progress::Progress;
use crate::daemon::schedule::login_hold;
use crate::judge::{self, Severity, TaskSnapshot};
use crate::model::{PastRun, State, TaskName};
use crate::store::{Store, StoreError, TaskRow};
use crate::tasks;
use crate::tasks::TaskRegistry;

/// How long the daemon may take to report the progress of its runs.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the daemon may take to list all tasks; after that the database is read here.
const TASKS_TIMEOUT: Duration = Duration::from_millis(500);
/// How long an alert that was given up is reported.
const UNDELIVERED_WINDOW: TimeDelta = TimeDelta::days(7);

/// A task with mistakes in its folder whose run is later than this has no good version to run.
const START_TOLERANCE: TimeDelta = TimeDelta::minutes(1);

#[derive(Clone, Debug, Serialize)]
pub struct StatusLine {
    pub task: TaskName,
    pub title: Option<String>,
    pub state: State,
    pub rows: Option<u64>,
    pub delta: Option<i64>,
    pub similarity: Option<f64>,
    pub last_ok: Option<DateTime<Utc>>,
    /// Age of the last good rows, whatever the state.
    pub age_s: Option<i64>,
    pub next: Option<DateTime<Utc>>,
    pub fails: u32,
    #[serde(rename = "do")]
    pub advice: String,
    pub problem: Option<String>,
    /// A sentence about a run that should have ended long ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
    /// Known only where the folders were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    pub last_run: Option<PastRun>,
    /// Progress of the current run.
    pub progress: Option<Progress>,
    #[serde(skip)]
    pub severity: Severity,
    #[serde(skip)]
    pub standing: TaskSnapshot,
    /// `enabled = false`
    #[serde(skip)]
    pub is_disabled: bool,
    /// Why the task is not scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

/// Why a task is not scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// Paused by a person.
    Paused,
    /// `enabled = false`
    Disabled,
    /// The site refused the login, and neither secret nor folder has changed since.
    Login,
    /// The folder has mistakes, and there is no earlier good version.
    Config,
}

impl Hold {
    /// The word in the column NEXT.
    pub fn word(self) -> &'static str {
        match self {
            Hold::Paused => "paused",
            Hold::Disabled => "disabled",
            Hold::Login | Hold::Config => "held",
        }
    }

    /// A sentence that says how to end the hold.
    pub fn sentence(self, task: &TaskName) -> String {
        match self {
            Hold::Paused => format!("paused until `pieme resume {task}`"),
            Hold::Disabled => "disabled: enabled = false in its task.toml".to_owned(),
            Hold::Login => {
                format!("held: its login was refused; change the secret or the folder, or type `pieme run {task}`")
            }
            Hold::Config => {
                format!("held until the mistakes in its folder are corrected: see `pieme validate {task}`")
            }
        }
    }
}

/// The facts that a task's state is computed from.
#[derive(Clone, Debug)]
pub struct TaskFacts {
    pub row: TaskRow,
    pub is_disabled: bool,
    /// Latest end of the current run.
    pub must_end_by: Option<DateTime<Utc>>,
    pub tags: Option<Vec<String>>,
}

impl TaskFacts {
    /// From a database row; reads the task folder only for what the row leaves open.
    pub fn of(config: &Config, row: TaskRow) -> TaskFacts {
        let must_end_by = must_end_by(&config.tasks, &row);
        TaskFacts { is_disabled: is_disabled(config, &row), must_end_by, row, tags: None }
    }
}

impl StatusLine {
    /// The same task at a later time: recomputes what depends on the clock.
    pub fn at(&self, now: DateTime<Utc>) -> StatusLine {
        let state = self.state_at(now);
        StatusLine {
            state,
            advice: judge::advice(state, &self.task, &self.standing),
            severity: judge::severity(state, self.last_run.as_ref(), self.rows.is_some()),
            age_s: age(self.last_ok, now),
            stuck: judge::stuck_sentence(&self.standing, now),
            ..self.clone()
        }
    }

    pub fn state_at(&self, now: DateTime<Utc>) -> State {
        judge::state(&self.standing, now)
    }
}

fn age(last_ok: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Option<i64> {
    last_ok.map(|at| (now - at).num_seconds().max(0))
}

/// All tasks as stored in the database.
#[derive(Default)]
pub struct StoredTasks {
    pub rows: Vec<TaskRow>,
    /// Alerts that were not delivered; those given up count for a week.
    pub undelivered: u64,
}

impl StoredTasks {
    /// Asks a running daemon, since opening an SQLite file with the views of 10,000 tasks takes half a second. If the
    /// daemon is too busy to answer at once, reads the database here. None: no daemon has ever run.
    pub fn read(config: &Config, daemon_runs: bool, now: DateTime<Utc>) -> Result<Option<StoredTasks>, StoreError> {
        let undelivered_since = now - UNDELIVERED_WINDOW;
        if daemon_runs && let Some(told) = ask_daemon(config, undelivered_since) {
            return Ok(Some(told));
        }
        let Some(store) = Store::open_reader_if_any(&config.store)? else { return Ok(None) };
        Ok(Some(StoredTasks { rows: store.tasks()?, undelivered: store.failing_deliveries(undelivered_since)? }))
    }
}

fn ask_daemon(config: &Config, undelivered_since: DateTime<Utc>) -> Option<StoredTasks> {
    let mut told = None;
    let hear = |reply| {
        if let ControlReply::Tasks { rows, undelivered } = reply {
            told = Some(StoredTasks { rows, undelivered });
        }
    };
    let request = ControlRequest::Tasks { undelivered_since };
    control::call_blocking(&config.socket, &request, TASKS_TIMEOUT, hear).ok()?;
    told
}

/// All tasks, worst first, and what the daemon waits for. Without database rows only the folders are known.
pub fn all(
    config: &Config,
    mut rows: Vec<TaskRow>,
    daemon_runs: bool,
    with_tags: bool,
    now: DateTime<Utc>,
) -> (Vec<StatusLine>, Option<String>) {
    rows.retain(|row| !(daemon_runs && row.removed));
    let known = |row: TaskRow| (row.name.clone(), TaskFacts::of(config, row));
    let mut all: BTreeMap<TaskName, TaskFacts> = rows.into_iter().map(known).collect();
    if !daemon_runs || with_tags {
        merge_folders(config, daemon_runs, &mut all);
    }
    let mut lines: Vec<StatusLine> = all.into_values().map(|known| status_line(known, daemon_runs, now)).collect();
    if daemon_runs {
        mark_login_holds(config, &mut lines);
    }
    let (mut going, waits_for) = if daemon_runs { progress(config) } else { Default::default() };
    for line in &mut lines {
        line.progress = going.remove(&line.task);
    }
    worst_first(&mut lines);
    (lines, waits_for)
}

/// Why a running daemon runs no tasks: its database cannot be reached.
pub fn daemon_waits_for(config: &Config) -> Option<String> {
    progress(config).1
}

/// Marks tasks whose login was refused and which a running daemon does not retry.
pub fn mark_login_holds(config: &Config, lines: &mut [StatusLine]) {
    // Each daemon creates its socket at the start, so the socket's time is the daemon's start.
    let Ok(started_at) = config.socket.symlink_metadata().and_then(|meta| meta.modified()) else { return };
    for line in lines.iter_mut().filter(|line| line.state == State::Login && line.hold.is_none()) {
        let folder = tasks::read(&config.tasks.join(line.task.as_str()));
        if let (Some(last), Ok(folder)) = (&line.last_run, folder)
            && login_hold::is_login_hold(config, &folder, last, started_at.into())
        {
            (line.hold, line.next) = (Some(Hold::Login), None);
        }
    }
}

pub fn worst_first(lines: &mut [StatusLine]) {
    lines.sort_by(|a, b| (a.state, &a.task).cmp(&(b.state, &b.task)));
}

/// Without a running daemon the folders decide which tasks exist. A folder that came back has its rows again.
fn merge_folders(config: &Config, daemon_runs: bool, all: &mut BTreeMap<TaskName, TaskFacts>) {
    let mut registry = TaskRegistry::new(config.tasks.clone());
    registry.rescan();
    if !daemon_runs {
        all.retain(|name, _| registry.get(name).is_some());
    }
    for (name, entry) in registry.iter() {
        let unknown = || TaskFacts::of(config, TaskRow::unknown(name.clone()));
        let known = match daemon_runs {
            true => all.get_mut(name),
            false => Some(all.entry(name.clone()).or_insert_with(unknown)),
        };
        let Some(known) = known else { continue };
        let good = entry.good.as_ref();
        known.tags = good.map(|it| it.task.tags.clone());
        if !daemon_runs {
            known.row.problem = entry.problem.as_ref().map(ToString::to_string);
            known.row.title = good.and_then(|it| it.task.title.clone()).or(known.row.title.take());
            known.is_disabled = good.is_some_and(|it| !it.task.enabled);
        }
    }
}

/// The database does not store `enabled = false`: reads the folder of a task that has no next run.
fn is_disabled(config: &Config, row: &TaskRow) -> bool {
    let may_be = row.next_due.is_none() && !row.paused && row.running_since.is_none();
    may_be && tasks::read_task(&config.tasks.join(row.name.as_str())).is_ok_and(|task| !task.enabled)
}

/// Progress of the running tasks, from the daemon; empty if it is too busy to answer.
fn progress(config: &Config) -> (BTreeMap<TaskName, Progress>, Option<String>) {
    let (mut going, mut waits) = (BTreeMap::new(), None);
    let hear = |reply| {
        if let ControlReply::Progress { runs, waits_for } = reply {
            going.extend(runs.into_iter().map(|run| (run.task.clone(), run)));
            waits = waits_for;
        }
    };
    // Progress is optional: the table comes from the database.
    let _ = control::call_blocking(&config.socket, &ControlRequest::Progress, PROGRESS_TIMEOUT, hear);
    (going, waits)
}

/// Computes the status line of a task.
pub fn status_line(known: TaskFacts, daemon_runs: bool, now: DateTime<Utc>) -> StatusLine {
    let TaskFacts { row, is_disabled, must_end_by, tags } = known;
    let standing = TaskSnapshot {
        problem: row.problem.clone(),
        paused: row.paused || is_disabled,
        last_run: row.last_run.clone(),
        published_before: row.previous_rows.is_some(),
        running: daemon_runs && row.running_since.is_some(),
        must_end_by,
        next_due: row.next_due,
    };
    let state = judge::state(&standing, now);
    let hold = match &row {
        _ if is_disabled => Some(Hold::Disabled),
        row if row.paused => Some(Hold::Paused),
        row if row.problem.is_some() && row.next_due.is_some_and(|due| now - due > START_TOLERANCE) => {
            Some(Hold::Config)
        }
        _ => None,
    };
    StatusLine {
        hold,
        advice: judge::advice(state, &row.name, &standing),
        severity: judge::severity(state, row.last_run.as_ref(), row.published_rows.is_some()),
        state,
        delta: row.published_rows.zip(row.previous_rows).map(|(is, was)| is as i64 - was as i64),
        rows: row.published_rows,
        similarity: row.last_run.as_ref().and_then(|run| run.verdict.similarity),
        last_ok: row.last_ok,
        age_s: age(row.last_ok, now),
        next: row.next_due.filter(|_| hold.is_none()),
        fails: row.fails_in_a_row,
        task: row.name,
        title: row.title,
        problem: row.problem,
        stuck: judge::stuck_sentence(&standing, now),
        tags,
        last_run: row.last_run,
        progress: None,
        standing,
        is_disabled,
    }
}
