//! Where an exported file goes. It is written beside its place under another name, and gets its own when it is whole: what is there
//! before stays until then, and half a file is never seen.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::export::{self, Choices, ExportError, Format, TableWriter, Writer};

/// Written at a time.
const BUFFER: usize = 64 << 10;

pub enum Place {
    Stdout,
    /// A file, there already or not.
    File(PathBuf),
    /// A pipe or a device, which must not be replaced by a file.
    Stream(PathBuf),
}

impl Place {
    pub fn of(path: &Path) -> Place {
        // A link stays a link.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&real) {
            Ok(meta) if !meta.is_file() => Place::Stream(real),
            Ok(_) | Err(_) => Place::File(real),
        }
    }

    /// Absent for stdout.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Place::Stdout => None,
            Place::File(path) | Place::Stream(path) => Some(path),
        }
    }

    pub fn write(
        &self,
        format: Format,
        choices: Choices,
        fill: &mut dyn FnMut(&mut dyn Writer) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        match self {
            Place::Stdout => write_stream(io::stdout(), format, choices, fill),
            Place::Stream(path) => write_stream(OpenOptions::new().write(true).open(path)?, format, choices, fill),
            Place::File(path) => {
                let draft = draft_beside(path)?;
                match format {
                    Format::Sqlite => finish(Box::new(TableWriter::create(draft.path(), choices)?), fill)?,
                    _ => write_stream(draft.reopen()?, format, choices, fill)?,
                }
                draft.as_file().sync_all()?;
                draft.persist(path).map_err(|error| error.error)?;
                Ok(File::open(folder_of(path))?.sync_all()?)
            }
        }
    }

    /// What went wrong, in a sentence.
    pub fn trouble(&self, error: &ExportError) -> String {
        let Some(path) = self.path() else { return format!("the rows cannot be written: {error}") };
        let path = path.display();
        if error.is_full_disk() {
            return format!("the disk is full; {path} was not written, and what was there is as it was");
        }
        format!("{path} cannot be written: {error}")
    }
}

fn write_stream(
    out: impl Write + Send + 'static,
    format: Format,
    choices: Choices,
    fill: &mut dyn FnMut(&mut dyn Writer) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let writer = export::writer(format, choices, BufWriter::with_capacity(BUFFER, out));
    let writer = writer.ok_or_else(|| io::Error::other("an SQLite file cannot be a stream"))?;
    finish(writer, fill)
}

fn finish(
    mut writer: Box<dyn Writer>,
    fill: &mut dyn FnMut(&mut dyn Writer) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    fill(&mut *writer)?;
    writer.finish()
}

/// In the same folder, so that it can be renamed; gone by itself when it does not come to that.
fn draft_beside(path: &Path) -> io::Result<NamedTempFile> {
    // As any new file: what the umask leaves.
    let anybody = Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".pieme-export-").permissions(anybody).tempfile_in(folder_of(path))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
