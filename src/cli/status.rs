//! `pieme status`: shows the state of every task, worst first. Works without a running daemon.

mod check;
mod details;
mod table;
mod watch;

use std::path::Path;

use chrono::Utc;
use clap::ColorChoice;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::config::Config;
use crate::daemon::lock::StateLock;
use crate::model::{State, TaskName, counted};
use crate::show::task_status::StoredTasks;
use crate::show::{StatusLine, task_status};
use crate::store::StoreError;

use super::{CliError, VerbResult, exit, exit_code, output, task_name, usable_config};

const NOTES: &str = "\
Examples:
  pieme status
  pieme status hotels                        one task in full
  pieme status --state quarantined,failed
  pieme status --tag hotels --watch 5
  pieme status --json | jq '.tasks[].state'
  pieme status --check                       for Nagios, Icinga and similar

--check prints one line with performance data and exits as monitoring plug-ins do:
  0 OK        ok, changed, running, queued, never, paused; empty, if the page says so
  1 WARNING   overdue; empty (unexpected); needs-label, if the task is new or still publishes
  2 CRITICAL  crash, config, login, blocked, failed, quarantined;
              needs-label, if the published rows are getting old;
              a run long past its limits.timeout (crash);
              the daemon is not running, whatever the states of the tasks
  3 UNKNOWN   the configuration or the database cannot be read, no daemon has ever run,
              or there is no such task";

/// Show the state of every task, worst first, and the command to type next
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(super) struct Args {
    /// Show only this task, in full
    task: Option<String>,
    /// Show only tasks in these states
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = states())]
    state: Vec<State>,
    /// Show only tasks with one of these tags (`tags` in task.toml)
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    tag: Vec<String>,
    /// Print one line and exit with a code for monitoring
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    check: bool,
    /// Repeat every 2 seconds, or every SECONDS
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2",
          value_parser = clap::value_parser!(u32).range(1..=86_400))]
    watch: Option<u32>,
    /// Use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn states() -> impl TypedValueParser<Value = State> {
    let words = PossibleValuesParser::new(State::ALL.iter().map(|state| state.word()));
    words.map(|word| State::from_word(&word).expect("only words of states are possible"))
}

/// The requested tasks at one time.
struct StatusReport {
    /// Whether a daemon has ever run here.
    is_known: bool,
    /// Number of alerts that were not delivered.
    undelivered: u64,
    daemon_runs: bool,
    /// Why the daemon runs nothing: its database cannot be reached.
    waits_for: Option<String>,
    lines: Vec<StatusLine>,
    /// The task that was named on the command line.
    only: Option<TaskName>,
}

pub(super) fn run(path: Option<&Path>, args: Args) -> u8 {
    let config = usable_config(path);
    if args.check {
        return check::exit_code(config.and_then(|config| check::check(&config, &args)));
    }
    super::note_two_configs(path);
    exit_code(config.and_then(|config| match args.watch {
        Some(seconds) => watch::watch(&config, &args, seconds),
        None => show(&config, &args).map(|shown| {
            output::say(shown.text);
            shown.note.into_iter().for_each(|note| output::note(format!("\n{note}")));
            exit::DONE
        }),
    }))
}

/// Output of one round.
struct StatusOutput {
    text: String,
    /// Notes about the daemon and about undelivered alerts.
    note: Option<String>,
}

