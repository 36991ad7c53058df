//! What identifies a column of a table, whatever its place: its header and the classes of its cells.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableColumn {
    /// The words of its header, in lower case; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub header: String,
    /// The classes that nearly all its cells have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Its cells are `th`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_row_header: bool,
}
