//! Describes a template in words: where each column comes from, for `pieme explain`.

use super::row_rule::RowRule;
use super::slot::Slot;
use super::source::{ColumnSource, Recipe};
use super::variant::Variant;
use crate::learn::view::LeafKind;

impl Variant {
    /// Where this variant reads the column's values.
    pub fn origin(&self, column: usize) -> String {
        self.sources
            .get(column)
            .and_then(Option::as_ref)
            .map_or_else(|| "not in this format".to_owned(), |it| self.describe_source(it))
    }

    /// The person's rule for the rows, if there is one.
    pub fn describe_rule(&self) -> Option<String> {
        Some(match self.rule.as_ref()? {
            RowRule::Css(css) => format!("rows are the elements that match {css}"),
            RowRule::Pattern(pattern) => format!("rows are the lines that match {pattern}"),
            RowRule::Adjusted(steps) => {
                format!(
                    "rows of a list, {}",
                    steps.iter().map(|it| it.past_participle()).collect::<Vec<_>>().join(", ")
                )
            }
        })
    }

    fn describe_source(&self, source: &ColumnSource) -> String {
        let recipe = match source {
            ColumnSource::Slot(slot) => return self.slots.get(*slot).map_or_else(String::new, |it| it.describe(*slot)),
            ColumnSource::Derived(recipe) => recipe,
        };
        let all = |of: &[ColumnSource]| of.iter().map(|it| self.describe_source(it)).collect::<Vec<_>>();
        match recipe {
            Recipe::Piece { slot, first, last, .. } if first == last => format!("piece {first} of slot {}", slot + 1),
            Recipe::Piece { slot, first, last, .. } => format!("pieces {first} to {last} of slot {}", slot + 1),
            Recipe::Element { path, nth } => format!("all text of {path}, number {}", nth + 1),
            Recipe::Elements { path } => format!("the texts of all {path}"),
            Recipe::Line { path, nth, line } if path.is_empty() && *nth == 0 => format!("line {line} of the row"),
            Recipe::Line { path, nth, line } => format!("line {line} of {path}, number {}", nth + 1),
            Recipe::Label { label } => format!("the text after “{label}:”"),
            Recipe::Class { path, nth, .. } => format!("the classes of {path}, number {}", nth + 1),
            Recipe::Heading => "the heading above the row".to_owned(),
            Recipe::HeadingIn { element } => format!("the last {element} above the row"),
            Recipe::First { of } => format!("the first of ({})", all(of).join("; ")),
            Recipe::Joined { of, .. } => format!("joined: ({})", all(of).join("; ")),
            Recipe::Drilled { of, at, nth, .. } => {
                format!("piece {} of ({}), split at {at}", nth + 1, self.describe_source(of))
            }
            Recipe::Css { css, attribute: None } => format!("text of {css}"),
            Recipe::Css { css, attribute: Some(name) } => format!("{name} of {css}"),
            Recipe::Pattern { pattern } => format!("what matches {pattern}"),
        }
    }
}

impl Slot {
    /// `slot 2: text at li/b`.
    pub fn describe(&self, number: usize) -> String {
        let kind = if self.kind == LeafKind::Text { "text" } else { self.kind.attribute() };
        let path = self.class_paths.first().map_or("", |(path, _)| path.as_str());
        format!("slot {}: {kind} at {}", number + 1, if path.is_empty() { "the row itself" } else { path })
    }
}
