//! An SQLite file: a plain table a task, named as the task.

use std::path::Path;

use super::fields::instant;
use super::{Cell, Choices, ExportError, Fields, Kind, Writer};
use crate::model::TaskName;
use crate::store::{Affinity, Rows, Scalar, TableFile};

pub struct TableWriter {
    file: TableFile,
    choices: Choices,
    fields: Fields,
}

impl TableWriter {
    /// Makes a new file, at a place where there is none.
    pub fn create(path: &Path, choices: Choices) -> Result<TableWriter, ExportError> {
        Ok(TableWriter { file: TableFile::create(path)?, choices, fields: Fields::default() })
    }
}

impl Writer for TableWriter {
    fn begin(&mut self, task: &TaskName, heading: &Rows) -> Result<(), ExportError> {
        self.fields = Fields::of(heading, self.choices);
        let columns: Vec<(&str, Affinity)> =
            self.fields.iter().map(|field| (field.name.as_str(), affinity(field.kind))).collect();
        Ok(self.file.begin(task, &columns)?)
    }

    fn take(&mut self, rows: &Rows) -> Result<(), ExportError> {
        for row in 0..rows.table.rows.len() {
            let instants: Vec<Cell<'_>> =
                self.fields.iter().map(|field| text_of_instant(field.cell(rows, row))).collect();
            self.file.insert(instants.iter().map(scalar))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.file.finish()?)
    }
}

fn affinity(kind: Kind) -> Affinity {
    match kind {
        Kind::Text | Kind::Date | Kind::Instant => Affinity::Text,
        Kind::Int | Kind::Bool => Affinity::Integer,
        Kind::Number => Affinity::Real,
    }
}

fn text_of_instant(cell: Cell<'_>) -> Cell<'_> {
    match cell {
        Cell::Instant(at) => Cell::Text(instant(at).into()),
        other => other,
    }
}

fn scalar<'c>(cell: &'c Cell<'_>) -> Scalar<'c> {
    match cell {
        // An instant is a text by now.
        Cell::Empty | Cell::Instant(_) => Scalar::Null,
        Cell::Text(text) => Scalar::Text(text),
        Cell::Date(date) => Scalar::Text(date),
        Cell::Int(number) => Scalar::Int(*number),
        Cell::Number(number) => Scalar::Number(*number),
        Cell::Bool(is_so) => Scalar::Int(i64::from(*is_so)),
    }
}
