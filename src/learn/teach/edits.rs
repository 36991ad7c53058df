//! A person's edits of one candidate: rows widened, narrowed or rotated; columns requested, split and joined.

use serde::{Deserialize, Serialize};

use super::error::HelpError;
use crate::learn::candidates::Candidate;
use crate::learn::columns::{by_css, by_pattern, drill_down_values, join_cells};
use crate::learn::template::{ColumnSource, Delimiter, Recipe, RowAdjustment, compile_pattern};
use crate::learn::view::{Limit, PageView, text};
use crate::page::Selector;
use crate::page::tokens::Span;

/// Edits of one candidate. No edits are `CandidateEdits::default()`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CandidateEdits {
    /// Index of the candidate, counted from 0.
    pub candidate: usize,
    /// Adjustments of the rows, in order.
    pub adjust: Vec<RowAdjustment>,
    /// Columns by selector or regular expression. If there are any, all others are hidden.
    pub columns: Vec<RequestedColumn>,
    /// Columns split and joined, in order.
    pub sheet: Vec<SpreadsheetStep>,
}

/// A column that a person defines by a selector or regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedColumn {
    pub name: String,
    #[serde(flatten)]
    pub by: ColumnSelector,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ColumnSelector {
    /// The text, or an attribute, of the first matching element in the row.
    Css {
        css: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attribute: Option<String>,
    },
    /// The first group of the first match in the row's text, or the whole match.
    Pattern { pattern: String },
}

/// OLERA's two spreadsheet operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpreadsheetStep {
    /// Drill down: `format` becomes `format.1`, `format.2` …
    Split { column: String, at: Delimiter },
    /// Roll up.
    Join {
        columns: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        with: String,
    },
}

impl SpreadsheetStep {
    /// Whether this step hides a column of this name.
    pub fn consumes(&self, name: &str) -> bool {
        match self {
            SpreadsheetStep::Split { column, .. } => column == name,
            SpreadsheetStep::Join { columns, .. } => columns.iter().any(|it| it == name),
        }
    }

    /// Whether this step creates a column of this name.
    pub fn produces(&self, name: &str) -> bool {
        match self {
            SpreadsheetStep::Split { column, .. } => {
                let piece = name.strip_prefix(column.as_str()).and_then(|rest| rest.strip_prefix('.'));
                piece.is_some_and(|nth| nth.parse::<usize>().is_ok())
            }
            SpreadsheetStep::Join { columns, name: given, .. } => joined_name(columns, given.as_deref()) == name,
        }
    }
}

fn joined_name(columns: &[String], given: Option<&str>) -> String {
    given.map_or_else(|| columns.join("+"), str::to_owned)
}

impl CandidateEdits {
    pub fn is_empty(&self) -> bool {
        self.adjust.is_empty() && self.columns.is_empty() && self.sheet.is_empty()
    }
}

/// Adds the requested columns, then splits and joins. `named`: a person has named the columns that are shown so far.
pub fn apply_edits(
    view: &PageView<'_>,
    candidate: &mut Candidate,
    rows: &[Span],
    finish: &CandidateEdits,
    named: bool,
) -> Result<(), HelpError> {
    if !finish.columns.is_empty() && !named {
        (0..candidate.table.columns.len()).for_each(|column| candidate.template.set_hidden(column, true));
        // The requested columns do not depend on the learned ones.
        let is_about_columns = |it: &Limit| matches!(it, Limit::Leaves | Limit::Columns | Limit::Comparisons);
        candidate.limit = candidate.limit.filter(|limit| !is_about_columns(limit));
    }
    for asked in &finish.columns {
        let (recipe, cells) = requested_cells(view, rows, &asked.by)?;
        add_column(candidate, &asked.name, recipe, cells);
    }
    for step in &finish.sheet {
        match step {
            SpreadsheetStep::Split { column, at } => split(candidate, column, at)?,
            SpreadsheetStep::Join { columns, name, with } => join(candidate, columns, name.as_deref(), with)?,
        }
    }
    Ok(())
}

type ColumnCells = Vec<Option<String>>;

