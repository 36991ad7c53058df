//! JSON: an array of objects, or an object a line. Values are of JSON's types; every object has every name.

use std::io::Write;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::fields::instant;
use super::{Cell, Choices, ExportError, Fields, Writer};
use crate::model::TaskName;
use crate::store::Rows;

pub(super) struct Json<W: Write> {
    out: W,
    choices: Choices,
    /// What stands before the first record, between two, and after the last.
    marks: [&'static str; 3],
    task: Option<TaskName>,
    fields: Fields,
    is_first: bool,
}

impl<W: Write> Json<W> {
    pub fn array(out: W, choices: Choices) -> Json<W> {
        Json::with(out, choices, ["[\n", ",\n", "\n]\n"])
    }

    pub fn lines(out: W, choices: Choices) -> Json<W> {
        Json::with(out, choices, ["", "\n", "\n"])
    }

    fn with(out: W, choices: Choices, marks: [&'static str; 3]) -> Json<W> {
        Json { out, choices, marks, task: None, fields: Fields::default(), is_first: true }
    }
}

impl<W: Write> Writer for Json<W> {
    fn begin(&mut self, task: &TaskName, heading: &Rows) -> Result<(), ExportError> {
        self.task = self.choices.several.then(|| task.clone());
        self.fields = Fields::of(heading, self.choices);
        Ok(())
    }

    fn take(&mut self, rows: &Rows) -> Result<(), ExportError> {
        for row in 0..rows.table.rows.len() {
            let mark = self.marks[usize::from(!self.is_first)];
            self.is_first = false;
            self.out.write_all(mark.as_bytes())?;
            let record = Record { task: self.task.as_ref(), fields: &self.fields, rows, row };
            serde_json::to_writer(&mut self.out, &record).map_err(std::io::Error::from)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        let [before, _, after] = self.marks;
        if self.is_first {
            self.out.write_all(before.as_bytes())?;
        }
        self.out.write_all(after.trim_start_matches(if self.is_first { "\n" } else { "" }).as_bytes())?;
        Ok(self.out.flush()?)
    }
}

struct Record<'r> {
    task: Option<&'r TaskName>,
    fields: &'r Fields,
    rows: &'r Rows,
    row: usize,
}

impl Serialize for Record<'_> {
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

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Empty => serializer.serialize_none(),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Int(number) => serializer.serialize_i64(*number),
            Cell::Number(number) => serializer.serialize_f64(*number),
            Cell::Bool(is_so) => serializer.serialize_bool(*is_so),
            Cell::Date(date) => serializer.serialize_str(date),
            Cell::Instant(at) => serializer.serialize_str(&instant(*at)),
        }
    }
}
