//! PIEME's labels: a person names values of one or two records. The labels select the list, determine its rows and name
//! its columns.
//!
//! The candidates of the page come first; two labelled records re-rank them best (docs/design/learning.md 4). If none
//! has the labelled values in one row per record, rows are built from the paths of the labelled nodes, as in the
//! thesis.

mod matrix;
mod text_positions;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use text_positions::MAX_POSITIONS;
pub use text_positions::{LabelledRecord, Meaning, PageText, ValueLabel};
pub use tree::row_sets;

use super::edits::coalesce_columns;
use crate::learn::candidates::Candidate;
use crate::learn::rows::RowSet;
use crate::learn::template::ColumnSource;
use crate::model::Row;
use crate::page::text::is_blank;
use crate::page::tokens::Span;

/// Splits labels, in the order given, into records: a repeated name starts the next one.
pub fn group_by_record(labels: &[ValueLabel]) -> Vec<Vec<ValueLabel>> {
    let mut records: Vec<Vec<ValueLabel>> = Vec::new();
    for label in labels {
        let repeats =
            |record: &Vec<ValueLabel>| label.name().is_some() && record.iter().any(|it| it.name() == label.name());
        match records.last_mut() {
            Some(record) if !repeats(record) => record.push(label.clone()),
            _ => records.push(vec![label.clone()]),
        }
    }
    records
}

/// Adds a constant to every record, or a wildcard to the nearest record. If there is none yet, it becomes a record of
/// its own.
pub fn attach(instances: &mut Vec<LabelledRecord>, sign: (ValueLabel, Vec<Span>)) {
    if instances.is_empty() {
        instances.push(LabelledRecord { labels: vec![sign] });
        return;
    }
    if sign.0.meaning == Meaning::Constant {
        instances.iter_mut().for_each(|instance| instance.labels.push(sign.clone()));
        return;
    }
    let distance = |instance: &LabelledRecord| {
        let places = instance.labels.iter().flat_map(|(_, places)| places);
        let pairs = places.flat_map(|place| sign.1.iter().map(move |it| it.start.abs_diff(place.start)));
        pairs.min().unwrap_or(u32::MAX)
    };
    let nearest = (0..instances.len()).min_by_key(|&i| distance(&instances[i])).expect("there is a record");
    instances[nearest].labels.push(sign);
}

/// For each instance, the row with the most of its labels, and their number. No two instances share a row.
pub fn rows_of(rows: &[Span], instances: &[LabelledRecord]) -> Vec<Option<(usize, usize)>> {
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for instance in instances {
        let mut labels_in: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (label, (_, places)) in instance.labels.iter().enumerate() {
            for row in places.iter().filter_map(|&place| row_around(rows, place)) {
                labels_in.entry(row).or_default().insert(label);
            }
        }
        let free = labels_in.into_iter().filter(|(row, _)| !used.contains(row));
        let best =
            free.map(|(row, labels)| (row, labels.len())).max_by_key(|&(row, count)| (count, std::cmp::Reverse(row)));
        used.extend(best.map(|(row, _)| row));
        found.push(best);
    }
    found
}

fn row_around(rows: &[Span], place: Span) -> Option<usize> {
    let row = rows.partition_point(|row| row.start <= place.start).checked_sub(1)?;
    (place.stop <= rows[row].stop).then_some(row)
}

/// Share of the labels that are in their record's row. A constant is discounted by the share of rows that lack it.
pub fn labelled_share(set: &RowSet, instances: &[LabelledRecord]) -> f64 {
    let given: usize = instances.iter().map(|instance| instance.labels.len()).sum();
    let found: usize = rows_of(&set.rows, instances).into_iter().flatten().map(|(_, count)| count).sum();
    let labels = instances.iter().flat_map(|instance| &instance.labels);
    let constants = labels.filter(|(label, _)| label.meaning == Meaning::Constant);
    let lacking = |(_, places): &(ValueLabel, Vec<Span>)| {
        let having: BTreeSet<usize> = places.iter().filter_map(|&place| row_around(&set.rows, place)).collect();
        1.0 - having.len() as f64 / set.rows.len().max(1) as f64
    };
    (found as f64 - constants.map(lacking).sum::<f64>()) / given.max(1) as f64
}

