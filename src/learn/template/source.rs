//! Where a column's values come from: a slot, or a recipe that derives them.

use serde::{Deserialize, Serialize};

use super::delimiter::Delimiter;
use super::slot::Slot;

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
    /// The slots that it reads.
    pub fn slots(&self) -> Vec<usize> {
        match self {
            Recipe::Piece { slot, .. } => vec![*slot],
            Recipe::First { of } | Recipe::Joined { of, .. } => of.iter().flat_map(ColumnSource::slots).collect(),
            Recipe::Drilled { of, .. } => of.slots(),
            Recipe::Element { .. }
            | Recipe::Elements { .. }
            | Recipe::Line { .. }
            | Recipe::Label { .. }
            | Recipe::Class { .. }
            | Recipe::Heading
            | Recipe::HeadingIn { .. }
            | Recipe::Css { .. }
            | Recipe::Pattern { .. } => Vec::new(),
        }
    }

    /// Does it read a heading above the row?
    pub fn is_heading(&self) -> bool {
        match self {
            Recipe::Heading | Recipe::HeadingIn { .. } => true,
            Recipe::First { of } | Recipe::Joined { of, .. } => of.iter().any(ColumnSource::is_heading),
            Recipe::Drilled { of, .. } => of.is_heading(),
            Recipe::Piece { .. }
            | Recipe::Element { .. }
            | Recipe::Elements { .. }
            | Recipe::Line { .. }
            | Recipe::Label { .. }
            | Recipe::Class { .. }
            | Recipe::Css { .. }
            | Recipe::Pattern { .. } => false,
        }
    }

    pub fn path(&self) -> Option<&str> {
        match self {
            Recipe::Element { path, .. }
            | Recipe::Elements { path }
            | Recipe::Line { path, .. }
            | Recipe::Class { path, .. } => Some(path),
            Recipe::Piece { .. }
            | Recipe::Label { .. }
            | Recipe::Heading
            | Recipe::HeadingIn { .. }
            | Recipe::First { .. }
            | Recipe::Joined { .. }
            | Recipe::Drilled { .. }
            | Recipe::Css { .. }
            | Recipe::Pattern { .. } => None,
        }
    }
}
