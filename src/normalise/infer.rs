//! The type of a column from its values: the first that nearly all of them are, and nothing besides.

use super::{Hints, read};
use crate::model::ColumnType;

/// The share of the values that must read as the type and say nothing else. See `docs/values.md` for what was measured.
pub const MIN_SHARE: f64 = 0.9;
/// Fewer values say nothing.
const MIN_VALUES: usize = 3;
/// More values say no more.
const MAX_VALUES: usize = 500;

/// From the narrowest to the widest: every int is a number, and a price is more than its number.
const TYPES: &[ColumnType] = &[
    ColumnType::Email,
    ColumnType::Url,
    ColumnType::Money,
    ColumnType::Date,
    ColumnType::Int,
    ColumnType::Number,
    ColumnType::Bool,
];

/// `is_shown`: a reader of the page sees it as text; an attribute like `href` is not.
pub fn column<'v>(values: impl Iterator<Item = &'v str>, is_shown: bool, hints: &Hints<'_>) -> ColumnType {
    let filled = values.map(str::trim).filter(|value| !value.is_empty());
    let values: Vec<&str> = filled.take(MAX_VALUES).collect();
    if values.len() < MIN_VALUES {
        return ColumnType::Text;
    }
    let is = |kind: ColumnType| {
        let fits = |value: &str| {
            let is_link = kind == ColumnType::Url && is_shown;
            read(kind, value, hints).is_ok_and(|found| found.is_whole) && (!is_link || has_scheme(value))
        };
        // One miss in a short list is one miss too many, unless the list is ten long.
        let needed = (values.len() as f64 * MIN_SHARE).ceil() as usize;
        let mut missing = 0;
        values.iter().all(|value| {
            missing += usize::from(!fits(value));
            missing <= values.len() - needed
        })
    };
    TYPES.iter().copied().find(|&kind| is(kind)).unwrap_or(ColumnType::Text)
}

/// In a text that a reader sees, and/or and 24/7 are no addresses.
fn has_scheme(value: &str) -> bool {
    ["http://", "https://", "www."]
        .iter()
        .any(|it| value.get(..it.len()).is_some_and(|start| start.eq_ignore_ascii_case(it)))
}
