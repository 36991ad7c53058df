//! Prints a template in readable notation: `<li><a href={link}>{name}</a>[<b>{badge}</b>](<i>{tag}</i>)+</li>`. `[ ]`
//! is optional, `( )+` repeats, `( | )` is a choice.

use std::fmt;

use super::Template;
use super::variant::{RowPart, TemplateElement, Variant};

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
