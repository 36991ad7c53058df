//! JSON: an array of objects, or one object per line. Values have JSON's types; every object has every name.

use std::io::Write;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::fields::instant;
use super::{ColumnOptions, ExportError, OutputCell, OutputFields, RowWriter};
use crate::model::TaskName;
use crate::store::Rows;

/// Text before the first record, between two, and after the last.
pub(super) const ARRAY: [&str; 3] = ["[\n", ",\n", "\n]\n"];
pub(super) const LINES: [&str; 3] = ["", "\n", "\n"];

pub(super) struct JsonWriter<W: Write> {
    out: W,
    choices: ColumnOptions,
    delimiters: [&'static str; 3],
    task: Option<TaskName>,
    fields: OutputFields,
    is_first: bool,
}

impl<W: Write> JsonWriter<W> {
    pub fn new(out: W, choices: ColumnOptions, delimiters: [&'static str; 3]) -> JsonWriter<W> {
        JsonWriter { out, choices, delimiters, task: None, fields: OutputFields::default(), is_first: true }
    }
}

impl<W: Write> RowWriter for JsonWriter<W> {
    fn begin(&mut self, task: &TaskName, heading: &Rows) -> Result<(), ExportError> {
        self.task = self.choices.several.then(|| task.clone());
        self.fields = OutputFields::of(heading, self.choices);
        Ok(())
    }

    fn write_rows(&mut self, rows: &Rows) -> Result<(), ExportError> {
        for row in 0..rows.table.rows.len() {
            let mark = self.delimiters[usize::from(!self.is_first)];
            self.is_first = false;
            self.out.write_all(mark.as_bytes())?;
            let record = JsonRecord { task: self.task.as_ref(), fields: &self.fields, rows, row };
            serde_json::to_writer(&mut self.out, &record).map_err(std::io::Error::from)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        let [before, _, after] = self.delimiters;
        if self.is_first {
            self.out.write_all(before.as_bytes())?;
        }
        self.out.write_all(after.trim_start_matches(if self.is_first { "\n" } else { "" }).as_bytes())?;
        Ok(self.out.flush()?)
    }
}

struct JsonRecord<'r> {
    task: Option<&'r TaskName>,
    fields: &'r OutputFields,
    rows: &'r Rows,
    row: usize,
}

impl Serialize for JsonRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(task) = self.task {
            map.serialize_entry("_task", task)?;
        }
        for field in self.fields.iter() {
            map.serialize_entry(&field.name, &field.cell(self.rows, self.row))?;
        }
        map.end()
    }
}

impl Serialize for OutputCell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            OutputCell::Empty => serializer.serialize_none(),
            OutputCell::Text(text) => serializer.serialize_str(text),
            OutputCell::Int(number) => serializer.serialize_i64(*number),
            OutputCell::Number(number) => serializer.serialize_f64(*number),
            OutputCell::Bool(is_so) => serializer.serialize_bool(*is_so),
            OutputCell::Date(date) => serializer.serialize_str(date),
            OutputCell::Instant(at) => serializer.serialize_str(&instant(*at)),
        }
    }
}
