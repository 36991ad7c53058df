//! Accepts a candidate: computes template, columns and expected rows that are written into the task's folder.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ListProposal, PageLabeller, PageLabellingError, record_key};
use crate::learn::Candidate;
use crate::learn::apply::{ColumnTransform, TemplateReader};
use crate::learn::teach::{Help, coalesce_columns};
use crate::model::{Column, Table, counted};
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
    /// The columns that identify a record; by default the proposed ones.
    #[serde(default)]
    pub key: Option<Vec<String>>,
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
    /// `data.key` for task.toml.
    pub key: Vec<String>,
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
        let missing = self.missing_columns(proposal, choice);
        let (candidate, names) = merge_same_names(candidate, &choice.names);
        let (candidate, names) = with_empty_columns(candidate, names, missing);
        let mut template = candidate.template.clone();
        for (index, name) in names.iter().enumerate() {
            template.set_hidden(index, name.is_none());
            if let Some(name) = name {
                template.rename(index, name);
            }
        }
        let columns = self.columns(&candidate, &names)?;
        let shape = ColumnTransform::new(&columns)?;
        let published = TemplateReader::new(template.clone()).published_rows(&shape, &self.tree).table;
        let shown = without_empty_rows(shape.apply(candidate.table.with_column_names(&names)));
        if let Some(difference) = difference(&shown, &published) {
            return Err(PageLabellingError::NotAsShown { pick: choice.pick + 1, difference });
        }
        let proposed = self.names(proposal, choice.pick);
        let key = match &choice.key {
            Some(key) => check_key(key, &published)?,
            None => self.key(&columns, &published, &renamed_columns(&proposed, &choice.names)),
        };
        Ok(AcceptedList {
            key,
            template: template.to_json(),
            candidate: u32::try_from(choice.pick + 1).expect("at most five candidates are shown"),
            method: candidate.method.to_owned(),
            rows: published.rows.len() as u64,
            first_row: candidate.table.first_row(),
            columns,
            names: names.iter().flatten().cloned().collect(),
            expected: published,
            said: proposal.said.clone(),
            repairs: proposal.repairs,
            seconds: choice.seconds.map(|it| (it * 10.0).round() / 10.0),
        })
    }

    /// The columns that identify a record: those of task.toml, under their new names, if each still has a value in
    /// every row; otherwise the proposed ones.
    pub(super) fn key(&self, columns: &[Column], table: &Table, renamed: &BTreeMap<&str, &str>) -> Vec<String> {
        let new_name = |name: &String| (*renamed.get(name.as_str()).unwrap_or(&name.as_str())).to_owned();
        let known: Vec<String> = self.known.key.iter().map(new_name).collect();
        let is_filled = |name: &String| {
            let at = table.columns.iter().position(|column| column == name);
            at.is_some_and(|at| table.rows.iter().all(|row| row.cells[at].is_some()))
        };
        let is_usable = !known.is_empty() && known.iter().all(is_filled);
        if is_usable { known } else { record_key::propose(columns, table) }
    }

    /// Columns of task.toml with published values for which this list has none.
    pub(super) fn lost_columns(&self, table: &Table) -> Vec<String> {
        let Some(good) = &self.known.good else { return Vec::new() };
        let before = filled_columns(good).filter(|name| self.known.columns.iter().any(|it| it.name == *name));
        let now: BTreeSet<&str> = filled_columns(table).collect();
        before.filter(|name| !now.contains(name)).map(str::to_owned).collect()
    }

    /// The columns for task.toml and the rows under these names.
    pub(super) fn named(&self, candidate: &Candidate, names: &[Option<String>]) -> (Vec<Column>, Table) {
        let columns = self.columns(candidate, names).unwrap_or_default();
        let shape = ColumnTransform::new(&columns).unwrap_or_default();
        let table = shape.apply(candidate.table.with_column_names(names));
        (columns, table)
    }

    /// Columns of task.toml that the chosen list lacks: they are kept, empty, until a person removes them. A column
    /// that the person left out or renamed is removed.
    fn missing_columns(&self, proposal: &ListProposal, choice: &CandidateChoice) -> Vec<String> {
        if !proposal.steps_of(choice.pick).is_empty() {
            // The person split or joined columns.
            return Vec::new();
        }
        let proposed = self.names(proposal, choice.pick);
        let mut has: BTreeSet<&str> = proposed.iter().chain(&choice.names).flatten().map(String::as_str).collect();
        let transform = ColumnTransform::new(&self.known.columns).unwrap_or_default();
        has.extend(transform.derived_columns().iter().map(|(column, _)| column.name.as_str()));
        let names = self.known.columns.iter().map(|column| column.name.as_str());
        names.filter(|name| !has.contains(name)).map(str::to_owned).collect()
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

/// New names of the columns that a person renamed.
fn renamed_columns<'n>(proposed: &'n [Option<String>], chosen: &'n [Option<String>]) -> BTreeMap<&'n str, &'n str> {
    let pairs = proposed.iter().zip(chosen).filter_map(|(old, new)| Some((old.as_deref()?, new.as_deref()?)));
    pairs.collect()
}

/// The key that a person gave, if the list has its columns.
fn check_key(key: &[String], table: &Table) -> Result<Vec<String>, PageLabellingError> {
    match key.iter().find(|name| !table.columns.contains(name)) {
        Some(name) => Err(PageLabellingError::NoKeyColumn { name: name.clone(), columns: table.columns.join(", ") }),
        None => Ok(key.to_vec()),
    }
}

/// Columns with a value in at least one row.
fn filled_columns(table: &Table) -> impl Iterator<Item = &str> {
    let has_value = |at: usize| table.rows.iter().any(|row| row.cells.get(at).is_some_and(Option::is_some));
    table.columns.iter().enumerate().filter(move |(at, _)| has_value(*at)).map(|(_, name)| name.as_str())
}

/// Adds these columns without a value.
fn with_empty_columns(
    mut candidate: Candidate,
    mut names: Vec<Option<String>>,
    missing: Vec<String>,
) -> (Candidate, Vec<Option<String>>) {
    for name in missing {
        candidate.template.add_empty_column(&name);
        candidate.table.columns.push(name.clone());
        candidate.table.rows.iter_mut().for_each(|row| row.cells.push(None));
        names.push(Some(name));
    }
    (candidate, names)
}

fn without_empty_rows(mut table: Table) -> Table {
    table.rows.retain(|row| row.cells.iter().any(Option::is_some));
    table
}

/// How the rows that would be published differ from those that were shown.
fn difference(shown: &Table, published: &Table) -> Option<String> {
    if shown.columns != published.columns {
        return Some(format!("the columns {} became {}", shown.columns.join(", "), published.columns.join(", ")));
    }
    let (were, are) = (shown.rows.len(), published.rows.len());
    if were != are {
        return Some(format!("{} became {are}", counted(were, "row")));
    }
    let changed = shown.rows.iter().zip(&published.rows).filter(|(shown, published)| shown != published).count();
    (changed > 0).then(|| format!("{} of {} changed", changed, counted(were, "row")))
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
