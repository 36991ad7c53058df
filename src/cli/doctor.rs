//! `pieme doctor`: checks the machine, the sandbox, the daemon, the database and the task folders.

mod rights;
mod unit;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::alert;
use crate::config::{Config, secret_use, secrets};
use crate::daemon::http::control::{self, ControlReply, ControlRequest};
use crate::daemon::lock::StateLock;
use crate::model::counted;
use crate::model::task::Engine;
use crate::robot;
use crate::sandbox::{self, SandboxError};
use crate::store::Store;
use crate::tasks::{RegistryEntry, TaskFolder, TaskRegistry};

use super::permissions::DaemonUser;
use super::{CliError, VerbResult, exit, output};
use unit::SystemdUnit;

/// Check the machine, the sandbox, the daemon, the database and the folders
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme doctor
  pieme doctor --json
  pieme doctor --only daemon,store   # for the health check of a container

Exit code: 0 when no check failed, 1 otherwise. With --only, each of these checks must be ok.")]
pub(super) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Show only these checks, named as in the column WHAT
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    only: Vec<String>,
}

/// How long the daemon may take to answer on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Alerts whose delivery is checked.
const LAST_ALERTS: u32 = 50;
/// With less free space the next runs may fail.
const MIN_FREE_BYTES: u64 = 512 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum FindingMark {
    Good,
    Note,
    Bad,
}

#[derive(Debug, Serialize)]
struct DoctorFinding {
    what: &'static str,
    mark: FindingMark,
    sentence: String,
}

/// `path` is the value of `--config`.
pub(super) fn run(config: &Config, path: Option<&Path>, args: Args) -> VerbResult {
    let mut found = vec![match Config::shadowed_file_note(path) {
        Some(sentence) => note("config", sentence),
        None => good("config", config.file.display().to_string()),
    }];
    found.extend(check_sandbox());
    let unit = SystemdUnit::query();
    found.extend(check_systemd_unit(config, unit.as_ref()));
    found.push(check_service(config));
    found.push(check_store(config));
    found.extend(check_search_index(config));
    found.extend(rights::check_state(config));
    found.push(check_free_space(&config.state));
    found.extend(check_tasks(config, unit.as_ref()));
    found.extend(check_alerts(config));
    let mut sound = found.iter().all(|it| it.mark != FindingMark::Bad);
    if let Some(unknown) = args.only.iter().find(|what| found.iter().all(|it| it.what != **what)) {
        let names: std::collections::BTreeSet<_> = found.iter().map(|it| it.what).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        return Err(CliError::usage(format!("doctor has no check `{unknown}`; it has {names}")));
    }
    if !args.only.is_empty() {
        found.retain(|it| args.only.iter().any(|what| what == it.what));
        sound = found.iter().all(|it| it.mark == FindingMark::Good);
    }
    if args.json {
        output::json(&serde_json::json!({ "ok": sound, "findings": found }));
    } else {
        let cells = |it: &DoctorFinding| {
            let mark = match it.mark {
                FindingMark::Good => "ok",
                FindingMark::Note => "note",
                FindingMark::Bad => "BAD",
            };
            [mark.to_owned(), it.what.to_owned(), output::cell(&it.sentence, 400)]
        };
        output::say(output::table(&["", "WHAT", "FOUND"], found.iter().map(cells)));
    }
    Ok(if sound { exit::DONE } else { exit::FAILED })
}

fn good(what: &'static str, sentence: impl Into<String>) -> DoctorFinding {
    DoctorFinding { what, mark: FindingMark::Good, sentence: sentence.into() }
}

fn note(what: &'static str, sentence: impl Into<String>) -> DoctorFinding {
    DoctorFinding { what, mark: FindingMark::Note, sentence: sentence.into() }
}

fn bad(what: &'static str, sentence: impl Into<String>) -> DoctorFinding {
    DoctorFinding { what, mark: FindingMark::Bad, sentence: sentence.into() }
}

/// Without Landlock or seccomp no run starts, so either missing is a failure.
fn check_sandbox() -> [DoctorFinding; 2] {
    let found = sandbox::kernel_support();
    let of = |what, done: Result<(), SandboxError>, sentence: &str| match done {
        Ok(()) => good(what, sentence),
        Err(error) => {
            bad(what, format!("{error}; no run starts without it (needs Linux 5.13 or later, with Landlock)"))
        }
    };
    [
        of("files", found.files, "runs can read the CA certificates and no other file (Landlock)"),
        of("calls", found.syscalls, "runs can open no socket and start no program (seccomp)"),
    ]
}

