//! PURE: published rows → the bytes of a file that other programs read. Rows are written as they come, in parts, so
//! that a file may be of any size.

mod csv;
pub mod feed;
mod fields;
mod json;
mod parquet;
mod sqlite;

use std::io::{self, Write};
use std::path::Path;

use crate::model::TaskName;
use crate::store::{Rows, StoreError};

pub use fields::{OutputCell, OutputField, OutputFields, OutputKind};
pub use sqlite::SqliteWriter;

/// The file formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Csv,
    Json,
    Jsonl,
    Parquet,
    Sqlite,
    /// The changes, not the rows.
    Rss,
    Atom,
}

impl Format {
    pub const ALL: &'static [Format] =
        &[Format::Csv, Format::Json, Format::Jsonl, Format::Parquet, Format::Sqlite, Format::Rss, Format::Atom];

    pub fn word(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Jsonl => "jsonl",
            Format::Parquet => "parquet",
            Format::Sqlite => "sqlite",
            Format::Rss => "rss",
            Format::Atom => "atom",
        }
    }

    /// The format that a file's name implies.
    pub fn of(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "ndjson" => Some(Format::Jsonl),
            "db" | "sqlite3" => Some(Format::Sqlite),
            other => Format::ALL.iter().copied().find(|format| format.word() == other),
        }
    }

    /// Whether one file can hold tasks whose columns differ.
    pub fn holds_several(self) -> bool {
        match self {
            Format::Json | Format::Jsonl | Format::Sqlite | Format::Rss | Format::Atom => true,
            Format::Csv | Format::Parquet => false,
        }
    }
}

/// Options for the columns of an export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnOptions {
    /// Only the texts as found, no values.
    pub texts: bool,
    /// CSV without apostrophes before cells that a spreadsheet would read as formulas.
    pub raw: bool,
    /// Each record names its task.
    pub several: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("writing the Parquet file failed: {0}")]
    Parquet(String),
}

impl ExportError {
    /// Whether the reader of a pipe has closed it: the end, not an error.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, ExportError::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub fn is_full_disk(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        match self {
            ExportError::Io(error) => full.contains(&error.kind()),
            ExportError::Store(error) => matches!(error, StoreError::DiskFull(_)),
            ExportError::Parquet(_) => false,
        }
    }
}

/// Writes rows into a file.
pub trait RowWriter {
    /// Begins a task. `heading` has the columns of the rows that follow, and no rows.
    fn begin(&mut self, task: &TaskName, heading: &Rows) -> Result<(), ExportError>;

    fn write_rows(&mut self, rows: &Rows) -> Result<(), ExportError>;

    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// A writer of rows into a stream of bytes; none for an SQLite file, which is no stream, and for feeds, which have no
/// rows.
pub fn writer(format: Format, choices: ColumnOptions, out: Box<dyn Write + Send>) -> Option<Box<dyn RowWriter>> {
    Some(match format {
        Format::Csv => Box::new(csv::CsvWriter::new(out, choices)),
        Format::Json => Box::new(json::JsonWriter::new(out, choices, json::ARRAY)),
        Format::Jsonl => Box::new(json::JsonWriter::new(out, choices, json::LINES)),
        Format::Parquet => Box::new(parquet::ParquetWriter::new(out, choices)),
        Format::Sqlite | Format::Rss | Format::Atom => return None,
    })
}
