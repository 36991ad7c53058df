//! `pieme curl2robot` and `pieme har2robot`: draft a robot.toml from a copied cURL command or a recorded HAR file. The
//! draft is printed, or written into a new task folder, and the secrets to store are listed.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::file_writer::{WriteTarget, write_new};
use super::{CliError, PageSandbox, VerbResult, exit, output, task_name};
use crate::draft::{self, Draft, HarError, MAX_CURL_BYTES, MAX_HAR_BYTES};
use crate::tasks::{self, ROBOT_FILE, TASK_FILE};

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
pub(super) struct CurlArgs {
    /// File with the command; default, or `-`: stdin
    file: Option<PathBuf>,
    /// The command itself
    #[arg(last = true, value_name = "CURL COMMAND")]
    words: Vec<String>,
    #[command(flatten)]
    output: DraftOutput,
}

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
pub(super) struct HarArgs {
    /// The HAR file
    file: PathBuf,
    #[command(flatten)]
    output: DraftOutput,
}

#[derive(clap::Args)]
struct DraftOutput {
    /// Write task.toml and robot.toml into this new task folder; nothing is overwritten
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON: both files and the names of the secrets
    #[arg(long)]
    json: bool,
}

/// robot.toml first: a folder becomes a task by its task.toml.
const FILES: [&str; 2] = [ROBOT_FILE, TASK_FILE];

impl DraftOutput {
    /// The files that will be written.
    fn targets(&self) -> Vec<WriteTarget> {
        let dirs = self.output.iter();
        dirs.flat_map(|dir| FILES.map(|file| WriteTarget::NewFile(dir.join(file)))).collect()
    }
}

pub(super) fn from_curl(args: &CurlArgs) -> VerbResult {
    let draft = if args.words.is_empty() {
        draft::from_curl(&pasted(args)?)
    } else if args.file.is_some() {
        return Err(CliError::usage("give the command after `--` or in a file, not both"));
    } else {
        draft::from_curl_words(&args.words)
    };
    let write = |_, path: &Path, bytes: &[u8]| write_new(path, bytes).map_err(|error| error.to_string());
    print_or_write(&draft.map_err(CliError::usage)?, &args.output, write)
}

fn pasted(args: &CurlArgs) -> Result<String, CliError> {
    let from: Box<dyn Read> = match args.file.as_ref().filter(|file| file.as_os_str() != "-") {
        Some(file) => Box::new(open(file)?),
        None => {
            if std::io::stdin().is_terminal() {
                output::note("Paste the command, then press Ctrl-D.");
            }
            Box::new(std::io::stdin())
        }
    };
    let mut bytes = Vec::new();
    let read = from.take(MAX_CURL_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| CliError::usage(format!("cannot read the command: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn from_har(args: &HarArgs) -> VerbResult {
    let file = open(&args.file)?;
    // Refused before it is read, which would take seconds. A pipe has no length: its bytes are counted while reading.
    let is_too_large = file.metadata().is_ok_and(|meta| meta.len() > MAX_HAR_BYTES);
    let mut sandbox = PageSandbox::enter_with_targets(&[], &args.output.targets())?;
    let read = if is_too_large { Err(HarError::TooLarge) } else { draft::from_har(file) };
    let draft = read.map_err(|error| CliError::usage(format!("{}: {error}", args.file.display())))?;
    print_or_write(&draft, &args.output, |file, _, bytes| sandbox.write(file, bytes))
}

/// `write_file` gets the index of the target, its path and the text.
fn print_or_write(
    draft: &Draft,
    output: &DraftOutput,
    write_file: impl FnMut(usize, &Path, &[u8]) -> Result<(), String>,
) -> VerbResult {
    for problem in tasks::check_script(&draft.task(), &draft.script()) {
        output::note(format!("pieme: step {}: {}", problem.step(), problem.message));
    }
    if let Some(dir) = &output.output {
        write(draft, dir, write_file)?;
    }
    if output.json {
        let secrets: Vec<_> =
            draft.secrets.iter().map(|it| json!({ "name": it.name, "what": it.description })).collect();
        output::json(&json!({ "robot": draft.robot_toml(), "task": draft.task_toml(), "secrets": secrets }));
    } else if output.output.is_none() {
        output::say(draft.robot_toml().trim_end());
    }
    let task = output.output.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    note_secrets(draft, task.as_deref().unwrap_or("TASK"));
    Ok(exit::DONE)
}

fn open(file: &Path) -> Result<File, CliError> {
    File::open(file).map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))
}

/// Lists the commands that store the secrets. Values are never printed: the person fills them in.
fn note_secrets(draft: &Draft, task: &str) {
    if draft.secrets.is_empty() {
        return;
    }
    output::note("\nSecrets were left out. Store each, in the folder of config.toml; the value is asked for:");
    for (command, description) in draft.secret_commands(task) {
        output::note(format!("  {command}   # {}", output::cell(description, 120)));
    }
}

fn write(
    draft: &Draft,
    dir: &Path,
    mut write_file: impl FnMut(usize, &Path, &[u8]) -> Result<(), String>,
) -> Result<(), CliError> {
    task_name(&dir.file_name().unwrap_or_default().to_string_lossy())?;
    if let Some(file) = FILES.iter().rev().find(|file| dir.join(file).symlink_metadata().is_ok()) {
        let sentence =
            format!("{} exists already and nothing is overwritten; choose another folder", dir.join(file).display());
        return Err(CliError::usage(sentence));
    }
    for (index, (file, text)) in FILES.iter().zip([draft.robot_toml(), draft.task_toml()]).enumerate() {
        let path = dir.join(file);
        write_file(index, &path, text.as_bytes())
            .map_err(|error| CliError::failed(format!("cannot write {}: {error}", path.display())))?;
        output::note(format!("Wrote {}", path.display()));
    }
    Ok(())
}
