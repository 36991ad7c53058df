//! Parquet, through the official crate. Rows are collected into row groups of bounded size; a group is written column
//! by column.

mod column;

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{ColumnOptions, ExportError, OutputFields, RowWriter};
use crate::model::TaskName;
use crate::store::Rows;
use column::ParquetColumn;

/// Memory of a row group's cells before they are written. Readers prefer larger groups, but a whole one is held in
/// memory.
const GROUP_BYTES: usize = 16 << 20;

pub(super) struct ParquetWriter<W: Write + Send> {
    state: FileState<W>,
    choices: ColumnOptions,
    fields: OutputFields,
    columns: Vec<ParquetColumn>,
    bytes: usize,
}

/// The columns are known only when the first rows are about to come.
enum FileState<W: Write + Send> {
    New(W),
    Begun(Box<SerializedFileWriter<W>>),
    Broken,
}

impl<W: Write + Send> ParquetWriter<W> {
    pub fn new(out: W, choices: ColumnOptions) -> ParquetWriter<W> {
        ParquetWriter {
            state: FileState::New(out),
            choices,
            fields: OutputFields::default(),
            columns: Vec::new(),
            bytes: 0,
        }
    }

    fn write_group(&mut self) -> Result<(), ExportError> {
        let FileState::Begun(file) = &mut self.state else { return Ok(()) };
        let mut group = file.next_row_group().map_err(export_error)?;
        for column in &mut self.columns {
            let place = group.next_column().map_err(export_error)?;
            let mut place =
                place.ok_or_else(|| ExportError::Parquet("it has fewer columns than its schema".to_owned()))?;
            column.write(&mut place).map_err(export_error)?;
            place.close().map_err(export_error)?;
        }
        group.close().map_err(export_error)?;
        self.bytes = 0;
        Ok(())
    }
}

impl<W: Write + Send> RowWriter for ParquetWriter<W> {
    fn begin(&mut self, task: &TaskName, heading: &Rows) -> Result<(), ExportError> {
        self.fields = OutputFields::of(heading, self.choices);
        self.columns = self.fields.iter().enumerate().flat_map(|(at, field)| ParquetColumn::of(at, field)).collect();
        let types = self.columns.iter().map(|column| column.schema().map(Arc::new)).collect::<Result<_, _>>();
        let schema = Type::group_type_builder(task.as_str()).with_fields(types.map_err(export_error)?).build();
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let FileState::New(out) = std::mem::replace(&mut self.state, FileState::Broken) else {
            return Err(ExportError::Parquet("a Parquet file holds one task".to_owned()));
        };
        let schema = Arc::new(schema.map_err(export_error)?);
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(export_error)?;
        self.state = FileState::Begun(Box::new(file));
        Ok(())
    }

    fn write_rows(&mut self, rows: &Rows) -> Result<(), ExportError> {
        for row in 0..rows.table.rows.len() {
            for column in &mut self.columns {
                self.bytes += column.push_cell(&self.fields.0[column.field].cell(rows, row));
            }
            if self.bytes >= GROUP_BYTES {
                self.write_group()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        if self.bytes > 0 {
            self.write_group()?;
        }
        if let FileState::Begun(file) = self.state {
            // Also flushes the underlying writer.
            file.close().map_err(export_error)?;
        }
        Ok(())
    }
}

/// Returns the I/O error of a pipe or a disk, where there is one inside.
fn export_error(error: ParquetError) -> ExportError {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => ExportError::Io(*error),
            Err(other) => ExportError::Parquet(other.to_string()),
        },
        other => ExportError::Parquet(other.to_string()),
    }
}
