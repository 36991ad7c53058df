//! A column: a slot of the template with a name and a type.

use serde::{Deserialize, Serialize};

/// What a person says about a slot: one `[[column]]` of task.toml, in the order of the template's slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: ColumnType,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// A regular expression with one named group for each column that it yields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Delimiter at which the text is cut into columns (drill down).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Names of the columns that are joined into this one (roll up).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

impl Column {
    /// A plain text column: all that is known of a slot that was only named.
    pub fn text(name: &str) -> Column {
        Column {
            name: name.to_owned(),
            kind: ColumnType::Text,
            required: false,
            pattern: None,
            split: None,
            join: None,
            default: None,
        }
    }
}
