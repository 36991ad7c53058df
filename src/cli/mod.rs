//! The command line `pieme`: one module per command or pair of commands, and what they share.

mod add;
mod alert;
mod candidates;
mod completions;
pub mod demo;
mod diff;
mod doctor;
mod draft;
mod duplicates;
mod error;
mod exit;
mod explain;
mod export;
mod extract;
pub mod file_writer;
mod forms;
mod gc;
mod help_args;
mod history;
mod label;
mod learn;
mod log;
mod manual;
mod migrate_store;
mod output;
mod pager;
mod pause;
mod permissions;
mod prompt;
mod records;
mod repair;
mod replay;
mod resort;
mod rollback;
mod run;
mod sandboxed;
mod search;
mod secret;
pub mod service;
mod since;
mod status;
mod step;
mod test;
mod validate;
mod web;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use url::Url;

use crate::config::Config;
use crate::daemon::http::control::{self, ControlReply, ControlRequest};
use crate::model::TaskName;
use crate::page::Tree;
use crate::store::Store;
use crate::tasks::TaskFolder;

use error::{CliError, VerbResult};
use sandboxed::PageSandbox;

const EXAMPLES: &str = "\
Examples:
  pieme demo                       try pieme on a practice site, in a scratch folder
  pieme add https://example.org/x  create a task: choose the list, name its columns
  pieme status                     the state of every task, and the command to type next
  pieme label hotels               choose the list, name its columns
  pieme records hotels --json      the published rows
  pieme export hotels -o h.csv     the published rows as a file
  pieme diff hotels                what changed last
  pieme search halifax bar*        search all published rows
  pieme alert test hotels          send a test alert
  pieme secret list                the secrets, and which tasks may use them
  pieme learn page.html            the lists of a saved page
  pieme pager page.html --url U    the link to the next page of a list

Exit codes: 0 done; 1 finished, not published; 2 wrong usage; 3 a person must label the task;
75 temporary failure; 77 login refused or blocked; 78 configuration; 124 time limit; 137 killed.";

const ABOUT: &str = "Keeps tables from web sites fresh, and notices when a site has changed";

#[derive(Parser)]
#[command(name = "pieme", version, about = ABOUT, after_help = EXAMPLES)]
struct Cli {
    /// Configuration file; default: $PIEME_CONFIG, ./config.toml, /etc/pieme/config.toml
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Demo(demo::Args),
    Add(add::Args),
    Status(status::Args),
    Run(run::Args),
    /// Stop scheduling tasks until `pieme resume`; a running task finishes
    #[command(after_help = "Examples:\n  pieme pause hotels\n  pieme pause hotels flats --json")]
    Pause(pause::Args),
    /// Schedule paused tasks again
    #[command(after_help = "Examples:\n  pieme resume hotels\n  pieme resume hotels flats --json")]
    Resume(pause::Args),
    Rollback(rollback::Args),
    Test(test::Args),
    Step(step::Args),
    Label(label::Args),
    Records(records::Args),
    Export(export::Args),
    Diff(diff::Args),
    History(history::Args),
    Duplicates(duplicates::Args),
    Search(search::Args),
    Log(log::Args),
    Alert(alert::Args),
    Secret(secret::Args),
    Validate(validate::Args),
    Doctor(doctor::Args),
    Gc(gc::Args),
    MigrateStore(migrate_store::Args),
    Learn(learn::Args),
    Extract(extract::Args),
    Replay(replay::Args),
    Repair(repair::Args),
    Explain(explain::Args),
    Pager(pager::Args),
    Forms(forms::Args),
    Curl2robot(draft::CurlArgs),
    Har2robot(draft::HarArgs),
    Web(web::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    ExplainStored(explain::StoredPageArgs),
    #[command(hide = true)]
    TaskNames(completions::TaskNamesArgs),
    #[command(hide = true)]
    Manual(manual::Args),
}

/// The `pieme` program.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let config = cli.config.as_deref();
    let code = match cli.verb {
        Verb::Demo(args) => exit_code(demo::run(args)),
        Verb::Add(args) => with_config(config, |it| add::run(it, args)),
        Verb::Status(args) => status::run(config, args),
        Verb::Run(args) => as_owner(config, |it| run::run(it, args)),
        Verb::Pause(args) => as_owner(config, |it| pause::run(it, &args, true)),
        Verb::Rollback(args) => as_owner(config, |it| rollback::run(it, args)),
        Verb::Resume(args) => as_owner(config, |it| pause::run(it, &args, false)),
        Verb::Test(args) => as_owner(config, |it| test::run(it, args)),
        Verb::Step(args) => as_owner(config, |it| step::run(it, args)),
        Verb::Label(args) => as_owner(config, |it| label::run(it, args)),
        Verb::Records(args) => with_config(config, |it| records::run(it, args)),
        Verb::Export(args) => with_config(config, |it| export::run(it, args)),
        Verb::Diff(args) => with_config(config, |it| diff::run(it, args)),
        Verb::History(args) => with_config(config, |it| history::run(it, args)),
        Verb::Duplicates(args) => with_config(config, |it| duplicates::run(it, args)),
        Verb::Search(args) => with_config(config, |it| search::run(it, args)),
        Verb::Log(args) => with_config(config, |it| log::run(it, args)),
        Verb::Alert(args) => with_config(config, |it| alert::run(it, args)),
        Verb::Secret(args) => with_config(config, |it| secret::run(it, args)),
        Verb::Validate(args) => as_owner(config, |it| validate::run(it, args)),
        Verb::Doctor(args) => as_owner(config, |it| doctor::run(it, config, args)),
        Verb::Gc(args) => as_owner(config, |it| gc::run(it, args)),
        Verb::MigrateStore(args) => as_owner(config, |it| migrate_store::run(it, args)),
        Verb::Learn(args) => exit_code(learn::run(&args)),
        Verb::Extract(args) => exit_code(extract::run(&args)),
        Verb::Replay(args) => exit_code(replay::run(&args)),
        Verb::Repair(args) => exit_code(repair::run(&args)),
        Verb::Explain(args) => exit_code(explain::run(config, &args)),
        Verb::Pager(args) => exit_code(pager::run(&args)),
        Verb::Forms(args) => exit_code(forms::run(&args)),
        Verb::Curl2robot(args) => exit_code(draft::from_curl(&args)),
        Verb::Har2robot(args) => exit_code(draft::from_har(&args)),
        Verb::Web(args) => as_owner(config, |it| web::run(it, args)),
        Verb::Completions(args) => exit_code(completions::run(Cli::command(), &args)),
        Verb::ExplainStored(args) => exit_code(explain::run_stored(&args)),
        Verb::TaskNames(completions::TaskNamesArgs {}) => completions::task_names(config),
        Verb::Manual(args) => exit_code(manual::run(Cli::command(), &args)),
    };
    ExitCode::from(code)
}

