//! Where a column's values come from: a slot with its stored profile, or a recipe that derives them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::learn::view::LeafKind;
use crate::page::text::collapse;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnSource {
    Slot(usize),
    Derived(Recipe),
}

/// How a derived column is computed. Indices count from 0, or from the end: -1 is the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recipe {
    /// A range of pieces of a slot's text.
    Piece { slot: usize, cut: SplitRule, first: i32, last: i32 },
    /// The whole text of the nth element with this class path.
    Element { path: String, nth: u32 },
    /// The texts of all elements with this class path.
    Elements { path: String },
    /// A line of the nth element with this class path; without a path, of the row.
    Line { path: String, nth: u32, line: i32 },
    /// The value after this label.
    Label { label: String },
    /// The classes of the nth element with this path (tags only), without those that all rows share.
    Class { path: String, nth: u32, without: Vec<String> },
    /// The heading above the row.
    Heading,
    /// The last text before the row, outside all rows, in an element with this tag and classes.
    HeadingIn { element: String },
    /// The first of these that the row has: one field with several structures.
    First { of: Vec<ColumnSource> },
    /// All of these that the row has, joined (roll up).
    Joined { of: Vec<ColumnSource>, with: String },
    /// The nth column of a text's aligned pieces (drill down); `slots` are their profiles.
    Drilled { of: Box<ColumnSource>, at: Delimiter, slots: Vec<Slot>, nth: usize },
    /// Text or attribute of the first element in the row that matches.
    Css {
        css: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attribute: Option<String>,
    },
    /// The match of a regular expression in the row's text: its first group, or the whole match.
    Pattern { pattern: String },
}

/// Where a text is split: at these signs between words, at these words, or at blanks. An empty rule only trims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitRule {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signs: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blanks: bool,
}

impl ColumnSource {
    /// The slots that it reads.
    pub fn slots(&self) -> Vec<usize> {
        match self {
            ColumnSource::Slot(slot) => vec![*slot],
            ColumnSource::Derived(recipe) => recipe.slots(),
        }
    }

    pub fn is_heading(&self) -> bool {
        self.recipe().is_some_and(Recipe::is_heading)
    }

    pub fn recipe(&self) -> Option<&Recipe> {
        match self {
            ColumnSource::Slot(_) => None,
            ColumnSource::Derived(recipe) => Some(recipe),
        }
    }
}

impl Recipe {
    /// The sources that it combines.
    fn parts(&self) -> &[ColumnSource] {
        match self {
            Recipe::First { of } | Recipe::Joined { of, .. } => of,
            Recipe::Drilled { of, .. } => std::slice::from_ref(of),
            _ => &[],
        }
    }

    /// The slots that it reads.
    pub fn slots(&self) -> Vec<usize> {
        match self {
            Recipe::Piece { slot, .. } => vec![*slot],
            _ => self.parts().iter().flat_map(ColumnSource::slots).collect(),
        }
    }

    /// Does it read a heading above the row?
    pub fn is_heading(&self) -> bool {
        matches!(self, Recipe::Heading | Recipe::HeadingIn { .. }) || self.parts().iter().any(ColumnSource::is_heading)
    }

    pub fn path(&self) -> Option<&str> {
        match self {
            Recipe::Element { path, .. }
            | Recipe::Elements { path }
            | Recipe::Line { path, .. }
            | Recipe::Class { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// The stored profile of a slot. Every list is bounded, commonest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    pub kind: LeafKind,
    /// Number of rows that have it.
    pub count: u32,
    pub paths: Vec<(String, u32)>,
    pub class_paths: Vec<(String, u32)>,
    /// Repeated values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, u32)>,
    pub types: Vec<(u8, u32)>,
    /// Sibling counts, if other slots have the same path and only order distinguishes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<SiblingCounts>,
}

/// How many elements every row has at a slot's path, empty ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiblingCounts {
    pub elements: u32,
    /// The same for the path with classes, if all rows have the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classed: Option<u32>,
}

impl Slot {
    /// The value of all rows that have the slot, if it is the same in at least two.
    pub fn constant(&self) -> Option<&str> {
        let (value, count) = self.values.first()?;
        (self.count >= 2 && *count == self.count).then_some(value)
    }
}

/// The delimiters at which a person splits a column: the finer encodings of OLERA's hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delimiter {
    /// A delimiter given by a person, such as the comma of the paper's figure 4.
    Text(String),
    /// Word level: blanks, brackets, quotation marks and currency signs separate.
    Words,
}

/// Maximum number of pieces of one text; the last one holds the rest. Alignment is quadratic in the number of pieces.
const MAX_PIECES: usize = 60;

impl Delimiter {
    pub fn pieces(&self, text: &str) -> Vec<String> {
        let parts: Vec<&str> = match self {
            Delimiter::Text(delimiter) if !delimiter.is_empty() => text.split(delimiter.as_str()).collect(),
            Delimiter::Text(_) => vec![text],
            Delimiter::Words => text.split(is_word_separator).collect(),
        };
        let mut pieces: Vec<String> = parts.into_iter().map(collapse).filter(|part| !part.is_empty()).collect();
        if pieces.len() > MAX_PIECES {
            let rest = pieces.split_off(MAX_PIECES - 1);
            pieces.push(rest.join(self.separator()));
        }
        pieces
    }

    /// Separator for pieces that are joined again.
    fn separator(&self) -> &str {
        match self {
            Delimiter::Text(delimiter) => delimiter,
            Delimiter::Words => " ",
        }
    }
}

fn is_word_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | '“' | '”' | '/' | '|' | ',' | ';' | '$' | '€' | '£')
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delimiter::Text(text) => write!(f, "“{text}”"),
            Delimiter::Words => f.write_str("words"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_piece_holds_what_is_left_of_a_long_text() {
        let text: Vec<String> = (1..=80).map(|n| n.to_string()).collect();
        let pieces = Delimiter::Text(", ".to_owned()).pieces(&text.join(", "));
        assert_eq!((pieces.len(), pieces[59].as_str()), (60, text[59..].join(", ").as_str()));
        assert_eq!(Delimiter::Words.pieces(&text.join(" "))[59], text[59..].join(" "));
    }
}
