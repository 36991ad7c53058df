//! Steps that branch, loop and set variables.

use serde::{Deserialize, Serialize};

use super::ScriptStep;
use crate::model::unit::TimeSpan;

/// Runs its steps once for each item of a list, a file in the folder, or a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForEachStep {
    /// The variable that holds the item. The columns of a CSV or JSONL file are `${name.column}`.
    #[serde(rename = "as")]
    pub name: String,
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<String>>,
    /// `cities.csv` (the first line names the columns), `queries.jsonl` (an object or a text per line) or `.txt` (a
    /// text per line).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A variable with one item per line, as filled by `match` with `all = true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Adds the item to each row found in these steps, under this column's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Continue with the next item when a page of this one cannot be fetched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub go_on: bool,
    pub steps: Vec<ScriptStep>,
}

/// Runs `then` if the condition holds, otherwise `else`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IfStep {
    pub when: Condition,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<ScriptStep>,
    #[serde(default, rename = "else", skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<ScriptStep>,
}

/// Conditions on the current page or a variable; all that are given must hold.
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
    /// A variable: it is set and not empty, or it meets `equals` and `matches`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// A regular expression, for the variable or otherwise for the page's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// Only for `expect`: `robot` (the default), `login` or `blocked`.
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

/// Extracts from the page, a header, the address or a variable into variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MatchStep {
    /// Elements of the page: their text, or their `attribute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub css: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// A path in a JSON page, as in `data.items.0.id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The page's address.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub url: bool,
    /// Applied to the extracted texts, or to the page's source if nothing else is selected. Named groups become
    /// variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// The variable for the result: the first group of the expression, or the whole match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// All matches, one per line, instead of only the first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The value when nothing matches; absent: the run fails here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Replaces the matches of a regular expression in a variable.
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