fn with_config(path: Option<&Path>, verb: impl FnOnce(&Config) -> VerbResult) -> u8 {
    if io::stderr().is_terminal() {
        note_two_configs(path);
    }
    exit_code(usable_config(path).and_then(|config| verb(&config)))
}

/// Loads the configuration and checks that this user may use the installation.
fn usable_config(path: Option<&Path>) -> Result<Config, CliError> {
    let config = Config::find(path)?;
    permissions::check(&config)?;
    Ok(config)
}

/// As [`with_config`], for commands that write task folders or check what the daemon can read: root becomes their
/// owner.
fn as_owner(path: Option<&Path>, verb: impl FnOnce(&Config) -> VerbResult) -> u8 {
    with_config(path, |config| {
        permissions::act_as_owner(config)?;
        verb(config)
    })
}

/// Notes which configuration is used where there are two candidates.
fn note_two_configs(path: Option<&Path>) {
    if let Some(note) = Config::shadowed_file_note(path) {
        output::note(format!("pieme: {note}"));
    }
}

fn exit_code(done: VerbResult) -> u8 {
    done.unwrap_or_else(|complaint| {
        output::note(format!("pieme: {}", complaint.sentence));
        complaint.code
    })
}

/// Validates a typed task name.
fn task_name(text: &str) -> Result<TaskName, CliError> {
    TaskName::new(text).map_err(CliError::usage)
}

/// The task's folder; the error suggests a task with a similar name.
fn task_folder(config: &Config, name: &TaskName) -> Result<TaskFolder, CliError> {
    let dir = config.tasks.join(name.as_str());
    if !dir.is_dir() {
        return Err(CliError::usage(no_such_task(config, name)));
    }
    Ok(crate::tasks::read_with_channels(&dir, &config.channels())?)
}

/// The error where a task has no data: `sentence`, or that there is no such task.
fn nothing_yet(config: &Config, name: &TaskName, sentence: String) -> CliError {
    match config.tasks.join(name.as_str()).is_dir() {
        true => CliError::failed(sentence),
        false => CliError::usage(no_such_task(config, name)),
    }
}

/// The names of the folders in tasks/, unsorted.
fn task_names(config: &Config) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(&config.tasks)
        .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    names.retain(|it| TaskName::new(it).is_ok());
    names
}

fn no_such_task(config: &Config, name: &TaskName) -> String {
    let mut names = task_names(config);
    names.sort_by_key(|it| strsim::damerau_levenshtein(it, name.as_str()));
    let near = match names.first() {
        Some(nearest) if strsim::damerau_levenshtein(nearest, name.as_str()) <= 3 => {
            format!("; did you mean `{nearest}`?")
        }
        Some(_) => "; `pieme status` lists them".to_owned(),
        None => "; there are no tasks yet: `pieme add URL` creates one".to_owned(),
    };
    format!("there is no task `{name}` in {}{near}", config.tasks.display())
}

/// Sends a request to the running daemon and returns its last reply; a refusal is an error.
fn ask_daemon(config: &Config, request: &ControlRequest, patience: Duration) -> Result<ControlReply, CliError> {
    let mut answer = Err(CliError::unanswered(&config.socket, "connection closed"));
    let hear = |reply| answer = CliError::refusal(&reply).map_or(Ok(reply), Err);
    control::call_blocking(&config.socket, request, patience, hear)
        .map_err(|error| CliError::unanswered(&config.socket, error))?;
    answer
}

fn open_reader(config: &Config) -> Result<Store, CliError> {
    Ok(Store::open_reader(&config.store)?)
}

/// The limit that cut the page off, as a sentence; rows may be missing or wrong then.
fn truncation_note(path: &Path, tree: &Tree) -> Option<String> {
    let bytes = || std::fs::metadata(path).map_or(0, |meta| usize::try_from(meta.len()).unwrap_or(usize::MAX));
    tree.limit.map(|cut| cut.sentence(&path.display().to_string(), bytes()))
}

/// Adds the reason for missing rows or values to a JSON document.
fn add_limit(answer: &mut serde_json::Value, limit: Option<String>) {
    if let Some(sentence) = limit {
        answer["limit"] = serde_json::Value::String(sentence);
    }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|error| CliError::usage(format!("cannot read the page {}: {error}", path.display())))
}

/// Parses the URL that a saved page came from.
fn page_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{error}; it looks like https://site.example/list"))?;
    if url.cannot_be_a_base() { Err("it looks like https://site.example/list".to_owned()) } else { Ok(url) }
}
