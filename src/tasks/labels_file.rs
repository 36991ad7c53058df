//! labels.toml: what a person said about the task's pages. Kept for ever, since every template comes from it again.

use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::folder::{Folder, PUBLIC_FILE};
use super::partial_toml::PartialToml;
use super::{Problem, TomlSource};
use crate::learn::adjust::RowAdjustment;
use crate::learn::edits::{RequestedColumn, SpreadsheetStep};
use crate::learn::row_rule::RowRule;

pub(super) const LABELS_FILE: &str = "labels.toml";

/// Labels gather over years; a pick is some 300 bytes.
const MAX_LABELS_BYTES: u64 = 4 << 20;

const HEADER: &str =
    "# What a person said about this task's pages, oldest first. pieme learns from it again after a redesign.\n\n";

/// Oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    #[serde(default, rename = "label")]
    pub labels: Vec<Label>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    pub when: DateTime<Utc>,
    pub kind: LabelKind,
    /// Which of the shown candidates it was, counted from 1.
    pub candidate: u32,
    /// What had found that candidate.
    pub method: String,
    pub rows: u64,
    /// Text of the candidate's first row, to find the list again by.
    pub first_row: String,
    /// Names of the columns, in order of the slots.
    #[serde(default)]
    pub columns: Vec<String>,
    /// How long the person looked, where one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What else the person said of the page, to say it again when the page has changed.
    #[serde(default, skip_serializing_if = "LabelHelp::is_empty")]
    pub said: LabelHelp,
}

/// The words of a person who helped: texts and selectors, as given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LabelHelp {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enclose: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enclose_css: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub record: Vec<String>,
    /// Values of records: (column, value); a column that comes again starts the next record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label: Vec<(String, String)>,
    /// Texts that are the same in each record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constant: Vec<String>,
    /// Texts of records that are not wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
    /// How like an enclosed block a row must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
    /// The cut of the chosen candidate's rows, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjust: Vec<RowAdjustment>,
    /// The rows by selector or expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowRule>,
    /// Columns by selector or expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub column: Vec<RequestedColumn>,
    /// Columns cut and joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sheet: Vec<SpreadsheetStep>,
}

impl LabelHelp {
    pub fn is_empty(&self) -> bool {
        *self == LabelHelp::default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelKind {
    /// One of the candidates was chosen.
    Pick,
    /// A block was enclosed.
    Enclose,
    /// Values were labelled.
    Label,
    /// Records were clicked.
    Record,
    /// Rows were widened, narrowed or rotated, columns cut or joined.
    Adjust,
    /// Rows or columns were given by selector or expression.
    Tell,
    /// After a redesign the list was found again, and a person said yes.
    Repair,
    /// The same, and nobody was asked (`expect.auto_accept`).
    #[serde(rename = "mended")]
    AutoRepair,
}

impl Labels {
    /// When a person last said what the list is: runs before that were of another one.
    pub fn last(&self) -> Option<DateTime<Utc>> {
        self.labels.last().map(|label| label.when)
    }

    /// The last one was not a person's.
    pub fn is_auto_repaired(&self) -> bool {
        self.labels.last().is_some_and(|label| label.kind == LabelKind::AutoRepair)
    }

    /// The last one added a page to those before.
    pub(super) fn is_repair(&self) -> bool {
        self.labels.last().is_some_and(|label| matches!(label.kind, LabelKind::Repair | LabelKind::AutoRepair))
    }

    /// A person has said yes to the template.
    pub fn is_confirmed(&self) -> bool {
        !self.labels.is_empty()
    }
}

/// The labels of a task; none when there is no file yet.
pub fn read_labels(dir: &Path) -> Result<Labels, Problem> {
    let folder = Folder::open(dir)?;
    match folder.read(LABELS_FILE, MAX_LABELS_BYTES)? {
        Some(bytes) => TomlSource::new(dir.join(LABELS_FILE), bytes)?.parse(),
        None => Ok(Labels::default()),
    }
}

/// Everything that is wrong with labels.toml. A run reads it; the daemon does not: ten thousand more files at a start.
pub fn check_labels(dir: &Path) -> Vec<Problem> {
    let read = Folder::open(dir).and_then(|folder| folder.read(LABELS_FILE, MAX_LABELS_BYTES));
    let source = read
        .map_err(Problem::from)
        .and_then(|bytes| bytes.map(|bytes| TomlSource::new(dir.join(LABELS_FILE), bytes)).transpose());
    match source {
        Ok(source) => source.map(|source| PartialToml::<Labels>::of(&source).problems).unwrap_or_default(),
        Err(problem) => vec![problem],
    }
}

pub fn write_labels(dir: &Path, labels: &Labels) -> Result<(), Problem> {
    let text = toml::to_string(labels)
        .map_err(|error| Problem::new(&dir.join(LABELS_FILE), format!("the labels cannot be written: {error}")))?;
    Folder::open(dir)?.replace(LABELS_FILE, format!("{HEADER}{text}").as_bytes(), PUBLIC_FILE)?;
    Ok(())
}