/// Copies of row sets without the rows that lack a constant, such as a header, a total or an advertisement.
pub fn with_constants(sets: &[&RowSet], instances: &[LabelledRecord]) -> Vec<RowSet> {
    let labels = instances.iter().flat_map(|instance| &instance.labels);
    let is_constant = |label: &ValueLabel| label.meaning == Meaning::Constant;
    // Of more frequent texts not all positions are known.
    let constants: Vec<&Vec<Span>> =
        labels.filter(|(label, places)| is_constant(label) && places.len() < MAX_POSITIONS).map(|(_, it)| it).collect();
    let filtered = |set: &&RowSet| {
        let has = |row: &&Span| {
            constants.iter().all(|places| places.iter().any(|it| row.start <= it.start && it.stop <= row.stop))
        };
        let rows: Vec<Span> = set.rows.iter().filter(has).copied().collect();
        (rows.len() >= 2 && rows.len() < set.rows.len()).then(|| RowSet { rows, ..(*set).clone() })
    };
    if constants.is_empty() { Vec::new() } else { sets.iter().filter_map(filtered).collect() }
}

/// Hides the columns that contain a text labelled as not wanted.
pub fn hide_wildcards(candidate: &mut Candidate, labels: &[ValueLabel]) {
    for label in labels.iter().filter(|label| label.meaning == Meaning::Wildcard) {
        for column in 0..candidate.table.columns.len() {
            let holds = |row: &Row| {
                row.cells[column].as_deref().is_some_and(|cell| without_blanks(cell) == without_blanks(&label.text))
            };
            if candidate.table.rows.iter().any(holds) {
                candidate.template.set_hidden(column, true);
            }
        }
    }
}

/// Score of a cell that contains the labelled value and more: the right column, but the value is not cut out.
const CONTAINS_SCORE: f64 = 0.5;
const MIN_CONTAINED_CHARS: usize = 3;

/// Names the candidate's columns after the labels and hides all others. Returns the share of the labels that have a
/// column. A name goes to the column that agrees with most records; plain slots are preferred to derived columns. If
/// the labelled values are in several columns, because the field has several structures, one column takes the first
/// that is not empty.
pub fn name_columns(candidate: &mut Candidate, rows: &[Span], instances: &[LabelledRecord]) -> f64 {
    let found = rows_of(rows, instances);
    let mut names: Vec<&str> = Vec::new();
    for (label, _) in instances.iter().flat_map(|instance| &instance.labels) {
        names.extend(label.name().filter(|name| !names.contains(name)));
    }
    let mut taken: BTreeMap<usize, &str> = BTreeMap::new();
    let mut several: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut worth = 0.0;
    for name in names {
        let wanted: Vec<(usize, &str)> = instances
            .iter()
            .zip(&found)
            .filter_map(|(instance, row)| Some((row.as_ref()?.0, instance)))
            .flat_map(|(row, instance)| instance.labels.iter().map(move |(label, _)| (row, label)))
            .filter(|(_, label)| label.name() == Some(name))
            .map(|(row, label)| (row, label.text.as_str()))
            .collect();
        let Some((agrees, column)) = best_column(candidate, &taken, &wanted) else { continue };
        taken.insert(column, name);
        let columns = coalescing_columns(candidate, &taken, column, &wanted);
        if columns.len() > 1 {
            columns.iter().for_each(|&column| _ = taken.insert(column, name));
            worth += wanted.len() as f64;
            several.push((name, columns));
        } else {
            worth += agrees;
        }
    }
    if taken.is_empty() {
        return 0.0;
    }
    let own: Vec<String> = candidate.table.columns.clone();
    for (column, old) in own.iter().enumerate() {
        let new = taken.get(&column).filter(|_| !several.iter().any(|(_, columns)| columns.contains(&column)));
        candidate.template.set_hidden(column, new.is_none());
        // A label's name takes precedence over an equal name of another column.
        let name = new.map_or(old.as_str(), |name| name);
        candidate.template.rename(column, name);
        candidate.table.columns[column] = name.to_owned();
    }
    for (name, columns) in several {
        coalesce_columns(candidate, name, &columns);
    }
    let given =
        instances.iter().flat_map(|instance| &instance.labels).filter(|(label, _)| label.name().is_some()).count();
    worth / given.max(1) as f64
}

