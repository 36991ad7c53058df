//! The one template type: what all rows of a list share, with slots where they differ.
//!
//! A template has one or more variants, one per row format (after a redesign the old and the new one are both kept),
//! and one list of columns, which every variant fills from its own slots. A constant text is an anchor and stays a
//! slot, hidden at first. It is not a condition: otherwise the list would be lost on the day one item is no longer “In
//! stock”.

mod exclusions;
mod finder;
mod notation;
mod row_rule;
mod source;
mod table_column;
mod variant;

pub use exclusions::Exclusions;
pub use finder::Finder;
pub(super) use row_rule::compile_pattern;
pub use row_rule::{RowAdjustment, RowRule};
pub use source::{ColumnSource, Delimiter, Recipe, SiblingCounts, Slot, SplitRule};
pub use table_column::TableColumn;
pub(super) use variant::slots_used;
pub use variant::{RowPart, TemplateElement, TrainingFit, Variant};

use serde::{Deserialize, Serialize};

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

    pub fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
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

    /// Appends a visible column that no variant has a source for: its cells are empty.
    pub fn add_empty_column(&mut self, name: &str) {
        self.columns.push(TemplateColumn { name: name.to_owned(), hidden: false });
        self.variants.iter_mut().for_each(|variant| variant.sources.push(None));
    }

    /// The old template with one more variant, which comes first and supersedes the others. `columns` maps each old
    /// column to a new one; the `rest` of the new columns are appended, hidden.
    pub fn with_variant(old: &Template, new: &Template, columns: &[Option<usize>], rest: &[usize]) -> Template {
        let mut made = old.clone();
        let Some(shape) = new.variants.first() else { return made };
        for &column in rest {
            let name = made.free_name(&new.columns[column].name);
            made.columns.push(TemplateColumn { name, hidden: true });
        }
        for variant in &mut made.variants {
            variant.sources.resize(made.columns.len(), None);
            variant.superseded = true;
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
