//! The command line of `pieme-daemon`: loads the configuration, starts the log and runs the daemon.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::config::Config;
use crate::daemon::child::spawn::THIS_PROGRAM;
use crate::daemon::{self, DaemonError, log};
use crate::sandbox;
use crate::web;

use super::{CliError, VerbResult, exit, exit_code};

/// The program runs as the service when it is called by this name.
pub const DAEMON_NAME: &str = "pieme-daemon";

const NOTES: &str = "\
Signals: SIGHUP rescans tasks/. SIGTERM stops scheduling, waits for running tasks up to stop_grace,
then ends them.
The log goes to the terminal, to the journal or, as JSON lines, to stderr. RUST_LOG=debug logs
every step of every run.

Example:
  pieme-daemon --config config.toml";

/// The service: schedules tasks, starts runs, publishes rows and sends alerts
#[derive(Parser)]
#[command(name = "pieme-daemon", version, after_help = NOTES)]
struct Args {
    /// Configuration file; default: $PIEME_CONFIG, ./config.toml, /etc/pieme/config.toml
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
    sandbox::close_inherited_descriptors();
    let config = Config::find(args.config.as_deref())?;
    log::start(config.log.format).map_err(|error| CliError::failed(format!("cannot start the log: {error}")))?;
    if let Some(note) = Config::shadowed_file_note(args.config.as_deref()) {
        tracing::warn!("{note}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(CliError::runtime)?;
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
