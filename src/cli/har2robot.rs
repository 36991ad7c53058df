//! `pieme har2robot`: a recorded HAR file → the draft of a robot.toml.

use std::path::PathBuf;

use super::draft_output;
use super::draft_output::DraftOutput;
use super::{CliError, VerbResult, exit, exit_code};
use crate::draft::{self, HarError, MAX_HAR_BYTES};

/// Turn a recorded visit (a HAR file) into a robot.toml to begin with
///
/// Record in the browser's network panel: log in, come to the list, go to its second page, look at one row; then “Save all as
/// HAR with content”. What leads to the list becomes steps; pictures, scripts and other sites are left out. Passwords, keys and
/// tokens are not written: `${secret:NAME}` stands for each. The file itself does hold them: delete it afterwards.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme har2robot shop.example.har
  pieme har2robot shop.example.har -o tasks/shop   writes tasks/shop/task.toml and robot.toml, if they are not there")]
pub struct Args {
    /// The recording
    file: PathBuf,
    #[command(flatten)]
    output: DraftOutput,
}

pub fn run(args: Args) -> u8 {
    exit_code(draft(&args))
}

fn draft(args: &Args) -> VerbResult {
    let file = std::fs::File::open(&args.file).map_err(|error| draft_output::unreadable(&args.file, &error))?;
    // Reading so much only to refuse it would take seconds. What has no length (a pipe) is counted as it comes.
    let is_too_large = file.metadata().is_ok_and(|meta| meta.len() > MAX_HAR_BYTES);
    let read = if is_too_large { Err(HarError::TooLarge) } else { draft::from_har(file) };
    let draft = read.map_err(|error| CliError::new(exit::USAGE, format!("{}: {error}", args.file.display())))?;
    draft_output::print_or_write(&draft, &args.output)
}
