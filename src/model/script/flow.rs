//! The operations that decide, repeat and remember.

use serde::{Deserialize, Serialize};

use super::ScriptStep;
use crate::model::unit::TimeSpan;

/// Does its steps once for each item of a list, a file in the folder, or a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForEachStep {
    /// The variable that holds the item. Of a CSV or JSONL file its columns are `${name.column}`.
    #[serde(rename = "as")]
    pub name: String,
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<String>>,
    /// `cities.csv` (the first line names the columns), `queries.jsonl` (an object or a text a line) or `.txt` (a text a line).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A variable, an item a line, as `match` with `all = true` fills it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Adds the item to each row found in these steps, under this column's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Go on with the next item when a page of this one cannot be had.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub go_on: bool,
    pub steps: Vec<ScriptStep>,
}

/// Does `then` when the page is as said, `else` otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IfStep {
    pub when: Condition,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<ScriptStep>,
    #[serde(default, rename = "else", skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<ScriptStep>,
}

/// What may be said of the current page or of a variable; all that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Condition {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Part of the page's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Part of the page's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A CSS selector that must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub css: Option<String>,
    /// A variable: it is set and not empty, or as `equals` and `matches` say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// A regular expression, for the variable or else for the page's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// Of `expect` alone: `robot` (the default), `login` or `blocked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<ExpectCause>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectCause {
    Robot,
    Login,
    Blocked,
}

/// Takes something out of the page, a header, the address or a variable, and into variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MatchStep {
    /// Elements of the page: their text, or their `attribute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub css: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// A place in a JSON page, as in `data.items.0.id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The page's address.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub url: bool,
    /// Over what was taken, or over the page's source when nothing was. Named groups become variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// The variable for what was found: the first group of the expression, or all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// Everything that is found, a line each, and not only the first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// When nothing is found; absent: the run fails here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Replaces what a regular expression finds in a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubstituteStep {
    pub variable: String,
    pub regex: String,
    /// `$1` and `${name}` are the groups of the expression.
    pub with: String,
    /// Another variable for the result; absent: the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
}

/// Waits until the page shows something (browser engine).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WaitForStep {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub css: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Absent: 10 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<TimeSpan>,
}
