//! `pieme har2robot`: drafts a robot.toml from a recorded HAR file.

use std::path::PathBuf;

use super::draft_output;
use super::draft_output::DraftOutput;
use super::{CliError, VerbResult, exit, exit_code};
use crate::draft::{self, HarError, MAX_HAR_BYTES};

/// Draft a robot.toml from a recorded visit (HAR file)
///
/// Record in the browser's network panel: log in, open the list, go to its second page, open one row; then “Save all as
/// HAR with content”. Requests that lead to the list become steps; images, scripts and other sites are left out.
/// Passwords, keys and tokens are replaced by `${secret:NAME}`. The HAR file itself contains them: delete it
/// afterwards.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme har2robot shop.example.har
  pieme har2robot shop.example.har -o tasks/shop   writes task.toml and robot.toml into tasks/shop")]
pub(super) struct Args {
    /// The HAR file
    file: PathBuf,
    #[command(flatten)]
    output: DraftOutput,
}

pub(super) fn run(args: Args) -> u8 {
    exit_code(draft(&args))
}

fn draft(args: &Args) -> VerbResult {
    let file = std::fs::File::open(&args.file).map_err(|error| draft_output::unreadable(&args.file, &error))?;
    // Refused before it is read, which would take seconds. A pipe has no length: its bytes are counted while reading.
    let is_too_large = file.metadata().is_ok_and(|meta| meta.len() > MAX_HAR_BYTES);
    let read = if is_too_large { Err(HarError::TooLarge) } else { draft::from_har(file) };
    let draft = read.map_err(|error| CliError::new(exit::USAGE, format!("{}: {error}", args.file.display())))?;
    draft_output::print_or_write(&draft, &args.output)
}
