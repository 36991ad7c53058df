//! Destination of an export. A file is written under a temporary name beside its place and renamed when it is complete,
//! so that a reader never sees half a file.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::cli::output::SafeStdout;
use crate::export::ExportError;

/// Bytes per write.
const BUFFER: usize = 64 << 10;

pub(super) enum Destination {
    Stdout,
    /// A regular file; it need not exist.
    File(PathBuf),
    /// A pipe or a device, which must not be replaced by a file.
    Stream(PathBuf),
}

/// Where the rows are written.
pub(super) struct ExportSink<'t> {
    pub stream: Box<dyn Write + Send>,
    /// Path of the file behind `stream`, still empty; none for a pipe or device.
    pub path: Option<&'t Path>,
}

impl Destination {
    pub fn of(path: &Path) -> Destination {
        // Resolved, so that the rename replaces the target of a symbolic link and not the link.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&real) {
            Ok(meta) if !meta.is_file() => Destination::Stream(real),
            Ok(_) | Err(_) => Destination::File(real),
        }
    }

    /// None for stdout.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Destination::Stdout => None,
            Destination::File(path) | Destination::Stream(path) => Some(path),
        }
    }

    pub fn write(&self, write: impl FnOnce(ExportSink<'_>) -> Result<(), ExportError>) -> Result<(), ExportError> {
        match self {
            Destination::Stdout => write(ExportSink { stream: buffered(SafeStdout::new()), path: None }),
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

    /// The error as a sentence for the person.
    pub fn error_sentence(&self, error: &ExportError) -> String {
        let Some(path) = self.path() else { return format!("cannot write the rows: {error}") };
        let path = path.display();
        if error.is_full_disk() {
            return format!("the disk is full; {path} was not changed");
        }
        format!("cannot write {path}: {error}")
    }
}

fn buffered(out: impl Write + Send + 'static) -> Box<dyn Write + Send> {
    Box::new(BufWriter::with_capacity(BUFFER, out))
}

/// In the same folder, so that it can be renamed; removed on drop if it was not.
fn temporary_file(path: &Path) -> io::Result<NamedTempFile> {
    // The umask applies, as for any new file.
    let anybody = Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".pieme-export-").permissions(anybody).tempfile_in(folder_of(path))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
