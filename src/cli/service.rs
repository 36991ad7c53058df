//! `pieme-daemon`: what the service's own command line means.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::config::Config;
use crate::daemon::spawn::THIS_PROGRAM;
use crate::daemon::{self, DaemonError, log};
use crate::web;

use super::{CliError, VerbResult, exit, exit_code};

/// The name under which the program is the service.
pub const DAEMON_NAME: &str = "pieme-daemon";

const NOTES: &str = "\
Signals: SIGHUP looks through tasks/ again; SIGTERM takes no new work, lets the runs finish for stop_grace, then ends them.
The log goes to the terminal, the journal or, as JSON lines, anywhere else; RUST_LOG=debug shows every step of every run.

Example:
  pieme-daemon --config config.toml";

/// Keeps the tables of the tasks in tasks/ fresh
#[derive(Parser)]
#[command(name = "pieme-daemon", version, after_help = NOTES)]
struct Args {
    /// The configuration; default: $PIEME_CONFIG, ./config.toml, /etc/pieme/config.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The command line, for the manual.
pub(super) fn command() -> clap::Command {
    Args::command()
}

pub fn main() -> ExitCode {
    ExitCode::from(exit_code(run(Args::parse())))
}

fn run(args: Args) -> VerbResult {
    let config = Config::find(args.config.as_deref())?;
    log::start(config.log.format).map_err(|error| CliError::new(exit::FAILED, format!("the log: {error}")))?;
    if let Some(note) = Config::shadowed_file_note(args.config.as_deref()) {
        tracing::warn!("{note}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::new(exit::FAILED, format!("no runtime could be started: {error}")))?;
    runtime.block_on(daemon::run(config, PathBuf::from(THIS_PROGRAM), web::open)).map_err(|error| {
        let code = match &error {
            DaemonError::Lock(_) | DaemonError::StateMoved(_) => exit::TEMPORARY,
            DaemonError::Store(error) if error.is_transient() => exit::TEMPORARY,
            DaemonError::Store(_) | DaemonError::Io { .. } | DaemonError::Clock(_) => exit::FAILED,
        };
        CliError::new(code, error.to_string())
    })?;
    Ok(exit::DONE)
}
