//! What looks like a row of the list and is none, as seen on the page that the template was learned from.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exclusions {
    /// First texts of neighbours that are no records: the total below a table, a repeated header.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// Elements that rows of other lists are in, or are: `tag.class` or `tag#id`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elements: Vec<String>,
    /// Other lists of the page have the same rows: only one parent's are the list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_parent: bool,
}

impl Exclusions {
    pub fn is_empty(&self) -> bool {
        self == &Exclusions::default()
    }
}
