//! `pieme manual`: generates the manual pages from the command line. For packages; `pieme --help` does not list it.

mod page;

use std::fs;
use std::path::PathBuf;

use clap::Command;

use super::{CliError, VerbResult, exit, output, service};
use crate::model::counted;

/// Write the manual pages: pieme.1, one page per command, pieme-daemon.8
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pieme manual target/man && man -l target/man/pieme-status.1")]
pub(super) struct Args {
    /// Folder for the pages; created if missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(super) fn run(pieme: Command, args: &Args) -> VerbResult {
    fs::create_dir_all(&args.dir).map_err(CliError::unwritable(&args.dir))?;
    let pages = pages(pieme);
    for (name, text) in &pages {
        let path = args.dir.join(name);
        fs::write(&path, text).map_err(CliError::unwritable(&path))?;
    }
    output::say(format!("Wrote {} to {}", counted(pages.len(), "page"), args.dir.display()));
    Ok(exit::DONE)
}

/// File names and contents of all pages.
fn pages(pieme: Command) -> Vec<(String, String)> {
    let mut pieme = pieme.disable_help_subcommand(true);
    pieme.build();
    let mut daemon = service::command();
    daemon.build();
    let mut pages =
        vec![(file_name(&pieme, 1), page::of_program(&pieme)), (file_name(&daemon, 8), page::of_daemon(&daemon))];
    verbs_of(&pieme, &mut pages);
    pages
}

/// Adds the pages of all subcommands, recursively.
fn verbs_of(command: &Command, pages: &mut Vec<(String, String)>) {
    for verb in page::visible_verbs(command) {
        pages.push((file_name(verb, 1), page::of_verb(verb, command)));
        verbs_of(verb, pages);
    }
}

fn file_name(command: &Command, section: u8) -> String {
    format!("{}.{section}", page::name_of(command))
}
