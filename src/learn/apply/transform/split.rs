//! Splits one text into several: by a regular expression or at a delimiter.

use regex::{Regex, RegexBuilder};

use super::ColumnTransformError;
use crate::model::Column;

/// Maximum compiled size of a pattern; a larger one would cost more than the page it is applied to.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// How a text is split, and the names of the pieces.
pub struct ColumnSplit {
    method: SplitMethod,
    pub names: Vec<String>,
}

enum SplitMethod {
    /// The groups, in the order of the names; 0 is the whole match.
    Pattern(Regex, Vec<usize>),
    Delimiter(String),
}

/// The split of a column, if it has one.
pub fn column_split(at: usize, column: &Column) -> Result<Option<ColumnSplit>, ColumnTransformError> {
    let problem = |key, message: String, hint| Err(ColumnTransformError { column: at, key, message, hint });
    match (&column.pattern, &column.split) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            problem("split", "a column has `pattern` or `split`, not both".to_owned(), "leave one of them out")
        }
        (Some(pattern), None) => {
            let built =
                RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES).build();
            let regex = built.map_err(|error| {
                let text = error.to_string();
                let why = text.lines().last().unwrap_or("it does not compile").trim_start_matches("error: ");
                let message = format!("this regular expression cannot be used: {why}");
                let hint = "the syntax is that of docs.rs/regex: no look-around, no back-references";
                ColumnTransformError { column: at, key: "pattern", message, hint }
            })?;
            let groups: Vec<(usize, String)> =
                regex.capture_names().enumerate().filter_map(|(group, name)| Some((group, name?.to_owned()))).collect();
            let (places, names) = match groups.is_empty() {
                true => (vec![usize::from(regex.captures_len() > 1)], vec![column.name.clone()]),
                false => groups.into_iter().unzip(),
            };
            Ok(Some(ColumnSplit { method: SplitMethod::Pattern(regex, places), names }))
        }
        (None, Some(split)) => {
            let names = split.names(&column.name);
            if split.delimiter().is_empty() {
                return problem(
                    "split",
                    "`split` has no delimiter".to_owned(),
                    "write the text between the parts, for example split = \" by \"",
                );
            }
            if names.len() < 2 || names.iter().any(|it| it.trim().is_empty()) {
                let hint = "write split = { at = \" by \", into = [\"book\", \"author\"] }";
                return problem("split", "`into` needs at least two column names".to_owned(), hint);
            }
            Ok(Some(ColumnSplit { method: SplitMethod::Delimiter(split.delimiter().to_owned()), names }))
        }
    }
}

impl ColumnSplit {
    /// One of the pieces; `None` if the text has no such piece.
    pub fn piece(&self, text: &str, piece: usize) -> Option<String> {
        let found = match &self.method {
            SplitMethod::Pattern(regex, groups) => regex.captures(text)?.get(*groups.get(piece)?)?.as_str(),
            SplitMethod::Delimiter(delimiter) => text.splitn(self.names.len(), delimiter.as_str()).nth(piece)?,
        };
        Some(found.trim().to_owned())
    }
}