/// The free column that agrees best, and its agreement.
fn best_column(candidate: &Candidate, taken: &BTreeMap<usize, &str>, wanted: &[(usize, &str)]) -> Option<(f64, usize)> {
    let free = (0..candidate.table.columns.len()).filter(|column| !taken.contains_key(column));
    let value = |column: usize| (agreement(candidate, column, wanted), preference(candidate, column));
    let best = free
        .map(|column| (value(column), column))
        .max_by(|(a, i), (b, j)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(j.cmp(i)));
    best.filter(|((agrees, _), _)| *agrees > 0.0).map(|((agrees, _), column)| (agrees, column))
}

/// Maximum number of structures of one field.
const MAX_STRUCTURES: usize = 4;

/// The columns whose first non-empty cell is the labelled value in every labelled row. Only the given column if others
/// do not help.
fn coalescing_columns(
    candidate: &Candidate,
    taken: &BTreeMap<usize, &str>,
    column: usize,
    wanted: &[(usize, &str)],
) -> Vec<usize> {
    let cell = |column: usize, row: usize| candidate.table.rows.get(row).and_then(|it| it.cells[column].as_deref());
    let is_value = |column: usize, &(row, text): &(usize, &str)| {
        cell(column, row).is_some_and(|cell| without_blanks(cell) == without_blanks(text))
    };
    let mut columns = vec![column];
    let mut lacking: Vec<(usize, &str)> = wanted.iter().copied().filter(|it| !is_value(column, it)).collect();
    let mut having: Vec<(usize, &str)> = wanted.iter().copied().filter(|it| is_value(column, it)).collect();
    while !lacking.is_empty() && !having.is_empty() && columns.len() < MAX_STRUCTURES {
        let mut used = taken.clone();
        columns.iter().for_each(|&column| _ = used.insert(column, ""));
        let Some((_, other)) = best_column(candidate, &used, &lacking) else { break };
        let (now, rest): (Vec<_>, Vec<_>) = lacking.iter().copied().partition(|it| is_value(other, it));
        let behind = now.iter().all(|&(row, _)| columns.iter().all(|&column| cell(column, row).is_none()));
        let before = having.iter().all(|&(row, _)| cell(other, row).is_none());
        match (now.is_empty(), behind, before) {
            (false, true, _) => columns.push(other),
            (false, false, true) => columns.insert(0, other),
            _ => break,
        }
        having.extend(now);
        lacking = rest;
    }
    if lacking.is_empty() { columns } else { vec![column] }
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|&c| !is_blank(c)).collect()
}

/// Sum over the labelled rows of how well the column's cell matches the value.
fn agreement(candidate: &Candidate, column: usize, wanted: &[(usize, &str)]) -> f64 {
    let of_row = |&(row, text): &(usize, &str)| {
        let cell = candidate.table.rows.get(row).and_then(|row| row.cells[column].as_deref());
        let (cell, text) = (without_blanks(cell.unwrap_or("")), without_blanks(text));
        match () {
            () if cell == text => 1.0,
            // Shorter cells are better. One or two characters are in any text, so they do not count.
            () if text.len() >= MIN_CONTAINED_CHARS && cell.contains(&text) => {
                CONTAINS_SCORE * text.len() as f64 / cell.len() as f64
            }
            () => 0.0,
        }
    };
    wanted.iter().map(of_row).sum()
}

/// Order of preference: slots before derived columns, then fuller ones, then shown ones before hidden ones.
fn preference(candidate: &Candidate, column: usize) -> (bool, usize, bool) {
    let source = candidate.template.variants[0].sources.get(column).and_then(Option::as_ref);
    let filled = candidate.table.rows.iter().filter(|row| row.cells[column].is_some()).count();
    (matches!(source, Some(ColumnSource::Slot(_))), filled, !candidate.template.columns()[column].hidden)
}

#[cfg(test)]
mod tests;
