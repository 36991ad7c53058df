//! The regular expressions of a script.

use regex::{Regex, RegexBuilder};

/// A pattern that compiles to more would cost more than the page it is used on. The regex engine never backtracks.
const MAX_PATTERN_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the regular expression `{pattern}` cannot be used: {reason}")]
pub struct PatternError {
    pattern: String,
    reason: String,
}

pub fn compile(pattern: &str) -> Result<Regex, PatternError> {
    RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or("it does not compile").trim_start_matches("error: ").to_owned();
        PatternError { pattern: pattern.to_owned(), reason }
    })
}
