//! Texts of the page with their meaning.

use serde::{Deserialize, Serialize};

use crate::page::tokens::Span;

/// A text of the page and its meaning according to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueLabel {
    pub meaning: Meaning,
    pub text: String,
}

/// The meaning of a labelled text (thesis, 5.3.2); all other texts of the page are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Meaning {
    /// A value of this column.
    Variable(String),
    /// A text that is the same in every record and helps to recognise records, such as “by”.
    Constant,
    /// A text of each record that is not wanted.
    Wildcard,
}

impl ValueLabel {
    pub fn value(name: &str, text: &str) -> ValueLabel {
        ValueLabel { meaning: Meaning::Variable(name.to_owned()), text: text.to_owned() }
    }

    pub fn name(&self) -> Option<&str> {
        match &self.meaning {
            Meaning::Variable(name) => Some(name),
            Meaning::Constant | Meaning::Wildcard => None,
        }
    }
}

/// The labels of one record, each with its positions on the page, at least one.
pub struct LabelledRecord {
    pub labels: Vec<(ValueLabel, Vec<Span>)>,
}