fn requested_cells(
    view: &PageView<'_>,
    rows: &[Span],
    by: &ColumnSelector,
) -> Result<(Recipe, ColumnCells), HelpError> {
    let (recipe, cells, said): (Recipe, ColumnCells, &str) = match by {
        ColumnSelector::Css { css, attribute } => {
            let selector = Selector::parse(css)?;
            let cells = rows.iter().map(|&row| by_css(view, row, &selector, attribute.as_deref())).collect();
            (Recipe::Css { css: css.clone(), attribute: attribute.clone() }, cells, css)
        }
        ColumnSelector::Pattern { pattern: expression } => {
            let pattern = compile_pattern(expression).map_err(|_| HelpError::Pattern(expression.clone()))?;
            let cells = rows.iter().map(|&row| by_pattern(&pattern, &text(&view.tokens, row))).collect();
            (Recipe::Pattern { pattern: expression.clone() }, cells, expression)
        }
    };
    if cells.iter().all(Option::is_none) {
        return Err(HelpError::NoMatchInRows(said.to_owned()));
    }
    Ok((recipe, cells))
}

fn split(candidate: &mut Candidate, name: &str, at: &Delimiter) -> Result<(), HelpError> {
    let (column, source) = find_column(candidate, name)?;
    let values: Vec<Option<&str>> = candidate.table.rows.iter().map(|row| row.cells[column].as_deref()).collect();
    let (slots, pieces) = drill_down_values(&values, at);
    if slots.len() < 2 {
        return Err(HelpError::OnePiece(name.to_owned()));
    }
    candidate.template.set_hidden(column, true);
    for nth in 0..slots.len() {
        let cells = pieces.iter().map(|row| row[nth].clone()).collect();
        let recipe = Recipe::Drilled { of: Box::new(source.clone()), at: at.clone(), slots: slots.clone(), nth };
        add_column(candidate, &format!("{name}.{}", nth + 1), recipe, cells);
    }
    Ok(())
}

fn join(candidate: &mut Candidate, names: &[String], name: Option<&str>, with: &str) -> Result<(), HelpError> {
    let found = names.iter().map(|name| find_column(candidate, name)).collect::<Result<Vec<_>, _>>()?;
    let (columns, of): (Vec<usize>, Vec<ColumnSource>) = found.into_iter().unzip();
    let rows = candidate.table.rows.iter();
    let cells = rows.map(|row| join_cells(columns.iter().map(|&i| row.cells[i].clone()), with)).collect();
    columns.iter().for_each(|&column| candidate.template.set_hidden(column, true));
    add_column(candidate, &joined_name(names, name), Recipe::Joined { of, with: with.to_owned() }, cells);
    Ok(())
}

/// One column for a field with several structures: the first non-empty cell of the given columns.
pub fn coalesce_columns(candidate: &mut Candidate, name: &str, columns: &[usize]) {
    let cell = |cells: &[Option<String>]| columns.iter().find_map(|&column| cells[column].clone());
    let cells = candidate.table.rows.iter().map(|row| cell(&row.cells)).collect();
    let sources = &candidate.template.variants[0].sources;
    let recipe = Recipe::First { of: columns.iter().filter_map(|&column| sources.get(column)?.clone()).collect() };
    columns.iter().for_each(|&column| candidate.template.set_hidden(column, true));
    add_column(candidate, name, recipe, cells);
}

fn find_column(candidate: &Candidate, name: &str) -> Result<(usize, ColumnSource), HelpError> {
    let column = candidate.table.columns.iter().position(|it| it == name);
    let found = column.and_then(|column| Some((column, candidate.template.variants[0].sources[column].clone()?)));
    found.ok_or_else(|| HelpError::NoColumn(name.to_owned(), visible_names(candidate)))
}

fn visible_names(candidate: &Candidate) -> String {
    let columns = candidate.template.columns().iter().filter(|column| !column.hidden);
    columns.map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Appends a column. If the name is taken, the older column is renamed: names are unique.
fn add_column(candidate: &mut Candidate, name: &str, recipe: Recipe, cells: ColumnCells) {
    if let Some(old) = candidate.table.columns.iter().position(|it| it == name) {
        let is_free = |it: &String| !candidate.table.columns.contains(it);
        let other = (0..).map(|i| format!("{name}-{i}")).find(is_free).expect("columns are finite");
        candidate.template.rename(old, &other);
        candidate.table.columns[old] = other;
    }
    candidate.template.add_column(name, ColumnSource::Derived(recipe));
    candidate.table.columns.push(name.to_owned());
    for (row, cell) in candidate.table.rows.iter_mut().zip(cells) {
        row.cells.push(cell);
    }
}

#[cfg(test)]
mod tests;