fn check_service(config: &Config) -> DoctorFinding {
    if StateLock::is_taken(&config.lock()) {
        return check_daemon_answers(config);
    }
    note("daemon", "not running; start it with `systemctl start pieme-daemon`, or `pieme-daemon` in a terminal")
}

/// Asks the daemon that holds the lock for an answer on its control socket.
fn check_daemon_answers(config: &Config) -> DoctorFinding {
    let socket = &config.socket;
    let mut answer = None;
    let asked = control::call_blocking(socket, &ControlRequest::Progress, ANSWER_TIMEOUT, |reply| answer = Some(reply));
    let why = match (asked, answer) {
        (Ok(()), Some(ControlReply::Progress { waits_for: Some(reason), .. })) => {
            return bad("daemon", format!("running, but nothing is fetched: it waits for the database ({reason})"));
        }
        (Ok(()), Some(_)) => return good("daemon", "running, and answers on its control socket"),
        (Ok(()), None) => "connection closed".to_owned(),
        (Err(error), _) => error.to_string(),
    };
    let at = socket.display();
    bad(
        "daemon",
        format!(
            "running, but does not answer at {at} ({why}): see its log (`journalctl -u pieme-daemon`); restart it with \
         `systemctl restart pieme-daemon`"
        ),
    )
}

fn check_store(config: &Config) -> DoctorFinding {
    let at = &config.store;
    let checked = Store::open_reader_if_any(at).and_then(|store| {
        let Some(store) = store else { return Ok(None) };
        store.quick_check()?;
        Ok(Some(store.file_bytes()))
    });
    match checked {
        Ok(None) => note("store", format!("{at} is created when the daemon starts")),
        Ok(Some(Some((file, log)))) => good(
            "store",
            format!("{at} passes the integrity check, {} MB, write-ahead log {} MB", file >> 20, log >> 20),
        ),
        Ok(Some(None)) => good("store", format!("{at} answers, and the rows pass the integrity check")),
        Err(error) => bad("store", error.to_string()),
    }
}

/// Whether the search index has all published rows.
fn check_search_index(config: &Config) -> Option<DoctorFinding> {
    let behind = Store::open_reader(&config.store).and_then(|store| store.unindexed_tasks()).ok()?;
    let rows: u64 = behind.iter().map(|(_, rows)| rows).sum();
    Some(match behind.len() {
        0 => good("search", "all published rows are in the search index"),
        tasks => note(
            "search",
            format!(
                "the search index is incomplete for {} ({}); the daemon or the next `pieme run` completes it",
                counted(tasks, "task"),
                counted(rows, "row")
            ),
        ),
    })
}

fn check_free_space(state: &Path) -> DoctorFinding {
    let Ok(stat) = nix::sys::statvfs::statvfs(state) else {
        return note("disk", format!("{} is created when the daemon starts", state.display()));
    };
    let free = stat.blocks_available().saturating_mul(stat.fragment_size());
    let sentence = format!("{} MB free at {}", free >> 20, state.display());
    if free < MIN_FREE_BYTES {
        bad("disk", format!("{sentence}: runs may fail; free space with `pieme gc`"))
    } else {
        good("disk", sentence)
    }
}

/// Failed deliveries among the last alerts.
fn check_alerts(config: &Config) -> Option<DoctorFinding> {
    let deliveries = Store::open_reader(&config.store).and_then(|store| store.deliveries(None, LAST_ALERTS)).ok()?;
    let missing: Vec<_> = deliveries.iter().filter(|it| it.delivered_at.is_none() && it.last_error.is_some()).collect();
    Some(match missing.first() {
        None if deliveries.is_empty() => return None,
        None => good("alerts", format!("all of the last {} were delivered or are waiting", deliveries.len())),
        Some(delivery) => {
            let why = delivery.last_error.as_deref().unwrap_or_default();
            let target = alert::DeliveryTarget::redacted(&delivery.entry.target);
            let sentence = format!(
                "{} of the last {} were not delivered; to {target}: {why}; see `pieme alert list`",
                missing.len(),
                deliveries.len(),
            );
            bad("alerts", sentence)
        }
    })
}

