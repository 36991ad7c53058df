//! What people type: one file a verb. The only place that prints.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the command line is where pieme speaks")]

mod learn;
mod extract;
mod explain;

use std::path::Path;

use clap::{Parser, Subcommand};

use crate::page::{Tree, charset};

/// Keeps tables out of web sites fresh, and knows when a site has changed under it.
#[derive(Parser)]
#[command(name = "pieme", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Learn(learn::Args),
    Extract(extract::Args),
    Explain(explain::Args),
}

/// Usage, and files that are missing or unreadable.
const USAGE: u8 = 2;
/// A person must say something first.
const NEEDS_PERSON: u8 = 3;

/// Parses what was typed and does it; the exit code of SPEC section 5.
pub fn run() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { USAGE } else { 0 };
            // Nothing can be said when even standard error is closed.
            let _ = error.print();
            return code;
        }
    };
    match cli.verb {
        Verb::Learn(args) => learn::run(args),
        Verb::Extract(args) => extract::run(args),
        Verb::Explain(args) => explain::run(args),
    }
}

/// Reads a page from a file; the error is one sentence for a person.
fn read_page(path: &Path) -> Result<Tree, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read the page {}: {error}", path.display()))?;
    Ok(Tree::parse(&charset::decode(&bytes, None).text))
}

/// Prints to standard output; a reader that has gone away (`| head`) is no error.
fn print(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

fn refuse(sentence: &str) -> u8 {
    eprintln!("pieme: {sentence}");
    USAGE
}
