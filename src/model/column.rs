//! A column: a slot of the template with a name and a type.

use serde::{Deserialize, Serialize};

/// What a person says about a slot: one `[[column]]` of task.toml, in the order of the template's slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: ColumnType,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// A regular expression with one named group for each column that it yields. Without named groups, its first group
    /// or else the whole match is the column's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Splits the text into columns (drill down).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// Names of the columns that are joined into this one (roll up).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// A delimiter, and the columns for the pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Split {
    /// At the first occurrence: into the column itself and `NAME_2`.
    At(String),
    /// Into as many pieces as there are names; the last one has the rest.
    Into(SplitInto),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitInto {
    pub at: String,
    pub into: Vec<String>,
}

impl Split {
    pub fn delimiter(&self) -> &str {
        match self {
            Split::At(at) => at,
            Split::Into(split) => &split.at,
        }
    }

    /// The columns for the pieces.
    pub fn names(&self, own: &str) -> Vec<String> {
        match self {
            Split::At(_) => vec![own.to_owned(), format!("{own}_2")],
            Split::Into(split) => split.into.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    #[default]
    Text,
    Int,
    Number,
    Money,
    Date,
    Url,
    Email,
    Bool,
}

impl ColumnType {
    /// The word in task.toml.
    pub fn word(self) -> &'static str {
        match self {
            ColumnType::Text => "text",
            ColumnType::Int => "int",
            ColumnType::Number => "number",
            ColumnType::Money => "money",
            ColumnType::Date => "date",
            ColumnType::Url => "url",
            ColumnType::Email => "email",
            ColumnType::Bool => "bool",
        }
    }
}

impl Column {
    /// A plain text column, for a slot that only has a name.
    pub fn text(name: &str) -> Column {
        Column { name: name.to_owned(), ..Column::default() }
    }
}
