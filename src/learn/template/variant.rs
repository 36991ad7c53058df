//! One row format of a list: the tree of its fixed parts and slots, and where each column is read.

use serde::{Deserialize, Serialize};

use super::exclusions::Exclusions;
use super::finder::Finder;
use super::row_rule::RowRule;
use super::source::{ColumnSource, Slot};
use super::table_column::TableColumn;
use crate::learn::view::LeafKind;

/// One row format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// How the rows were found where the template was learned.
    pub finder: Finder,
    /// How many rows it was learned from.
    pub rows: u32,
    /// Minimum quality of a row of the list.
    pub floor: f64,
    /// How well the rows that it was learned from fit it.
    #[serde(default)]
    pub own: TrainingFit,
    /// The column names above the rows, if the list is a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub header: Vec<String>,
    /// The columns of the table, if rows are rows of one whose columns have headers or telling classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<TableColumn>,
    /// Paths of the elements of inner lists, the innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<String>,
    /// The tree of fixed parts and slots, in page order.
    pub parts: Vec<RowPart>,
    pub slots: Vec<Slot>,
    /// For each column of the template: where this variant reads its values.
    pub sources: Vec<Option<ColumnSource>>,
    /// A person's rule for finding the rows; by default the automatically found row sets are tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RowRule>,
    /// What looks like a row and is none.
    #[serde(default, skip_serializing_if = "Exclusions::is_empty")]
    pub exclusions: Exclusions,
    /// The layout before a redesign: it is read only where no current variant fits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
}

/// The reference for later pages: rows that differ among themselves never fit their template completely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingFit {
    pub similarity: f64,
    pub quality: f64,
}

/// The default for templates written before it was measured.
impl Default for TrainingFit {
    fn default() -> TrainingFit {
        TrainingFit { similarity: 1.0, quality: 1.0 }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowPart {
    Element(TemplateElement),
    /// The text of this slot.
    Slot(usize),
    /// In some rows only.
    Optional(Vec<RowPart>),
    /// One of these.
    Choice(Vec<Vec<RowPart>>),
    /// Once or more.
    Repeat(Vec<RowPart>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TemplateElement {
    pub tag: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Slots that are attributes of this element.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<RowPart>,
}

impl Variant {
    /// Does the column read visible text only?
    pub fn reads_text(&self, column: usize) -> bool {
        let source = self.sources.get(column).and_then(Option::as_ref);
        source.is_some_and(|it| it.slots().iter().all(|&slot| self.slots[slot].kind == LeafKind::Text))
    }

    /// Does any column read a heading above the row?
    pub fn uses_headings(&self) -> bool {
        self.sources.iter().flatten().any(ColumnSource::is_heading)
    }

    /// The column that shows the slot as it is.
    pub fn column_of(&self, slot: usize) -> Option<usize> {
        self.sources.iter().position(|source| matches!(source, Some(ColumnSource::Slot(it)) if *it == slot))
    }
}

pub fn slots_used(parts: &[RowPart]) -> Vec<usize> {
    parts
        .iter()
        .flat_map(|part| match part {
            RowPart::Element(element) => {
                let mut used = element.attributes.clone();
                used.extend(slots_used(&element.parts));
                used
            }
            RowPart::Slot(slot) => vec![*slot],
            RowPart::Optional(parts) | RowPart::Repeat(parts) => slots_used(parts),
            RowPart::Choice(choices) => choices.iter().flat_map(|parts| slots_used(parts)).collect(),
        })
        .collect()
}
