//! Compares two tables of the same page: missing rows, new rows and changed cells.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{Row, Table};

/// A value that more rows share does not identify a row.
const MAX_SHARED_BY: usize = 16;

/// Differences of the second table from the first; all empty where they agree.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct TableDifference {
    pub columns_missing: Vec<String>,
    pub columns_new: Vec<String>,
    /// Records of the first table.
    pub missing: Vec<Value>,
    /// Records of the second.
    pub new: Vec<Value>,
    pub changed: Vec<ChangedRow>,
}

/// A row of both tables with the cells that differ.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct ChangedRow {
    /// Position in the second table, counted from 1.
    pub row: usize,
    pub cells: Vec<ChangedCell>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct ChangedCell {
    pub column: String,
    pub from: Option<String>,
    pub to: Option<String>,
}

impl TableDifference {
    pub fn is_none(&self) -> bool {
        *self == TableDifference::default()
    }
}

/// Compares rows by the columns that both tables have; the order of rows and columns does not matter.
pub(crate) fn compare(first: &Table, second: &Table) -> TableDifference {
    let lacking = |one: &Table, other: &Table| -> Vec<String> {
        one.columns.iter().filter(|name| !other.columns.contains(name)).cloned().collect()
    };
    let shared: Vec<&String> = first.columns.iter().filter(|name| second.columns.contains(name)).collect();
    let (old, new) = (filled(first, &shared), filled(second, &shared));
    let (old_left, new_left) = unmatched(&old, &new);
    let pairs = most_alike(&old, &old_left, &new, &new_left);
    let changed = pairs.iter().map(|&(o, n)| changed(&shared, &old[o], &new[n], n)).collect();
    let (paired_old, paired_new): (HashSet<usize>, HashSet<usize>) = pairs.into_iter().unzip();
    let records = |table: &Table, left: &[usize], paired: &HashSet<usize>| {
        let rows: Vec<&Row> = filled_rows(table).collect();
        left.iter().filter(|row| !paired.contains(row)).map(|&row| record(table, rows[row])).collect()
    };
    TableDifference {
        columns_missing: lacking(first, second),
        columns_new: lacking(second, first),
        missing: records(first, &old_left, &paired_old),
        new: records(second, &new_left, &paired_new),
        changed,
    }
}

/// Rows with at least one value.
fn filled_rows(table: &Table) -> impl Iterator<Item = &Row> {
    table.rows.iter().filter(|row| row.cells.iter().any(Option::is_some))
}

type RowCells<'t> = Vec<Option<&'t str>>;

fn filled<'t>(table: &'t Table, columns: &[&String]) -> Vec<RowCells<'t>> {
    let places: Vec<Option<usize>> =
        columns.iter().map(|&name| table.columns.iter().position(|it| it == name)).collect();
    let cells = |row: &'t Row| places.iter().map(|place| row.cells.get((*place)?)?.as_deref()).collect();
    filled_rows(table).map(cells).collect()
}

/// Rows without an equal row in the other table (multiset difference, both ways).
fn unmatched(old: &[RowCells<'_>], new: &[RowCells<'_>]) -> (Vec<usize>, Vec<usize>) {
    let mut waiting: HashMap<&RowCells<'_>, Vec<usize>> = HashMap::new();
    for (place, cells) in old.iter().enumerate().rev() {
        waiting.entry(cells).or_default().push(place);
    }
    let mut new_left = Vec::new();
    for (place, cells) in new.iter().enumerate() {
        if waiting.get_mut(cells).and_then(Vec::pop).is_none() {
            new_left.push(place);
        }
    }
    let mut old_left: Vec<usize> = waiting.into_values().flatten().collect();
    old_left.sort_unstable();
    (old_left, new_left)
}

