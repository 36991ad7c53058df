//! The columns of an exported table: as the task's view has them, a typed column being its value and the text as found standing
//! beside it.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use super::Choices;
use crate::model::{ColumnType, Facet};
use crate::store::Rows;

/// What all cells of a field are, where they are anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Int,
    Number,
    Bool,
    /// ISO 8601, as exact as the text was: a year, a month, a day, an instant.
    Date,
    Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Text(usize),
    Value(usize),
    Run,
    FirstSeen,
    LastSeen,
    Page,
}

/// What stands in a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'r> {
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
pub struct Fields(pub Vec<Field>);

impl Fields {
    /// Names are unique: no column of a task begins with `_`.
    pub fn of(rows: &Rows, choices: Choices) -> Fields {
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
                fields.push(Field { name, kind: kind(column.kind, column.facet), source: Source::Value(value) });
            }
            let is_typed = values.iter().any(|&value| rows.values[value].facet == Facet::Value);
            let name = if is_typed { format!("_text_{name}") } else { name.clone() };
            fields.push(Field { name, kind: Kind::Text, source: Source::Text(at) });
        }
        let ours = [
            ("_run", Kind::Text, Source::Run),
            ("_first_seen", Kind::Instant, Source::FirstSeen),
            ("_last_seen", Kind::Instant, Source::LastSeen),
            ("_page", Kind::Int, Source::Page),
        ];
        fields.extend(ours.map(|(name, kind, source)| Field { name: name.to_owned(), kind, source }));
        Fields(fields)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Field> {
        self.0.iter()
    }
}

impl Field {
    /// What a row of these has here; nothing where the value is not of the field's kind.
    pub fn cell<'r>(&self, rows: &'r Rows, row: usize) -> Cell<'r> {
        match self.source {
            Source::Text(at) => match &rows.table.rows[row].cells[at] {
                Some(text) => Cell::Text(Cow::Borrowed(text)),
                None => Cell::Empty,
            },
            Source::Value(at) => value(self.kind, &rows.cells[row][at]).unwrap_or(Cell::Empty),
            Source::Run => Cell::Text(Cow::Owned(rows.run.to_string())),
            Source::FirstSeen => Cell::Instant(rows.first_seen[row]),
            Source::LastSeen => Cell::Instant(rows.last_seen),
            Source::Page => Cell::Int(rows.table.rows[row].page.into()),
        }
    }
}

fn kind(of: ColumnType, facet: Facet) -> Kind {
    match (of, facet) {
        (_, Facet::Currency) => Kind::Text,
        (ColumnType::Int, _) => Kind::Int,
        (ColumnType::Number | ColumnType::Money, _) => Kind::Number,
        (ColumnType::Bool, _) => Kind::Bool,
        (ColumnType::Date, _) => Kind::Date,
        (ColumnType::Text | ColumnType::Url | ColumnType::Email, _) => Kind::Text,
    }
}

fn value(kind: Kind, value: &Json) -> Option<Cell<'_>> {
    match kind {
        Kind::Text => value.as_str().map(|text| Cell::Text(Cow::Borrowed(text))),
        Kind::Int => value.as_i64().map(Cell::Int),
        Kind::Number => value.as_f64().map(Cell::Number),
        Kind::Bool => value.as_i64().map(|number| Cell::Bool(number != 0)),
        Kind::Date => value.as_str().map(Cell::Date),
        // Only ours are instants.
        Kind::Instant => None,
    }
}

/// An instant as the store's view has it.
pub(super) fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
