//! Prints a template in readable notation: `<li><a href={link}>{name}</a>[<b>{badge}</b>](<i>{tag}</i>)+</li>`. `[ ]`
//! is optional, `( )+` repeats, `( | )` is a choice. Describes in words where each column comes from, for `pieme
//! explain`.

use std::fmt;

use super::Template;
use super::row_rule::RowRule;
use super::source::{ColumnSource, Recipe, Slot};
use super::variant::{RowPart, TemplateElement, Variant};
use crate::learn::view::LeafKind;

/// Maximum characters printed of a constant text.
const MAX_TEXT: usize = 40;

impl fmt::Display for Template {
    /// One line per variant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, variant) in self.variants.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            Printer { template: self, variant }.parts(&variant.parts, f)?;
        }
        Ok(())
    }
}

struct Printer<'a> {
    template: &'a Template,
    variant: &'a Variant,
}

impl Printer<'_> {
    fn parts(&self, parts: &[RowPart], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in parts {
            match part {
                RowPart::Element(element) => self.element(element, f)?,
                RowPart::Slot(slot) => self.slot(*slot, f)?,
                RowPart::Optional(parts) => {
                    f.write_str("[")?;
                    self.parts(parts, f)?;
                    f.write_str("]")?;
                }
                RowPart::Repeat(parts) => {
                    f.write_str("(")?;
                    self.parts(parts, f)?;
                    f.write_str(")+")?;
                }
                RowPart::Choice(choices) => {
                    for (i, parts) in choices.iter().enumerate() {
                        f.write_str(if i == 0 { "(" } else { "|" })?;
                        self.parts(parts, f)?;
                    }
                    f.write_str(")")?;
                }
            }
        }
        Ok(())
    }

    fn element(&self, element: &TemplateElement, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", element.tag)?;
        for class in &element.classes {
            write!(f, ".{class}")?;
        }
        for &slot in &element.attributes {
            let kind = self.variant.slots[slot].kind;
            write!(f, " {}=", kind.attribute())?;
            self.slot(slot, f)?;
        }
        f.write_str(">")?;
        self.parts(&element.parts, f)?;
        if element.parts.is_empty() && is_void(&element.tag) { Ok(()) } else { write!(f, "</{}>", element.tag) }
    }

    /// A hidden constant is printed as the text it is.
    fn slot(&self, slot: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.variant.column_of(slot).map(|it| &self.template.columns()[it]);
        let constant = self.variant.slots[slot].constant();
        match (column, constant) {
            (Some(column), None) => write!(f, "{{{}}}", column.name),
            (Some(column), Some(_)) if !column.hidden => write!(f, "{{{}}}", column.name),
            (_, Some(text)) => {
                let short: String = text.chars().take(MAX_TEXT).collect();
                let dots = if short.len() < text.len() { "…" } else { "" };
                write!(f, "{short}{dots}")
            }
            (None, None) => f.write_str("{}"),
        }
    }
}

fn is_void(tag: &str) -> bool {
    matches!(tag, "img" | "br" | "hr" | "input" | "meta" | "link" | "area" | "source")
}

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
