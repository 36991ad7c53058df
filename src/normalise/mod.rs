//! PURE: text → typed value, with the page's language and the task's time zone in mind. Never fails but with a reason, never
//! panics, whatever a page says.

mod boolean;
pub mod duplicates;
mod plain;
mod hints;
mod number;
mod currency;
mod money;
mod date;
mod web;
pub mod infer;

use std::borrow::Cow;

use crate::model::{ColumnType, Value};

pub use date::{DateOrder, order_of};
pub use hints::Hints;

/// Longer texts are no values: reading one must not cost more than finding it.
pub const MAX_CHARS: usize = 300;

/// A value, and whether the text says nothing besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedValue {
    pub value: Value,
    pub is_whole: bool,
}

/// Why a text has no value of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("there is nothing in it")]
    Empty,
    #[error("it is longer than a value; `pattern` can say which part is meant")]
    TooLong,
    #[error("there is no number in it")]
    NoNumber,
    #[error("there are several numbers in it; `pattern` can say which is meant")]
    SeveralNumbers,
    #[error("it is no whole number; `type = \"number\"` takes it")]
    NotWhole,
    #[error("the number is too large")]
    TooLarge,
    #[error("there is no amount in it")]
    NoAmount,
    #[error("there are several amounts in it; `pattern` can say which is meant")]
    SeveralAmounts,
    #[error("there is no date in it")]
    NoDate,
    #[error("there is no such day")]
    NoSuchDay,
    #[error("it is no web address")]
    NoAddress,
    #[error("there is no e-mail address in it")]
    NoEmail,
    #[error("it says neither yes nor no")]
    NeitherYesNorNo,
}

/// Reads a text as a value of the type.
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
