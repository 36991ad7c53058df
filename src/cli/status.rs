//! `pieme status`: how every task stands, worst first. Works with the daemon down.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::config::Config;
use crate::daemon::control::{self, Reply, Request};
use crate::daemon::lock::StateLock;
use crate::daemon::progress::Progress;
use crate::judge::{self, Standing};
use crate::model::{PastRun, State, TaskName};
use crate::store::{Store, TaskRow};
use crate::taskdir::Shelf;

use super::{Complaint, Done, exit, out, task_name};

/// How every task stands, worst first, and what to type next
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme status\n  pieme status hotels\n  pieme status --json | jq '.tasks[].state'")]
pub struct Args {
    /// Only this task
    task: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// How long a daemon may take to say how far its runs are.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Line {
    task: TaskName,
    title: Option<String>,
    state: State,
    rows: Option<u64>,
    delta: Option<i64>,
    similarity: Option<f64>,
    last_ok: Option<DateTime<Utc>>,
    next: Option<DateTime<Utc>>,
    fails: u32,
    #[serde(rename = "do")]
    advice: String,
    problem: Option<String>,
    last_run: Option<PastRun>,
    /// How far the run under way is.
    progress: Option<Progress>,
}

pub fn run(config: &Config, args: Args) -> Done {
    let only = args.task.as_deref().map(task_name).transpose()?;
    let daemon_runs = StateLock::is_taken(&config.lock());
    let mut lines = lines(config, daemon_runs, Utc::now())?;
    if let Some(name) = &only {
        lines.retain(|line| line.task == *name);
        if lines.is_empty() {
            return Err(Complaint::new(exit::USAGE, super::no_such_task(config, name)));
        }
    }
    if args.json {
        out::json(&serde_json::json!({ "daemon": daemon_runs, "tasks": lines }));
    } else {
        print(config, &lines, daemon_runs, only.is_some());
    }
    Ok(exit::DONE)
}

/// The table as text, for `pieme demo`.
pub fn table(config: &Config) -> Result<String, Complaint> {
    Ok(as_table(&lines(config, true, Utc::now())?, Utc::now()))
}

/// Every task with its state, for `pieme demo`. A run under way is no news.
pub fn states(config: &Config) -> Result<Vec<(TaskName, State)>, Complaint> {
    let lines = lines(config, true, Utc::now())?;
    Ok(lines.into_iter().filter(|line| line.state != State::Running).map(|line| (line.task, line.state)).collect())
}

/// At least so many tasks have ended a run.
pub fn all_have_run(config: &Config, tasks: usize) -> bool {
    lines(config, true, Utc::now())
        .is_ok_and(|lines| lines.len() >= tasks && lines.iter().all(|line| line.last_run.is_some()))
}

fn lines(config: &Config, daemon_runs: bool, now: DateTime<Utc>) -> Result<Vec<Line>, Complaint> {
    let mut rows: BTreeMap<TaskName, TaskRow> = BTreeMap::new();
    if config.store.exists() {
        let store = Store::open_reader(&config.store)?;
        rows.extend(store.tasks()?.into_iter().filter(|row| !row.removed).map(|row| (row.name.clone(), row)));
    }
    // With nobody watching tasks/, its truth is in the folders.
    if !daemon_runs {
        let mut shelf = Shelf::new(config.tasks.clone());
        shelf.rescan();
        rows.retain(|name, _| shelf.get(name).is_some());
        for (name, entry) in shelf.iter() {
            let row = rows.entry(name.clone()).or_insert_with(|| TaskRow::unknown(name.clone()));
            row.problem = entry.problem.as_ref().map(ToString::to_string);
            row.title = entry.good.as_ref().and_then(|it| it.task.title.clone()).or(row.title.take());
        }
    }
    let mut lines: Vec<Line> = rows.into_values().map(|row| line(row, daemon_runs, now)).collect();
    let mut going = if daemon_runs { progress(config) } else { BTreeMap::new() };
    for line in &mut lines {
        line.progress = going.remove(&line.task);
    }
    lines.sort_by(|a, b| (a.state, &a.task).cmp(&(b.state, &b.task)));
    Ok(lines)
}

/// Of the runs under way, as the daemon tells it; nothing where it is too busy to.
fn progress(config: &Config) -> BTreeMap<TaskName, Progress> {
    let mut going = BTreeMap::new();
    let hear = |reply| {
        if let Reply::Progress { runs } = reply {
            going.extend(runs.into_iter().map(|run| (run.task.clone(), run)));
        }
    };
    // The table is the store's; this is a courtesy that nobody waits for long.
    let _ = control::ask_blocking(&config.control_socket(), &Request::Progress, PATIENCE, hear);
    going
}

