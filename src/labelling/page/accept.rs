//! Accepts a candidate: computes template, columns and expected rows that are written into the task's folder.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ListProposal, PageLabeller, PageLabellingError};
use crate::learn::Candidate;
use crate::learn::apply::ColumnTransform;
use crate::learn::teach::{Help, coalesce_columns};
use crate::model::{Column, Table};
use crate::normalise::{Hints, infer};

/// The candidate and the column names that a person chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateChoice {
    /// Which candidate, from 0.
    pub pick: usize,
    /// For each column of the candidate: its name, or `None` to leave it out.
    pub names: Vec<Option<String>>,
    /// How long the person took.
    pub seconds: Option<f64>,
}

/// All that is written into the task's folder, except the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AcceptedList {
    /// As JSON text.
    pub template: String,
    /// Number of the shown candidate, from 1.
    pub candidate: u32,
    pub method: String,
    pub rows: u64,
    pub first_row: String,
    /// The columns for task.toml.
    pub columns: Vec<Column>,
    /// The chosen names, in the order of the slots.
    pub names: Vec<String>,
    /// The rows expected on the page, for the sample.
    pub expected: Table,
    pub said: Help,
    pub repairs: bool,
    pub seconds: Option<f64>,
}

impl PageLabeller {
    pub fn accept(
        &self,
        proposal: &ListProposal,
        choice: &CandidateChoice,
    ) -> Result<AcceptedList, PageLabellingError> {
        let most = proposal.candidates.len();
        let none = || PageLabellingError::NoSuchCandidate { given: choice.pick.saturating_add(1), most };
        let candidate = proposal.candidates.get(choice.pick).ok_or_else(none)?;
        check_names(choice, candidate)?;
        let (candidate, names) = merge_same_names(candidate, &choice.names);
        let mut template = candidate.template.clone();
        for (index, name) in names.iter().enumerate() {
            template.set_hidden(index, name.is_none());
            if let Some(name) = name {
                template.rename(index, name);
            }
        }
        let columns = self.columns(&candidate, &names)?;
        let shape = ColumnTransform::new(&columns)?;
        Ok(AcceptedList {
            template: template.to_json(),
            candidate: u32::try_from(choice.pick + 1).expect("at most five candidates are shown"),
            method: candidate.method.to_owned(),
            rows: candidate.table.rows.len() as u64,
            first_row: candidate.table.first_row(),
            columns,
            names: names.iter().flatten().cloned().collect(),
            expected: shape.apply(candidate.table.with_column_names(&names)),
            said: proposal.said.clone(),
            repairs: proposal.repairs,
            seconds: choice.seconds.map(|it| (it * 10.0).round() / 10.0),
        })
    }

    /// The columns for task.toml. Known columns stay as a person wrote them, with the columns derived from them; new
    /// ones get the type inferred from their values.
    fn columns(&self, candidate: &Candidate, names: &[Option<String>]) -> Result<Vec<Column>, PageLabellingError> {
        let (known, tree) = (&self.known, self.tree());
        let lang = tree.elements("html").next().and_then(|html| tree.attribute(html, "lang"));
        let hints = Hints::new(known.timezone, known.page.fetched_at, Some(&known.page.url), lang);
        let before = ColumnTransform::new(&known.columns)?;
        let mut columns = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let Some(name) = name else { continue };
            let known = known.columns.iter().find(|column| column.name == *name);
            columns.push(known.cloned().unwrap_or_else(|| {
                let is_shown = candidate.template.variants.iter().any(|variant| variant.reads_text(at));
                let values = candidate.table.rows.iter().filter_map(|row| row.cells.get(at)?.as_deref());
                Column { kind: infer::column(values, is_shown, &hints), ..Column::text(name) }
            }));
        }
        for (column, sources) in before.derived_columns() {
            let has = |name: &str| columns.iter().any(|it: &Column| it.name == name);
            if sources.iter().all(|source| has(source)) && !has(&column.name) {
                columns.push(column.clone());
            }
        }
        Ok(columns)
    }
}

fn check_names(choice: &CandidateChoice, candidate: &Candidate) -> Result<(), PageLabellingError> {
    let columns = candidate.template.columns();
    if choice.names.len() != columns.len() {
        let shown = columns.iter().map(|column| column.name.clone()).collect();
        return Err(PageLabellingError::NameCount { pick: choice.pick + 1, shown, given: choice.names.len() });
    }
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for name in choice.names.iter().flatten() {
        if *seen.entry(name.to_lowercase()).or_insert(name) != name {
            return Err(PageLabellingError::NameTwice(name.clone()));
        }
    }
    if seen.is_empty() { Err(PageLabellingError::NoColumns) } else { Ok(()) }
}

/// Merges columns with the same name into one at the end; a cell is the first non-empty one.
fn merge_same_names(candidate: &Candidate, names: &[Option<String>]) -> (Candidate, Vec<Option<String>>) {
    let (mut candidate, mut names) = (candidate.clone(), names.to_vec());
    let given: BTreeSet<String> = names.iter().flatten().cloned().collect();
    for name in given {
        let columns: Vec<usize> = (0..names.len()).filter(|&i| names[i].as_ref() == Some(&name)).collect();
        if columns.len() > 1 {
            coalesce_columns(&mut candidate, &name, &columns);
            columns.iter().for_each(|&column| names[column] = None);
            names.push(Some(name));
        }
    }
    (candidate, names)
}
