//! A process that writes the results of a sandboxed command, which can open no file for writing. It is started before
//! the sandbox and writes only to the files that it was started with.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use crate::daemon::child::spawn::THIS_PROGRAM;
use crate::model::Table;
use crate::tasks;

use super::CliError;

/// The argument that makes the program a file writer.
pub const WRITE_FILES: &str = "write-files";

/// Maximum size of a file; the expected rows of a sample may be as large as its page.
const MAX_BYTES: u64 = 64 << 20;

/// Where a file writer may write.
pub(super) enum WriteTarget {
    /// A file that is replaced if it exists.
    File(PathBuf),
    /// A file that must not exist; its folder is created.
    NewFile(PathBuf),
    /// The expected rows of the samples of a task folder.
    Samples(PathBuf),
}

impl WriteTarget {
    fn word(&self) -> (&'static str, &Path) {
        match self {
            WriteTarget::File(path) => ("file", path),
            WriteTarget::NewFile(path) => ("new", path),
            WriteTarget::Samples(path) => ("samples", path),
        }
    }

    fn from_words(word: &OsString, path: OsString) -> Option<WriteTarget> {
        let path = PathBuf::from(path);
        match word.to_str()? {
            "file" => Some(WriteTarget::File(path)),
            "new" => Some(WriteTarget::NewFile(path)),
            "samples" => Some(WriteTarget::Samples(path)),
            _ => None,
        }
    }

    fn write(&self, request: &WriteRequest, bytes: &[u8]) -> Result<(), String> {
        let in_words = |error: io::Error| error.to_string();
        match self {
            WriteTarget::File(path) => fs::write(path, bytes).map_err(in_words),
            WriteTarget::NewFile(path) => write_new(path, bytes).map_err(in_words),
            WriteTarget::Samples(dir) => {
                let expected: Table = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
                tasks::write_expected_rows(dir, request.sample, &expected).map_err(|error| error.to_string())
            }
        }
    }
}

/// Creates the file and its folder; an existing file is an error.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::File::create_new(path)?.write_all(bytes)
}

/// One line of JSON, followed by the bytes to write. The answer is a line, too: null, or why it failed.
#[derive(Serialize, Deserialize)]
struct WriteRequest {
    /// Index of the target.
    target: usize,
    /// Number of the sample.
    sample: u32,
    bytes: u64,
}

/// The command's end of a file writer. It exits when this is dropped.
pub(super) struct FileWriter {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    _process: Child,
}

impl FileWriter {
    /// Must be called before the sandbox is entered.
    pub(super) fn start(targets: &[WriteTarget]) -> Result<FileWriter, CliError> {
        let words = targets.iter().flat_map(|target| {
            let (word, path) = target.word();
            [word.into(), path.as_os_str().to_owned()]
        });
        let words: Vec<OsString> = words.collect();
        let mut process = Command::new(THIS_PROGRAM)
            .arg(WRITE_FILES)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| CliError::failed(format!("cannot start the process that writes files: {error}")))?;
        let to = process.stdin.take().expect("stdin is piped");
        let from = BufReader::new(process.stdout.take().expect("stdout is piped"));
        Ok(FileWriter { to, from, _process: process })
    }

    /// Writes to a target; `sample` matters for [`WriteTarget::Samples`] only.
    pub(super) fn write(&mut self, target: usize, sample: u32, bytes: &[u8]) -> Result<(), String> {
        let request = WriteRequest { target, sample, bytes: bytes.len() as u64 };
        self.exchange(&request, bytes).unwrap_or_else(|error| Err(format!("the process that writes files: {error}")))
    }

    fn exchange(&mut self, request: &WriteRequest, bytes: &[u8]) -> io::Result<Result<(), String>> {
        let mut message = serde_json::to_vec(request)?;
        message.push(b'\n');
        self.to.write_all(&message)?;
        self.to.write_all(bytes)?;
        self.to.flush()?;
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        let problem: Option<String> = serde_json::from_str(&answer)?;
        Ok(problem.map_or(Ok(()), Err))
    }
}

/// The file writer: `write-files KIND PATH …`. The process that sends the requests has read untrusted pages.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut targets = Vec::new();
    while let (Some(word), Some(path)) = (args.next(), args.next()) {
        let Some(target) = WriteTarget::from_words(&word, path) else { return ExitCode::FAILURE };
        targets.push(target);
    }
    match serve(&targets, &mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(targets: &[WriteTarget], from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    loop {
        let mut line = Vec::new();
        // A request has fewer bytes.
        if from.by_ref().take(1_000).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let request: WriteRequest = serde_json::from_slice(&line)?;
        let target = targets.get(request.target).ok_or_else(|| io::Error::other("no such target"))?;
        if request.bytes > MAX_BYTES {
            return Err(io::Error::other("too large"));
        }
        let mut bytes = Vec::new();
        from.by_ref().take(request.bytes).read_to_end(&mut bytes)?;
        // The sender may have ended in the middle.
        if bytes.len() as u64 != request.bytes {
            return Ok(());
        }
        let answer = serde_json::to_string(&target.write(&request, &bytes).err())?;
        writeln!(to, "{answer}")?;
        to.flush()?;
    }
}
