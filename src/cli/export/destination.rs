//! Where an exported file goes. It is written beside its place under another name, and gets its own when it is whole: what is there
//! before stays until then, and half a file is never seen.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::export::ExportError;

/// Written at a time.
const BUFFER: usize = 64 << 10;

pub enum Destination {
    Stdout,
    /// A file, there already or not.
    File(PathBuf),
    /// A pipe or a device, which must not be replaced by a file.
    Stream(PathBuf),
}

/// What can be written to.
pub struct ExportSink<'t> {
    pub stream: Box<dyn Write + Send>,
    /// Of the same file, empty so far; absent where it is none.
    pub path: Option<&'t Path>,
}

impl Destination {
    pub fn of(path: &Path) -> Destination {
        // A link stays a link.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&real) {
            Ok(meta) if !meta.is_file() => Destination::Stream(real),
            Ok(_) | Err(_) => Destination::File(real),
        }
    }

    /// Absent for stdout.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Destination::Stdout => None,
            Destination::File(path) | Destination::Stream(path) => Some(path),
        }
    }

    pub fn write(&self, write: impl FnOnce(ExportSink<'_>) -> Result<(), ExportError>) -> Result<(), ExportError> {
        match self {
            Destination::Stdout => write(ExportSink { stream: buffered(io::stdout()), path: None }),
            Destination::Stream(path) => {
                write(ExportSink { stream: buffered(OpenOptions::new().write(true).open(path)?), path: None })
            }
            Destination::File(path) => {
                let draft = temporary_file(path)?;
                write(ExportSink { stream: buffered(draft.reopen()?), path: Some(draft.path()) })?;
                draft.as_file().sync_all()?;
                draft.persist(path).map_err(|error| error.error)?;
                Ok(File::open(folder_of(path))?.sync_all()?)
            }
        }
    }

    /// What went wrong, in a sentence.
    pub fn error_sentence(&self, error: &ExportError) -> String {
        let Some(path) = self.path() else { return format!("the rows cannot be written: {error}") };
        let path = path.display();
        if error.is_full_disk() {
            return format!("the disk is full; {path} was not written, and what was there is as it was");
        }
        format!("{path} cannot be written: {error}")
    }
}

fn buffered(out: impl Write + Send + 'static) -> Box<dyn Write + Send> {
    Box::new(BufWriter::with_capacity(BUFFER, out))
}

/// In the same folder, so that it can be renamed; gone by itself when it does not come to that.
fn temporary_file(path: &Path) -> io::Result<NamedTempFile> {
    // As any new file: what the umask leaves.
    let anybody = Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".pieme-export-").permissions(anybody).tempfile_in(folder_of(path))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
