//! Infers the type of a column: the first type that nearly all of its values have completely.

use super::{Hints, read};
use crate::model::ColumnType;

/// Share of the values that must be read completely as the type. `docs/values.md` has the measurements.
pub const MIN_SHARE: f64 = 0.9;
/// Fewer values are not enough evidence.
const MIN_VALUES: usize = 3;
/// More values would not change the result.
const MAX_VALUES: usize = 500;

/// From the narrowest to the widest: every int is a number, and money is more specific than number.
const TYPES: &[ColumnType] = &[
    ColumnType::Email,
    ColumnType::Url,
    ColumnType::Money,
    ColumnType::Date,
    ColumnType::Int,
    ColumnType::Number,
    ColumnType::Bool,
];

/// `is_shown`: the values are visible text, not an attribute like `href`.
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
        // No exception in a list of fewer than ten values.
        let needed = (values.len() as f64 * MIN_SHARE).ceil() as usize;
        let mut missing = 0;
        values.iter().all(|value| {
            missing += usize::from(!fits(value));
            missing <= values.len() - needed
        })
    };
    TYPES.iter().copied().find(|&kind| is(kind)).unwrap_or(ColumnType::Text)
}

/// In visible text, a URL needs a scheme or `www.`: and/or and 24/7 are no addresses.
fn has_scheme(value: &str) -> bool {
    ["http://", "https://", "www."]
        .iter()
        .any(|it| value.get(..it.len()).is_some_and(|start| start.eq_ignore_ascii_case(it)))
}
