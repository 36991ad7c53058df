//! A record in the history: its display name, and its changed cells as JSON.

use chrono::{DateTime, Utc};
use serde_json::{Value as Json, json};

use super::change_set::{CellChange, CellValue};
use super::generation::{Generation, RowTables};
use super::sql::SqlRow;
use super::{StoreError, StoreResult};
use crate::model::Facet;

/// Longer texts are cut: the history says that they changed, the rows have them whole.
const MAX_CELL_CHARS: usize = 4_000;

const MAX_NAME_CHARS: usize = 200;

/// A record's texts and values, by column.
pub(super) type NamedCells = Vec<(String, CellValue)>;

/// A record of a generation.
pub(super) struct StoredRecord {
    pub name: String,
    pub first_seen: DateTime<Utc>,
    pub cells: NamedCells,
}

impl StoredRecord {
    /// Query for what [`StoredRecord::read`] takes.
    pub fn select<S: RowTables>(generation: &Generation, which: &str) -> String {
        let (number, cells) = (S::ROW_NUMBER, S::cells_sql(&generation.columns, |_| true));
        format!("SELECT {number}, _first_seen{cells} FROM {} AND {which}", S::rows_sql(generation))
    }

    pub fn read(generation: &Generation, row: &dyn SqlRow) -> StoreResult<StoredRecord> {
        let columns = &generation.columns;
        let all: Vec<Json> = row.cells(2, columns.len())?;
        let value_of = |at: usize| {
            let is_it = |place: &usize| columns[*place].value.is_some_and(|it| it.of == at && it.facet == Facet::Value);
            (0..columns.len()).find(is_it).map_or(Json::Null, |place| all[place].clone())
        };
        let texts = columns.iter().enumerate().filter(|(_, column)| column.is_text());
        let cell = |at: usize| CellValue { text: all[at].as_str().map(str::to_owned), value: value_of(at) };
        let cells: NamedCells = texts.map(|(at, column)| (column.stored.clone(), cell(at))).collect();
        let name = name(generation.key.as_deref().unwrap_or_default(), &cells);
        Ok(StoredRecord { name, first_seen: row.get(1)?, cells })
    }
}

/// Display name: the texts of the key columns, or else the first text.
pub(super) fn name(key: &[String], cells: &NamedCells) -> String {
    let text =
        |name: &String| cells.iter().find(|(column, _)| column == name).and_then(|(_, cell)| cell.text.as_deref());
    let keyed: Vec<&str> = key.iter().filter_map(text).collect();
    let name = match keyed.is_empty() {
        true => cells.iter().find_map(|(_, cell)| cell.text.clone()).unwrap_or_default(),
        false => keyed.join(SEPARATOR),
    };
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Between the texts of several key columns.
pub(super) const SEPARATOR: &str = " · ";

/// Each differing cell, as `[column, before, after]` and, where there are any, the values before and after. For a
/// record that exists before and after, only the columns that both have are compared.
pub(super) fn differing_cells(old: Option<&NamedCells>, new: Option<&NamedCells>) -> String {
    let nothing = CellValue::default();
    let mut differing = Vec::new();
    for (column, cell) in new.or(old).into_iter().flatten() {
        let (from, to) = match (old, new) {
            (Some(old), Some(_)) => match old.iter().find(|(name, _)| name == column) {
                Some((_, from)) => (from, cell),
                None => continue,
            },
            (None, _) => (&nothing, cell),
            (Some(_), None) => (cell, &nothing),
        };
        if from.text == to.text {
            continue;
        }
        let (before, after) = (from.text.as_deref().map(truncate), to.text.as_deref().map(truncate));
        let has_value = !from.value.is_null() || !to.value.is_null();
        differing.push(match has_value {
            true => json!([column, before, after, from.value, to.value]),
            false => json!([column, before, after]),
        });
    }
    Json::from(differing).to_string()
}

/// Parses what [`differing_cells`] wrote.
pub(super) fn read_cells(json: &str) -> StoreResult<Vec<CellChange>> {
    let cells: Vec<Vec<Json>> = serde_json::from_str(json).map_err(StoreError::invalid_value)?;
    let cell_change = |cell: Vec<Json>| {
        let mut parts = cell.into_iter();
        let mut next = || parts.next().unwrap_or_default();
        let text = |it: Json| it.as_str().map(str::to_owned);
        let (column, from, to) = (text(next()).unwrap_or_default(), text(next()), text(next()));
        CellChange { column, from: CellValue { text: from, value: next() }, to: CellValue { text: to, value: next() } }
    };
    Ok(cells.into_iter().map(cell_change).collect())
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_CELL_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(of: &[(&str, &str)]) -> NamedCells {
        let value = |text: &str| text.parse::<i64>().map_or(Json::Null, Json::from);
        let cell = |text: &str| CellValue { text: (text != "-").then(|| text.to_owned()), value: value(text) };
        of.iter().map(|&(column, text)| (column.to_owned(), cell(text))).collect()
    }

    #[test]
    fn only_cells_of_columns_that_both_have_are_compared() {
        let old = cells(&[("name", "a"), ("price", "5"), ("gone", "x"), ("note", "-")]);
        let new = cells(&[("price", "6"), ("name", "a"), ("new", "y"), ("note", "n")]);
        assert_eq!(differing_cells(Some(&old), Some(&new)), r#"[["price","5","6",5,6],["note",null,"n"]]"#);
        assert_eq!(differing_cells(None, Some(&cells(&[("a", "-"), ("b", "x")]))), r#"[["b",null,"x"]]"#);
        assert_eq!(differing_cells(Some(&cells(&[("b", "7")])), None), r#"[["b","7",null,7,null]]"#);
    }

    #[test]
    fn what_was_written_is_read_and_long_texts_are_cut() {
        let long = "é".repeat(MAX_CELL_CHARS + 1);
        let json = differing_cells(Some(&cells(&[("t", &long)])), Some(&cells(&[("t", "3")])));
        let read = read_cells(&json).expect("cells");
        assert_eq!((read[0].column.as_str(), read[0].to.text.as_deref()), ("t", Some("3")));
        assert_eq!(read[0].from.text.as_deref().map(|it| it.chars().count()), Some(MAX_CELL_CHARS + 1));
        assert_eq!(read[0].to.value, Json::from(3));
        assert!(read_cells("[1]").is_err());
    }

    #[test]
    fn a_record_is_named_by_its_key_or_by_its_first_text() {
        let record = cells(&[("a", "-"), ("b", "x"), ("c", "y")]);
        let name = |key: &[&str]| name(&key.iter().map(|&it| it.to_owned()).collect::<Vec<_>>(), &record);
        assert_eq!([name(&[]), name(&["c"]), name(&["c", "b"]), name(&["a"])], ["x", "y", "y · x", "x"]);
    }
}
