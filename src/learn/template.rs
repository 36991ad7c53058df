//! The one template type: what all rows of a list share, with slots where they differ.
//!
//! A template has one or more variants, one per row format (after a redesign the old and the new one are both kept),
//! and one list of columns, which every variant fills from its own slots. A constant text is an anchor and stays a
//! slot, hidden at first. It is not a condition: otherwise the list would be lost on the day one item is no longer “In
//! stock”.

use serde::{Deserialize, Serialize};

use super::columns::Recipe;
use super::find::Finder;
use super::leaf::LeafKind;
use super::row_rule::RowRule;

/// Version of the file format; newer files are refused.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Template {
    pub version: u32,
    columns: Vec<TemplateColumn>,
    pub variants: Vec<Variant>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateColumn {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnSource {
    Slot(usize),
    Derived(Recipe),
}

#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error("this is not a template: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the template has version {0}, but this program reads versions up to {VERSION}; install a newer pieme")]
    Version(u32),
    #[error("the template is damaged: {0}")]
    Damaged(&'static str),
}

impl TemplateError {
    /// Line and column of a JSON error.
    pub fn position(&self) -> Option<(usize, usize)> {
        match self {
            TemplateError::Json(error) => Some((error.line(), error.column())).filter(|(line, _)| *line > 0),
            TemplateError::Version(_) | TemplateError::Damaged(_) => None,
        }
    }
}

impl Template {
    pub fn new(variant: Variant, names: Vec<String>, hidden: &[bool]) -> Template {
        let columns = names.into_iter().zip(hidden).map(|(name, &hidden)| TemplateColumn { name, hidden }).collect();
        Template { version: VERSION, columns, variants: vec![variant] }
    }

    pub fn from_json(text: &str) -> Result<Template, TemplateError> {
        let template: Template = serde_json::from_str(text)?;
        if template.version > VERSION {
            return Err(TemplateError::Version(template.version));
        }
        template.check()?;
        Ok(template)
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a template is plain data with text keys")
    }

    pub fn columns(&self) -> &[TemplateColumn] {
        &self.columns
    }

    /// Indices of all columns, hidden ones included.
    pub fn every_column(&self) -> Vec<usize> {
        (0..self.columns.len()).collect()
    }

    /// An index without a column changes nothing.
    pub fn rename(&mut self, index: usize, name: &str) {
        if let Some(column) = self.columns.get_mut(index) {
            column.name = name.to_owned();
        }
    }

    pub fn set_hidden(&mut self, index: usize, hidden: bool) {
        if let Some(column) = self.columns.get_mut(index) {
            column.hidden = hidden;
        }
    }

    /// Appends a visible column; only the first variant has a source for it.
    pub fn add_column(&mut self, name: &str, source: ColumnSource) {
        self.columns.push(TemplateColumn { name: name.to_owned(), hidden: false });
        let mut source = Some(source);
        for variant in &mut self.variants {
            variant.sources.push(source.take());
        }
    }

    /// The old template with one more variant, which comes first. `columns` maps each old column to a new one; the
    /// `rest` of the new columns are appended, hidden.
    pub fn with_variant(old: &Template, new: &Template, columns: &[Option<usize>], rest: &[usize]) -> Template {
        let mut made = old.clone();
        let Some(shape) = new.variants.first() else { return made };
        for &column in rest {
            let name = made.free_name(&new.columns[column].name);
            made.columns.push(TemplateColumn { name, hidden: true });
        }
        for variant in &mut made.variants {
            variant.sources.resize(made.columns.len(), None);
        }
        let mapped = columns.iter().map(|column| shape.sources[(*column)?].clone());
        let sources = mapped.chain(rest.iter().map(|&column| shape.sources[column].clone())).collect();
        made.variants.insert(0, Variant { sources, ..shape.clone() });
        made
    }

    /// A name that no column has yet.
    fn free_name(&self, name: &str) -> String {
        let is_free = |name: &str| self.columns.iter().all(|column| column.name != name);
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        std::iter::once(name.to_owned()).chain(numbered).find(|name| is_free(name)).unwrap_or_default()
    }

    /// Validates all indices: a person may have edited the file.
    fn check(&self) -> Result<(), TemplateError> {
        if self.variants.is_empty() {
            return Err(TemplateError::Damaged("it has no variant"));
        }
        for variant in &self.variants {
            if variant.sources.len() != self.columns.len() {
                return Err(TemplateError::Damaged("a variant does not have exactly one source per column"));
            }
            let slots = variant.slots.len();
            let mut used = slots_used(&variant.parts);
            used.extend(variant.sources.iter().flatten().flat_map(ColumnSource::slots));
            if used.into_iter().any(|slot| slot >= slots) {
                return Err(TemplateError::Damaged("it refers to a slot that does not exist"));
            }
            if !variant.rule.as_ref().is_none_or(RowRule::is_readable) {
                return Err(TemplateError::Damaged("its rule for rows is invalid"));
            }
        }
        Ok(())
    }
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

impl Slot {
    /// The value of all rows that have the slot, if it is the same in at least two.
    pub fn constant(&self) -> Option<&str> {
        let (value, count) = self.values.first()?;
        (self.count >= 2 && *count == self.count).then_some(value)
    }
}

pub(super) fn slots_used(parts: &[RowPart]) -> Vec<usize> {
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
