//! SQLite export: one plain table per task, named as the task.

use std::path::Path;

use super::{ColumnOptions, ExportError, OutputCell, OutputFields, OutputKind, RowWriter};
use crate::model::TaskName;
use crate::store::{Rows, SqlValue, TableFile};

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
        let columns: Vec<(&str, &str)> =
            self.fields.iter().map(|field| (field.name.as_str(), affinity(field.kind))).collect();
        Ok(self.file.begin(task, &columns)?)
    }

    fn write_rows(&mut self, rows: &Rows) -> Result<(), ExportError> {
        for row in 0..rows.table.rows.len() {
            self.file.insert(self.fields.iter().map(|field| sql_value(field.cell(rows, row))))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.file.finish()?)
    }
}

fn affinity(kind: OutputKind) -> &'static str {
    match kind {
        OutputKind::Text | OutputKind::Date | OutputKind::Instant => "TEXT",
        OutputKind::Int | OutputKind::Bool => "INTEGER",
        OutputKind::Number => "REAL",
    }
}

fn sql_value(cell: OutputCell<'_>) -> SqlValue<'_> {
    match cell {
        OutputCell::Empty => SqlValue::Null,
        OutputCell::Text(text) => SqlValue::Text(text),
        OutputCell::Date(date) => SqlValue::Text(date.into()),
        OutputCell::Int(number) => SqlValue::Int(number),
        OutputCell::Number(number) => SqlValue::Real(number),
        OutputCell::Bool(is_so) => SqlValue::Bool(is_so),
        OutputCell::Instant(at) => SqlValue::Time(at),
    }
}