fn show(config: &Config, args: &Args) -> Result<StatusOutput, CliError> {
    let look = read_status(config, args)?;
    if args.json {
        let document = serde_json::json!({
            "daemon": look.daemon_runs,
            "waits_for": look.waits_for,
            "undelivered_alerts": look.undelivered,
            "tasks": look.lines,
        });
        return Ok(StatusOutput { text: document.to_string(), note: None });
    }
    let styled = output::is_styled(args.color);
    let text = match (&look.only, &look.lines[..]) {
        (Some(_), [line]) => details::text(config, line, styled)?,
        (_, []) if args.state.is_empty() && args.tag.is_empty() => no_tasks(config),
        (_, []) => "No task matches.".to_owned(),
        (_, lines) => table::text(lines, Utc::now(), styled),
    };
    let alerts = || counted(look.undelivered, "alert");
    let unheard =
        (look.undelivered > 0).then(|| format!("{} could not be delivered: see `pieme alert list`", alerts()));
    let waits =
        look.waits_for.map(|reason| format!("The daemon waits for the database, and nothing is fetched: {reason}"));
    let down = (!look.daemon_runs).then(|| daemon_is_down(config));
    let notes: Vec<String> = down.into_iter().chain(waits).chain(unheard).collect();
    Ok(StatusOutput { text, note: (!notes.is_empty()).then(|| notes.join("\n")) })
}

fn read_status(config: &Config, args: &Args) -> Result<StatusReport, CliError> {
    let only = args.task.as_deref().map(task_name).transpose()?;
    let daemon_runs = StateLock::is_taken(&config.lock());
    let now = Utc::now();
    let stored =
        StoredTasks::read(config, daemon_runs, now).map_err(|error| unreadable_store(config, daemon_runs, error))?;
    let is_known = stored.is_some();
    let StoredTasks { rows, undelivered } = stored.unwrap_or_default();
    let (mut lines, waits_for) = task_status::all(config, rows, daemon_runs, !args.tag.is_empty(), now);
    if let Some(name) = &only {
        lines.retain(|line| line.task == *name);
        if lines.is_empty() {
            return Err(CliError::usage(super::no_such_task(config, name)));
        }
    }
    lines.retain(|line| {
        let has_tag = line.tags.iter().flatten().any(|tag| args.tag.contains(tag));
        (args.tag.is_empty() || has_tag) && (args.state.is_empty() || args.state.contains(&line.state))
    });
    Ok(StatusReport { is_known, undelivered, daemon_runs, waits_for, lines, only })
}

/// The error for a database that cannot be read; says whether the daemon waits for it.
fn unreadable_store(config: &Config, daemon_runs: bool, error: StoreError) -> CliError {
    let waits = daemon_runs && task_status::daemon_waits_for(config).is_some();
    let complaint = CliError::from(error);
    if !waits {
        return complaint;
    }
    CliError { sentence: format!("{}; the daemon is running and waits for it", complaint.sentence), ..complaint }
}

fn no_tasks(config: &Config) -> String {
    format!(
        "No tasks yet. Create one with `pieme add URL`, or a folder in {} with a task.toml: url = \"https://…\"",
        config.tasks.display()
    )
}

fn daemon_is_down(config: &Config) -> String {
    format!(
        "The daemon is not running: nothing is fetched. Start it with: pieme-daemon --config {}",
        config.file.display()
    )
}

/// The table as text, for `pieme demo`.
pub(super) fn table(config: &Config) -> Result<String, CliError> {
    let lines = lines_now(config)?;
    Ok(table::text(&lines, Utc::now(), output::is_styled(ColorChoice::Auto)))
}

fn lines_now(config: &Config) -> Result<Vec<StatusLine>, StoreError> {
    let stored = StoredTasks::read(config, true, Utc::now())?.unwrap_or_default();
    Ok(task_status::all(config, stored.rows, true, false, Utc::now()).0)
}

/// The state of every task, for `pieme demo`; running tasks are left out, since they will change again.
pub(super) fn states_now(config: &Config) -> Result<Vec<(TaskName, State)>, CliError> {
    let lines = lines_now(config)?;
    Ok(lines.into_iter().filter(|line| line.state != State::Running).map(|line| (line.task, line.state)).collect())
}

/// Whether there are at least `tasks` tasks and all have finished a run.
pub(super) fn all_have_run(config: &Config, tasks: usize) -> bool {
    lines_now(config).is_ok_and(|lines| lines.len() >= tasks && lines.iter().all(|line| line.last_run.is_some()))
}
