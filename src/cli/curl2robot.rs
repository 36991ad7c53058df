//! `pieme curl2robot`: a copied cURL command → the draft of a robot.toml.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use super::draft_output;
use super::draft_output::DraftOutput;
use super::{CliError, VerbResult, exit, exit_code, output};
use crate::draft::{self, CurlError, MAX_CURL_BYTES};

/// Turn a copied cURL command into a robot.toml to begin with
///
/// The command comes after `--`, from a file, or from stdin, as the browser's “Copy as cURL” gives it, for bash or for Windows'
/// cmd. Passwords, keys and tokens are not written: `${secret:NAME}` stands for each, and it is said which file to make.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pieme curl2robot -- curl 'https://shop.example/list?page=2' -H 'x-requested-with: XMLHttpRequest'
  pieme curl2robot copied.txt -o tasks/shop      writes tasks/shop/task.toml and robot.toml, if they are not there
  xclip -o | pieme curl2robot > tasks/shop/robot.toml")]
pub struct Args {
    /// The file with the command; absent or `-`: stdin
    file: Option<PathBuf>,
    /// The command itself
    #[arg(last = true, value_name = "CURL COMMAND")]
    words: Vec<String>,
    #[command(flatten)]
    output: DraftOutput,
}

pub fn run(args: Args) -> u8 {
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
                output::note("paste the command, then press Ctrl-D");
            }
            Box::new(std::io::stdin())
        }
    };
    let mut bytes = Vec::new();
    let most = MAX_CURL_BYTES as u64 + 1;
    from.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::new(exit::USAGE, format!("the command cannot be read: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
