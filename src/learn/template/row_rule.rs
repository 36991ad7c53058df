//! A person's rule for finding the rows: CSS selector, regular expression or adjustments. Stored in the template, so
//! that it holds for further pages.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::page::Selector;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowRule {
    /// The elements that match this selector.
    Css(String),
    /// The lines of a listing that match this regular expression.
    Pattern(String),
    /// A list found automatically, after these adjustments.
    Adjusted(Vec<RowAdjustment>),
}

/// Maximum compiled size of an expression: nested counted repetitions are refused.
const MAX_PATTERN: usize = 1 << 20;

/// A person's regular expression, compiled within bounds. Matching is linear in the text.
pub fn compile_pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(MAX_PATTERN).build()
}

impl RowRule {
    /// Is the selector or expression valid?
    pub fn is_readable(&self) -> bool {
        match self {
            RowRule::Css(css) => Selector::parse(css).is_ok(),
            RowRule::Pattern(text) => compile_pattern(text).is_ok(),
            RowRule::Adjusted(_) => true,
        }
    }
}

/// One adjustment. `Widen` and `Narrow` stand for the first concrete step of their kind that is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowAdjustment {
    Widen,
    /// To the parent element, if each row has its own.
    WidenUp,
    /// Adds the next sibling.
    WidenNext,
    /// Adds the previous sibling.
    WidenPrevious,
    Narrow,
    /// To the child element with most of the text.
    NarrowDown,
    /// Removes the first of the row's siblings.
    NarrowFirst,
    /// Removes the last of the row's siblings.
    NarrowLast,
    /// Each row begins and ends one item later.
    Rotate,
    /// Each row begins and ends one item earlier.
    RotateBack,
}

impl RowAdjustment {
    pub fn concrete_steps(&self) -> &[RowAdjustment] {
        match self {
            RowAdjustment::Widen => &[RowAdjustment::WidenUp, RowAdjustment::WidenNext, RowAdjustment::WidenPrevious],
            RowAdjustment::Narrow => &[RowAdjustment::NarrowDown, RowAdjustment::NarrowLast],
            _ => std::slice::from_ref(self),
        }
    }

    /// For the sentence “candidate 1 cannot be …”.
    pub fn past_participle(self) -> &'static str {
        match self {
            RowAdjustment::Widen | RowAdjustment::WidenUp | RowAdjustment::WidenNext | RowAdjustment::WidenPrevious => {
                "widened"
            }
            RowAdjustment::Narrow
            | RowAdjustment::NarrowDown
            | RowAdjustment::NarrowFirst
            | RowAdjustment::NarrowLast => "narrowed",
            RowAdjustment::Rotate | RowAdjustment::RotateBack => "rotated",
        }
    }
}
