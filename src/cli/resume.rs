//! `pieme resume`: schedules paused tasks again, from their next scheduled time.

use crate::config::Config;

use super::{VerbResult, pause};

/// Schedule paused tasks again
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme resume hotels\n  pieme resume hotels flats --json")]
pub(super) struct Args {
    /// The names of the tasks
    #[arg(required = true, value_name = "TASK")]
    tasks: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Config, args: Args) -> VerbResult {
    pause::set(config, &args.tasks, false, args.json)
}
