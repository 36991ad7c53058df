//! A typed value: the meaning of a cell's text. The original text stays beside it.

use serde::{Deserialize, Serialize};

use super::column::ColumnType;

/// A typed value. Amounts are kept as digits: `1234.50`, exact, with as many decimals as were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Int(i64),
    Number(String),
    /// `to` is the upper end of a range; no currency where none is given.
    Money {
        amount: String,
        to: Option<String>,
        currency: Option<String>,
    },
    /// ISO 8601, as precise as the text: `2024`, `2024-04`, `2024-04-03`, `2024-04-03T14:05:00+02:00`.
    Date(String),
    Url(String),
    Email(String),
    Bool(bool),
}

/// Which part of a value a column of the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Facet {
    Value,
    To,
    Currency,
}

/// A column of values beside a column of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueColumn {
    /// Index of the text column, from 0.
    pub of: usize,
    #[serde(rename = "type")]
    pub kind: ColumnType,
    pub facet: Facet,
}

impl Value {
    /// One part as plain text, as the database reads it.
    pub fn facet(&self, facet: Facet) -> Option<String> {
        match (self, facet) {
            (Value::Money { to, .. }, Facet::To) => to.clone(),
            (Value::Money { currency, .. }, Facet::Currency) => currency.clone(),
            (Value::Money { amount, .. }, Facet::Value) => Some(amount.clone()),
            (_, Facet::To | Facet::Currency) => None,
            (Value::Int(number), Facet::Value) => Some(number.to_string()),
            (Value::Bool(is_so), Facet::Value) => Some(u8::from(*is_so).to_string()),
            (Value::Text(it) | Value::Number(it) | Value::Date(it), Facet::Value) => Some(it.clone()),
            (Value::Url(it) | Value::Email(it), Facet::Value) => Some(it.clone()),
        }
    }
}

/// The canonical form: `1234.50 EUR`, `95.00–124.00 CAD`, `2024-04-03`, `true`.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Int(number) => write!(f, "{number}"),
            Value::Bool(is_so) => write!(f, "{is_so}"),
            Value::Text(it) | Value::Number(it) | Value::Date(it) | Value::Url(it) | Value::Email(it) => {
                f.write_str(it)
            }
            Value::Money { amount, to, currency } => {
                f.write_str(amount)?;
                to.iter().try_for_each(|to| write!(f, "–{to}"))?;
                currency.iter().try_for_each(|currency| write!(f, " {currency}"))
            }
        }
    }
}

impl ColumnType {
    /// The parts that a column of this type has in the store; none for text, which is its own value.
    pub fn facets(self) -> &'static [Facet] {
        match self {
            ColumnType::Text => &[],
            ColumnType::Money => &[Facet::Value, Facet::To, Facet::Currency],
            ColumnType::Int | ColumnType::Number | ColumnType::Date => &[Facet::Value],
            ColumnType::Url | ColumnType::Email | ColumnType::Bool => &[Facet::Value],
        }
    }
}
