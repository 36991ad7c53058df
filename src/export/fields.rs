//! The columns of an exported table, as in the task's view: a typed column is its value, and the text as found is a
//! column beside it.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use super::ColumnOptions;
use crate::model::{ColumnType, Facet};
use crate::store::Rows;

/// The type of all cells of a field that are not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    Text,
    Int,
    Number,
    Bool,
    /// ISO 8601, as exact as the text was: a year, a month, a day, an instant.
    Date,
    Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputField {
    pub name: String,
    pub kind: OutputKind,
    source: FieldSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldSource {
    Text(usize),
    Value(usize),
    Run,
    FirstSeen,
    LastSeen,
    Page,
}

/// A cell of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputCell<'r> {
    Empty,
    Text(Cow<'r, str>),
    Int(i64),
    Number(f64),
    Bool(bool),
    Date(&'r str),
    Instant(DateTime<Utc>),
}

/// All fields of a table, in order.
#[derive(Clone, Debug, Default)]
pub struct OutputFields(pub Vec<OutputField>);

impl OutputFields {
    /// Names are unique: no column of a task begins with `_`.
    pub fn of(rows: &Rows, choices: ColumnOptions) -> OutputFields {
        let mut fields = Vec::new();
        for (at, name) in rows.table.columns.iter().enumerate() {
            let values: Vec<usize> = match choices.texts {
                true => Vec::new(),
                false => (0..rows.values.len()).filter(|&value| rows.values[value].of == at).collect(),
            };
            for &value in &values {
                let column = rows.values[value];
                let name = match column.facet {
                    Facet::Value => name.clone(),
                    Facet::To => format!("_to_{name}"),
                    Facet::Currency => format!("_currency_{name}"),
                };
                fields.push(OutputField {
                    name,
                    kind: kind(column.kind, column.facet),
                    source: FieldSource::Value(value),
                });
            }
            let is_typed = values.iter().any(|&value| rows.values[value].facet == Facet::Value);
            let name = if is_typed { format!("_text_{name}") } else { name.clone() };
            fields.push(OutputField { name, kind: OutputKind::Text, source: FieldSource::Text(at) });
        }
        let ours = [
            ("_run", OutputKind::Text, FieldSource::Run),
            ("_first_seen", OutputKind::Instant, FieldSource::FirstSeen),
            ("_last_seen", OutputKind::Instant, FieldSource::LastSeen),
            ("_page", OutputKind::Int, FieldSource::Page),
        ];
        fields.extend(ours.map(|(name, kind, source)| OutputField { name: name.to_owned(), kind, source }));
        OutputFields(fields)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, OutputField> {
        self.0.iter()
    }
}

impl OutputField {
    /// The cell of a row; empty where the value is not of the field's kind.
    pub fn cell<'r>(&self, rows: &'r Rows, row: usize) -> OutputCell<'r> {
        match self.source {
            FieldSource::Text(at) => match &rows.table.rows[row].cells[at] {
                Some(text) => OutputCell::Text(Cow::Borrowed(text)),
                None => OutputCell::Empty,
            },
            FieldSource::Value(at) => value(self.kind, &rows.cells[row][at]).unwrap_or(OutputCell::Empty),
            FieldSource::Run => OutputCell::Text(Cow::Owned(rows.run.to_string())),
            FieldSource::FirstSeen => OutputCell::Instant(rows.first_seen[row]),
            FieldSource::LastSeen => OutputCell::Instant(rows.last_seen),
            FieldSource::Page => OutputCell::Int(rows.table.rows[row].page.into()),
        }
    }
}

fn kind(of: ColumnType, facet: Facet) -> OutputKind {
    match (of, facet) {
        (_, Facet::Currency) => OutputKind::Text,
        (ColumnType::Int, _) => OutputKind::Int,
        (ColumnType::Number | ColumnType::Money, _) => OutputKind::Number,
        (ColumnType::Bool, _) => OutputKind::Bool,
        (ColumnType::Date, _) => OutputKind::Date,
        (ColumnType::Text | ColumnType::Url | ColumnType::Email, _) => OutputKind::Text,
    }
}

fn value(kind: OutputKind, value: &Json) -> Option<OutputCell<'_>> {
    match kind {
        OutputKind::Text => value.as_str().map(|text| OutputCell::Text(Cow::Borrowed(text))),
        OutputKind::Int => value.as_i64().map(OutputCell::Int),
        OutputKind::Number => value.as_f64().map(OutputCell::Number),
        OutputKind::Bool => value.as_i64().map(|number| OutputCell::Bool(number != 0)),
        OutputKind::Date => value.as_str().map(OutputCell::Date),
        // Only pieme's own columns are instants.
        OutputKind::Instant => None,
    }
}

/// An instant in the format of the store's view.
pub(super) fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