fn line(row: TaskRow, daemon_runs: bool, now: DateTime<Utc>) -> Line {
    let standing = Standing {
        problem: row.problem.clone(),
        paused: row.paused,
        last_run: row.last_run.clone(),
        published_before: row.previous_rows.is_some(),
        running: daemon_runs && row.running_since.is_some(),
        next_due: row.next_due,
    };
    let state = judge::state(&standing, now);
    Line {
        advice: judge::advice(state, &row.name, row.last_run.as_ref()),
        state,
        delta: row.published_rows.zip(row.previous_rows).map(|(is, was)| is as i64 - was as i64),
        rows: row.published_rows,
        similarity: row.last_run.as_ref().and_then(|run| run.verdict.similarity),
        last_ok: row.last_ok,
        next: row.next_due,
        fails: row.fails_in_a_row,
        task: row.name,
        title: row.title,
        problem: row.problem,
        last_run: row.last_run,
        progress: None,
    }
}

fn print(config: &Config, lines: &[Line], daemon_runs: bool, in_full: bool) {
    if lines.is_empty() {
        out::say(format!(
            "No tasks yet. Make a folder with a task.toml that holds one line, url = \"https://…\", in {}.",
            config.tasks.display()
        ));
    } else {
        out::say(as_table(lines, Utc::now()));
    }
    for line in lines.iter().filter(|_| in_full) {
        if let Some(problem) = &line.problem {
            out::say(format!("\n{problem}"));
        }
        if let Some(run) = &line.last_run {
            out::say(format!("\nLast run {}: {}", run.run, out::cell(&run.verdict.sentence, 2_000)));
        }
    }
    if !daemon_runs {
        out::note(format!(
            "\nThe daemon is not running: nothing is fetched. Start it with: pieme-daemon --config {}",
            config.file.display()
        ));
    }
}

fn as_table(lines: &[Line], now: DateTime<Utc>) -> String {
    let mut table =
        out::table(&["TASK", "STATE", "ROWS", "Δ", "SIM", "LAST-OK", "LAST-RUN", "NEXT", "FAILS", "CAUSE", "DO"]);
    for line in lines {
        let last = line.last_run.as_ref();
        let cause = match (&line.problem, last) {
            (Some(_), _) => "config".to_owned(),
            (None, Some(run)) => run.verdict.outcome.cause().to_owned(),
            (None, None) => String::new(),
        };
        table.add_row([
            line.task.to_string(),
            line.state.to_string(),
            line.rows.map_or("–".to_owned(), |rows| rows.to_string()),
            line.delta.filter(|&delta| delta != 0).map_or(String::new(), |delta| format!("{delta:+}")),
            line.similarity.map_or("–".to_owned(), |similarity| format!("{similarity:.2}")),
            line.last_ok.map_or("never".to_owned(), |at| ago(now - at)),
            match (&line.progress, last) {
                (Some(going), _) => going_on(going, now),
                (None, Some(run)) => ago(now - run.ended_at),
                (None, None) => "never".to_owned(),
            },
            line.next.map_or("–".to_owned(), |at| ahead(at - now)),
            line.fails.to_string(),
            cause,
            line.advice.clone(),
        ]);
    }
    table.to_string()
}

/// `now: 3 pages, 60 rows, 12s`
fn going_on(going: &Progress, now: DateTime<Utc>) -> String {
    format!("now: {} pages, {} rows, {}", going.pages, going.rows, short(now - going.started_at))
}

fn ago(time: TimeDelta) -> String {
    if time < TimeDelta::seconds(1) { "now".to_owned() } else { format!("{} ago", short(time)) }
}

fn ahead(time: TimeDelta) -> String {
    if time < TimeDelta::seconds(1) { "now".to_owned() } else { format!("in {}", short(time)) }
}

/// One unit is enough: `45s`, `12m`, `5h`, `3d`.
fn short(time: TimeDelta) -> String {
    let seconds = time.num_seconds().abs();
    match seconds {
        0..100 => format!("{seconds}s"),
        100..6_000 => format!("{}m", seconds / 60),
        6_000..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (seconds, text) in
            [(0, "now"), (45, "45s ago"), (720, "12m ago"), (5 * 3_600, "5h ago"), (259_200, "3d ago")]
        {
            assert_eq!(ago(TimeDelta::seconds(seconds)), text);
        }
        assert_eq!(ahead(TimeDelta::seconds(-3)), "now");
        assert_eq!(ahead(TimeDelta::seconds(30)), "in 30s");
    }
}
