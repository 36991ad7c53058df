//! SQLite export: one plain table per task, named as the task.

use std::path::Path;

use super::fields::instant;
use super::{ColumnOptions, ExportError, OutputCell, OutputFields, OutputKind, RowWriter};
use crate::model::TaskName;
use crate::store::{Affinity, Rows, Scalar, TableFile};

pub struct SqliteWriter {
    file: TableFile,
    choices: ColumnOptions,
    fields: OutputFields,
}

impl SqliteWriter {
    /// Creates a new file; there must be none at the path.
    pub fn create(path: &Path, choices: ColumnOptions) -> Result<SqliteWriter, ExportError> {
        Ok(SqliteWriter { file: TableFile::create(path)?, choices, fields: OutputFields::default() })
    }
}

impl RowWriter for SqliteWriter {
    fn begin(&mut self, task: &TaskName, heading: &Rows) -> Result<(), ExportError> {
        self.fields = OutputFields::of(heading, self.choices);
        let columns: Vec<(&str, Affinity)> =
            self.fields.iter().map(|field| (field.name.as_str(), affinity(field.kind))).collect();
        Ok(self.file.begin(task, &columns)?)
    }

    fn write_rows(&mut self, rows: &Rows) -> Result<(), ExportError> {
        for row in 0..rows.table.rows.len() {
            let instants: Vec<OutputCell<'_>> =
                self.fields.iter().map(|field| text_of_instant(field.cell(rows, row))).collect();
            self.file.insert(instants.iter().map(scalar))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.file.finish()?)
    }
}

fn affinity(kind: OutputKind) -> Affinity {
    match kind {
        OutputKind::Text | OutputKind::Date | OutputKind::Instant => Affinity::Text,
        OutputKind::Int | OutputKind::Bool => Affinity::Integer,
        OutputKind::Number => Affinity::Real,
    }
}

fn text_of_instant(cell: OutputCell<'_>) -> OutputCell<'_> {
    match cell {
        OutputCell::Instant(at) => OutputCell::Text(instant(at).into()),
        other => other,
    }
}

fn scalar<'c>(cell: &'c OutputCell<'_>) -> Scalar<'c> {
    match cell {
        // Instants are texts by now.
        OutputCell::Empty | OutputCell::Instant(_) => Scalar::Null,
        OutputCell::Text(text) => Scalar::Text(text),
        OutputCell::Date(date) => Scalar::Text(date),
        OutputCell::Int(number) => Scalar::Int(*number),
        OutputCell::Number(number) => Scalar::Number(*number),
        OutputCell::Bool(is_so) => Scalar::Int(i64::from(*is_so)),
    }
}
