//! labels.toml: the supervision of a task, that is, what a person said about its pages. Kept for ever, because
//! templates are learned from it again.

use std::path::Path;

use chrono::{DateTime, SubsecRound, Utc};
use serde::{Deserialize, Serialize};

use super::folder::{Folder, PUBLIC_FILE};
use super::partial_toml::PartialToml;
use super::{Problem, TomlSource};
use crate::learn::teach::{RequestedColumn, SpreadsheetStep};
use crate::learn::template::{RowAdjustment, RowRule};

pub(super) const LABELS_FILE: &str = "labels.toml";

/// Labels accumulate over years; a pick has about 300 bytes.
const MAX_LABELS_BYTES: u64 = 4 << 20;

const HEADER: &str = "# What a person said about this task's pages, oldest first; used again after a redesign.\n\n";

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
    /// The method that found the candidate.
    pub method: String,
    pub rows: u64,
    /// Text of the candidate's first row, by which the list is found again.
    pub first_row: String,
    /// Names of the columns, in order of the slots.
    #[serde(default)]
    pub columns: Vec<String>,
    /// How long the person took, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Further help from the person, applied again when the page has changed.
    #[serde(default, skip_serializing_if = "LabelHelp::is_empty")]
    pub said: LabelHelp,
}

/// A person's help: texts and selectors, as given.
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
    /// Texts that are constant over all records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constant: Vec<String>,
    /// Texts of records that are not wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
    /// How similar to an enclosed block a row must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
    /// Adjustments of the chosen candidate's rows, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjust: Vec<RowAdjustment>,
    /// The rows, by CSS selector or XPath expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowRule>,
    /// Columns, by CSS selector or XPath expression.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub column: Vec<RequestedColumn>,
    /// Columns that were split and joined.
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
    /// Rows were widened, narrowed or rotated, or columns split or joined.
    Adjust,
    /// Rows or columns were given by CSS selector or XPath expression.
    Tell,
    /// A repair after a redesign that a person accepted.
    Repair,
    /// A repair that was accepted without a person (`expect.auto_accept`).
    #[serde(rename = "mended")]
    AutoRepair,
}

impl Label {
    /// When it was given. In milliseconds, as the start of a run is stored: a repair has the time of its own run.
    pub fn labelled_at(&self) -> DateTime<Utc> {
        self.when.trunc_subsecs(3)
    }
}

impl Labels {
    /// When the list was last labelled; earlier runs were of another list.
    pub fn last(&self) -> Option<DateTime<Utc>> {
        self.labels.last().map(Label::labelled_at)
    }

    /// When a person last labelled the list.
    pub fn last_by_person(&self) -> Option<DateTime<Utc>> {
        self.labels.iter().rev().find(|label| label.kind != LabelKind::AutoRepair).map(Label::labelled_at)
    }

    /// Whether the last label was accepted without a person.
    pub fn is_auto_repaired(&self) -> bool {
        self.labels.last().is_some_and(|label| label.kind == LabelKind::AutoRepair)
    }

    /// Whether the last label is a repair, which adds a page to the samples.
    pub(super) fn is_repair(&self) -> bool {
        self.labels.last().is_some_and(|label| matches!(label.kind, LabelKind::Repair | LabelKind::AutoRepair))
    }

    /// Whether a person has confirmed the template.
    pub fn is_confirmed(&self) -> bool {
        !self.labels.is_empty()
    }
}

/// The labels of a task; empty if there is no file yet.
pub fn read_labels(dir: &Path) -> Result<Labels, Problem> {
    let folder = Folder::open(dir)?;
    match folder.read(LABELS_FILE, MAX_LABELS_BYTES)? {
        Some(bytes) => TomlSource::new(dir.join(LABELS_FILE), bytes)?.parse(),
        None => Ok(Labels::default()),
    }
}

/// Everything that is wrong with labels.toml. The daemon leaves this to the runs: it would be ten thousand more files
/// to read at the start.
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
        .map_err(|error| Problem::new(&dir.join(LABELS_FILE), format!("writing the labels failed: {error}")))?;
    Folder::open(dir)?.replace(LABELS_FILE, format!("{HEADER}{text}").as_bytes(), PUBLIC_FILE)?;
    Ok(())
}
