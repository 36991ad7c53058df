//! PURE: published rows → the bytes of a file that other programs read. Rows come in parts and leave at once, so that a file may be
//! of any size.

mod sqlite;
mod fields;
mod csv;
mod json;
mod parquet;
pub mod feed;

use std::io::{self, Write};
use std::path::Path;

use crate::model::TaskName;
use crate::store::{Rows, StoreError};

pub use self::sqlite::SqliteWriter;
pub use fields::{OutputCell, OutputField, OutputFields, OutputKind};

/// The kinds of files that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Csv,
    Json,
    Jsonl,
    Parquet,
    Sqlite,
    /// What changed, not the rows.
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

    /// What a file's name says that it is.
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

/// What a person wants of the columns.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnOptions {
    /// Only the texts as found, no values.
    pub texts: bool,
    /// CSV without apostrophes before what a spreadsheet would take for a formula.
    pub raw: bool,
    /// Each record says which task it is of.
    pub several: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("a Parquet file of this cannot be written: {0}")]
    Parquet(String),
}

impl ExportError {
    /// Whoever read along has left: no error, but the end.
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

/// A file that is being written.
pub trait RowWriter {
    /// The rows that follow are of this task, and have the columns of this part, which has no rows yet.
    fn begin(&mut self, task: &TaskName, heading: &Rows) -> Result<(), ExportError>;

    fn write_rows(&mut self, rows: &Rows) -> Result<(), ExportError>;

    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// A writer of rows into a stream of bytes; none for an SQLite file, which is no stream, and for feeds, which have no rows.
pub fn writer(format: Format, choices: ColumnOptions, out: Box<dyn Write + Send>) -> Option<Box<dyn RowWriter>> {
    Some(match format {
        Format::Csv => Box::new(csv::CsvWriter::new(out, choices)),
        Format::Json => Box::new(json::JsonWriter::array(out, choices)),
        Format::Jsonl => Box::new(json::JsonWriter::lines(out, choices)),
        Format::Parquet => Box::new(parquet::ParquetWriter::new(out, choices)),
        Format::Sqlite | Format::Rss | Format::Atom => return None,
    })
}
