//! `pieme curl2robot`: drafts a robot.toml from a copied cURL command.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use super::draft_output;
use super::draft_output::DraftOutput;
use super::{CliError, VerbResult, exit, exit_code, output};
use crate::draft::{self, CurlError, MAX_CURL_BYTES};

/// Draft a robot.toml from a copied cURL command
///
/// The command follows `--`, or is read from a file or stdin, as the browser's “Copy as cURL” writes it, for bash or
/// for Windows' cmd. Passwords, keys and tokens are replaced by `${secret:NAME}`, and the files to store them in are
/// listed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme curl2robot -- curl 'https://shop.example/list?page=2' -H 'x-requested-with: XMLHttpRequest'
  pieme curl2robot copied.txt -o tasks/shop      writes task.toml and robot.toml into tasks/shop
  xclip -o | pieme curl2robot > tasks/shop/robot.toml")]
pub(super) struct Args {
    /// File with the command; default, or `-`: stdin
    file: Option<PathBuf>,
    /// The command itself
    #[arg(last = true, value_name = "CURL COMMAND")]
    words: Vec<String>,
    #[command(flatten)]
    output: DraftOutput,
}

pub(super) fn run(args: Args) -> u8 {
    exit_code(draft(&args))
}

fn draft(args: &Args) -> VerbResult {
    let draft = if args.words.is_empty() {
        draft::from_curl(&pasted(args)?)
    } else if args.file.is_some() {
        return Err(CliError::new(exit::USAGE, "give the command after `--` or in a file, not both"));
    } else {
        draft::from_curl_words(&args.words)
    };
    let draft = draft.map_err(|error: CurlError| CliError::new(exit::USAGE, error.to_string()))?;
    draft_output::print_or_write(&draft, &args.output)
}

fn pasted(args: &Args) -> Result<String, CliError> {
    let from: Box<dyn Read> = match args.file.as_ref().filter(|file| file.as_os_str() != "-") {
        Some(file) => Box::new(std::fs::File::open(file).map_err(|error| draft_output::unreadable(file, &error))?),
        None => {
            if std::io::stdin().is_terminal() {
                output::note("Paste the command, then press Ctrl-D.");
            }
            Box::new(std::io::stdin())
        }
    };
    let mut bytes = Vec::new();
    let most = MAX_CURL_BYTES as u64 + 1;
    from.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::new(exit::USAGE, format!("cannot read the command: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