/// Greedy matching of rows that share at least half of the old row's values, best pairs first.
fn most_alike(
    old: &[RowCells<'_>],
    old_left: &[usize],
    new: &[RowCells<'_>],
    new_left: &[usize],
) -> Vec<(usize, usize)> {
    let mut holders: HashMap<(usize, &str), Vec<usize>> = HashMap::new();
    for &row in new_left {
        for (column, value) in new[row].iter().enumerate() {
            if let Some(value) = value {
                holders.entry((column, value)).or_default().push(row);
            }
        }
    }
    let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
    for &row in old_left {
        let values = old[row].iter().enumerate().filter_map(|(column, value)| Some((column, (*value)?)));
        let telling = values.filter_map(|key| holders.get(&key)).filter(|rows| rows.len() <= MAX_SHARED_BY);
        for &other in telling.flatten().collect::<BTreeSet<_>>() {
            let equal = old[row].iter().zip(&new[other]).filter(|(a, b)| a.is_some() && a == b).count();
            if equal * 2 >= old[row].iter().flatten().count() {
                pairs.push((equal, row, other));
            }
        }
    }
    pairs.sort_by_key(|&(equal, row, other)| (std::cmp::Reverse(equal), row.abs_diff(other), row, other));
    let (mut used_old, mut used_new) = (vec![false; old.len()], vec![false; new.len()]);
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for (_, row, other) in pairs {
        if !used_old[row] && !used_new[other] {
            (used_old[row], used_new[other]) = (true, true);
            taken.push((row, other));
        }
    }
    taken.sort_by_key(|&(_, other)| other);
    taken
}

fn changed(columns: &[&String], old: &RowCells<'_>, new: &RowCells<'_>, row: usize) -> ChangedRow {
    let owned = |cell: &Option<&str>| cell.map(str::to_owned);
    let each = columns.iter().zip(old.iter().zip(new)).filter(|(_, (from, to))| from != to);
    let cells =
        each.map(|(&column, (from, to))| ChangedCell { column: column.clone(), from: owned(from), to: owned(to) });
    ChangedRow { row: row + 1, cells: cells.collect() }
}

fn record(table: &Table, row: &Row) -> Value {
    let cells = table.columns.iter().zip(&row.cells);
    json!(
        cells.filter_map(|(name, cell)| Some((name.clone(), json!(cell.as_ref()?)))).collect::<serde_json::Map<_, _>>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[&str] = &["name", "price", "stock"];

    #[test]
    fn the_same_rows_in_another_order_of_rows_and_columns_are_the_same() {
        let first =
            Table::of_texts(&["name", "price"], &[&["Oak chair", "95"], &["Elm desk", "240"], &["Elm desk", "240"]]);
        let second = Table::of_texts(
            &["price", "name"],
            &[&["240", "Elm desk"], &["95", "Oak chair"], &["", ""], &["240", "Elm desk"]],
        );
        assert!(compare(&first, &second).is_none());
    }

    #[test]
    fn a_row_that_is_there_twice_is_missed_when_it_is_there_once() {
        let first = Table::of_texts(&["name"], &[&["Oak chair"], &["Oak chair"]]);
        let second = Table::of_texts(&["name"], &[&["Oak chair"]]);
        let difference = compare(&first, &second);
        assert_eq!((difference.missing.len(), difference.new.len()), (1, 0));
    }

    #[test]
    fn changed_cells_are_told_from_missing_and_new_rows() {
        let first = Table::of_texts(
            COLUMNS,
            &[&["Oak chair", "95", "yes"], &["Elm desk", "240", "yes"], &["Ash bed", "700", "no"]],
        );
        let second = Table::of_texts(
            COLUMNS,
            &[&["Yew stool", "30", "yes"], &["Oak chair", "99", "yes"], &["Ash bed", "700", ""]],
        );
        let difference = compare(&first, &second);
        assert_eq!(difference.missing, [json!({ "name": "Elm desk", "price": "240", "stock": "yes" })]);
        assert_eq!(difference.new, [json!({ "name": "Yew stool", "price": "30", "stock": "yes" })]);
        let cell = |column: &str, from: &str, to: Option<&str>| ChangedCell {
            column: column.to_owned(),
            from: Some(from.to_owned()),
            to: to.map(str::to_owned),
        };
        let changed = [
            ChangedRow { row: 2, cells: vec![cell("price", "95", Some("99"))] },
            ChangedRow { row: 3, cells: vec![cell("stock", "no", None)] },
        ];
        assert_eq!(difference.changed, changed);
    }

    #[test]
    fn a_renamed_column_is_one_missing_and_one_new() {
        let first = Table::of_texts(&["name", "price"], &[&["Oak chair", "95"]]);
        let second = Table::of_texts(&["name", "cost"], &[&["Oak chair", "95"]]);
        let difference = compare(&first, &second);
        assert_eq!(
            (&difference.columns_missing[..], &difference.columns_new[..]),
            (&["price".to_owned()][..], &["cost".to_owned()][..])
        );
        assert_eq!((difference.missing.len(), difference.new.len(), difference.changed.len()), (0, 0, 0));
    }
}
