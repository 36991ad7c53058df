//! PURE: converts text to typed values, using the page's language and the task's time zone. Never panics; every failure
//! has a reason.

mod boolean;
mod currency;
mod date;
pub mod duplicates;
mod hints;
pub mod infer;
mod money;
mod number;
mod plain;
mod web;

use std::borrow::Cow;

use crate::model::{ColumnType, Value};

pub use date::order_of;
pub use hints::{DateOrder, Hints};

/// Longer texts are no values. The limit bounds the cost of parsing.
pub const MAX_CHARS: usize = 300;

/// A value, and whether the text contains nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedValue {
    pub value: Value,
    pub is_whole: bool,
}

/// Why a text has no value of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("the text is empty")]
    Empty,
    #[error("the text is too long for a value; select a part with `pattern`")]
    TooLong,
    #[error("the text has no number")]
    NoNumber,
    #[error("the text has several numbers; select one with `pattern`")]
    SeveralNumbers,
    #[error("the number is not an integer; use `type = \"number\"`")]
    NotWhole,
    #[error("the number is too large")]
    TooLarge,
    #[error("the text has no amount of money")]
    NoAmount,
    #[error("the text has several amounts; select one with `pattern`")]
    SeveralAmounts,
    #[error("the text has no date")]
    NoDate,
    #[error("the calendar has no such day")]
    NoSuchDay,
    #[error("the text is not a web address")]
    NoAddress,
    #[error("the text has no e-mail address")]
    NoEmail,
    #[error("the text is neither yes nor no")]
    NeitherYesNorNo,
}

/// Parses a text as a value of the type.
pub fn read(kind: ColumnType, text: &str, hints: &Hints<'_>) -> Result<ParsedValue, ValueError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ValueError::Empty);
    }
    match kind {
        ColumnType::Text => return Ok(ParsedValue { value: Value::Text(text.to_owned()), is_whole: true }),
        ColumnType::Url => return web::url(text, hints),
        _ => {}
    }
    if text.len() > MAX_CHARS && text.chars().nth(MAX_CHARS).is_some() {
        return Err(ValueError::TooLong);
    }
    let text: Cow<'_, str> = plain::text(text);
    match kind {
        ColumnType::Int => number::int(&text, hints),
        ColumnType::Number => number::number(&text, hints),
        ColumnType::Money => money::money(&text, hints),
        ColumnType::Date => date::date(&text, hints),
        ColumnType::Email => web::email(&text),
        ColumnType::Bool => boolean::boolean(&text),
        ColumnType::Text | ColumnType::Url => Err(ValueError::Empty),
    }
}

#[cfg(test)]
mod tests;