/// Compares the systemd unit with the configuration.
fn check_systemd_unit(config: &Config, unit: Option<&SystemdUnit>) -> Vec<DoctorFinding> {
    let Some(unit) = unit else { return Vec::new() };
    let mut found: Vec<DoctorFinding> = unit.faults(config).into_iter().map(|it| bad("unit", it)).collect();
    if let Some(other) = unit.config().filter(|it| *it != config.file) {
        let sentence = format!(
            "the service uses {}, this command uses {}: type `pieme --config {0} …`",
            other.display(),
            config.file.display()
        );
        found.push(note("unit", sentence));
    } else if let Some(user) = DaemonUser::of(config).map(|it| it.name()).filter(|it| it != unit.user()) {
        let sentence = format!(
            "the service runs as {}, but {} belongs to {user}: type `sudo chown -R {0}: {1}`",
            unit.user(),
            config.state.display()
        );
        found.push(bad("unit", sentence));
    }
    if found.is_empty() {
        found.push(good("unit", format!("pieme-daemon.service runs as {} and can write its folders", unit.user())));
    }
    found
}

/// Task folders that the daemon cannot read or write.
fn check_permissions(config: &Config, folders: &[Arc<TaskFolder>]) -> Option<DoctorFinding> {
    let daemon = DaemonUser::of(config)?;
    let closed: Vec<_> = folders.iter().filter(|it| !daemon.problems(&it.dir).is_empty()).collect();
    let first = &closed.first()?.name;
    let sentence = format!(
        "the daemon ({}) cannot read and write {} of {} folders: see `pieme validate {first}`",
        daemon.name(),
        closed.len(),
        folders.len()
    );
    Some(bad("rights", sentence))
}

fn check_tasks(config: &Config, unit: Option<&SystemdUnit>) -> Vec<DoctorFinding> {
    let mut registry = TaskRegistry::new(config.tasks.clone()).with_channels(config.channels());
    registry.rescan();
    let grants = config.grants.current();
    let is_broken =
        |entry: &RegistryEntry| entry.problem.is_some() || entry.good.iter().any(|it| grants.check(it).is_err());
    let broken: Vec<String> =
        registry.iter().filter(|(_, entry)| is_broken(entry)).map(|(name, _)| name.to_string()).collect();
    let all = registry.iter().count();
    let mut found = vec![match broken.len() {
        0 => good("tasks", format!("{all} in {}, no mistakes", config.tasks.display())),
        _ => bad(
            "tasks",
            format!("{} of {all} have mistakes: {}; see `pieme validate`", broken.len(), broken.join(", ")),
        ),
    }];
    let folders: Vec<_> = registry.iter().filter_map(|(_, entry)| entry.good.clone()).collect();
    found.extend(rights::check_task_folders(config, &folders));
    found.extend(check_permissions(config, &folders));
    for folder in &folders {
        let mut names = secrets::names(&folder.task, &folder.script);
        for url in &folder.task.alert.urls {
            names.extend(alert::secret_names(url));
            names.extend(alert::config_secrets(url, &config.alert, &config.smtp));
        }
        if !secret_use::problems(config, folder).is_empty() {
            let sentence = format!(
                "{0}: config.toml does not grant it a secret that it names; see `pieme validate {0}`",
                folder.name
            );
            found.push(bad("secrets", sentence));
        }
        for name in names {
            match secrets::lookup(config, &name) {
                Ok(Some(_)) => {}
                Ok(None) => found.push(bad("secrets", format!("{}: the secret `{name}` is missing", folder.name))),
                // Only root and the daemon's user may read it.
                Err(error) if error.is_denied() => found.push(note(
                    "secrets",
                    format!("{}: only `sudo pieme doctor` can check the secret `{name}`", folder.name),
                )),
                Err(error) => found.push(bad("secrets", format!("{}: {error}", folder.name))),
            }
        }
    }
    if folders.iter().any(|it| it.task.fetch.engine == Engine::Browser) {
        found.push(match robot::find_chromium(config.browser.as_deref()) {
            Ok(program) if unit.is_some_and(|it| !it.may_execute(&program)) => bad(
                "browser",
                format!(
                    "{}: the systemd unit does not allow it to start; install the drop-in of docs/browser.md",
                    program.display()
                ),
            ),
            Ok(program) => good("browser", program.display().to_string()),
            Err(error) => bad("browser", error.to_string()),
        });
    }
    found
}
