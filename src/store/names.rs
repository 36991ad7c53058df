//! Names of tables and columns in the database. A column's name may come from a page, so it may be any text.

use super::error::{MAX_COLUMNS, StoreError, StoreResult};
use crate::model::{ColumnType, Facet, ValueColumn};

/// Longer names only widen every listing.
const MAX_NAME_CHARS: usize = 100;

/// A column of a generation: its name in the run and its name in the table.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct ColumnName {
    #[serde(rename = "said")]
    pub source_name: String,
    pub stored: String,
    /// Set for a value column: it holds the values of another column's texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueColumn>,
}

impl ColumnName {
    pub fn is_text(&self) -> bool {
        self.value.is_none()
    }

    /// Type affinity in the table: a database turns the digits of a number into a number.
    pub fn affinity(&self) -> &'static str {
        match self.value {
            Some(ValueColumn { facet: Facet::Currency, .. }) | None => "TEXT",
            Some(ValueColumn { kind: ColumnType::Int | ColumnType::Bool, .. }) => "INTEGER",
            Some(ValueColumn { kind: ColumnType::Number | ColumnType::Money, .. }) => "REAL",
            Some(_) => "TEXT",
        }
    }
}

/// Assigns the values of a run to table columns, as [`assign_columns`] does for texts.
pub(super) fn assign_value_columns(
    known: &mut Vec<ColumnName>,
    places: &[usize],
    values: &[ValueColumn],
) -> StoreResult<Vec<usize>> {
    let mut found = Vec::with_capacity(values.len());
    for value in values {
        let of =
            *places.get(value.of).ok_or_else(|| StoreError::InvalidValue("a value without a column".to_owned()))?;
        let value = ValueColumn { of, ..*value };
        let place = known.iter().position(|column| column.value == Some(value));
        found.push(place.unwrap_or_else(|| {
            let text = &known[of];
            let word = match value.facet {
                Facet::Value => "value",
                Facet::To => "to",
                Facet::Currency => "currency",
            };
            // No text column begins with `_`.
            let stored = format!("_{word}_{}", text.stored);
            known.push(ColumnName { source_name: text.source_name.clone(), stored, value: Some(value) });
            known.len() - 1
        }));
    }
    if known.len() > MAX_COLUMNS {
        return Err(StoreError::TooManyColumns(known.len()));
    }
    Ok(found)
}

/// The columns of a task's view, each with its name there: a typed column shows its value, and the text as found is a
/// column beside it.
pub(super) fn view_columns(columns: &[ColumnName]) -> Vec<(usize, String)> {
    let value_of = |at: usize| {
        let is_it = |value: ValueColumn| value.of == at && value.facet == Facet::Value;
        columns.iter().position(|column| column.value.is_some_and(is_it))
    };
    let shown = |(at, column): (usize, &ColumnName)| match (value_of(at), column.value) {
        (Some(value), None) => vec![(value, column.stored.clone()), (at, text_name(column))],
        (_, Some(ValueColumn { facet: Facet::Value, .. })) => Vec::new(),
        (_, Some(_)) | (None, None) => vec![(at, column.stored.clone())],
    };
    columns.iter().enumerate().flat_map(shown).collect()
}

/// View names of the columns with the texts as found, in the order of the texts.
pub(super) fn view_texts(columns: &[ColumnName], shown: &[(usize, String)]) -> String {
    let texts = (0..columns.len()).filter(|&at| columns[at].is_text());
    let name = |at: usize| shown.iter().find(|(of, _)| *of == at).map(|(_, name)| quoted(name));
    texts.filter_map(name).collect::<Vec<_>>().join(", ")
}

fn text_name(column: &ColumnName) -> String {
    format!("_text_{}", column.stored)
}

/// Assigns a run's columns to table columns; new ones are added at the table's end. A name that occurs twice means two
/// columns.
pub(super) fn assign_columns(known: &mut Vec<ColumnName>, said: &[String]) -> StoreResult<Vec<usize>> {
    let mut places = Vec::with_capacity(said.len());
    for name in said {
        let free = |(index, column): &(usize, &ColumnName)| {
            column.is_text() && column.source_name == *name && !places.contains(index)
        };
        let place = known.iter().enumerate().find(free).map(|(index, _)| index);
        places.push(place.unwrap_or_else(|| {
            known.push(ColumnName { source_name: name.clone(), stored: stored_name(name, known), value: None });
            known.len() - 1
        }));
    }
    if known.len() > MAX_COLUMNS {
        return Err(StoreError::TooManyColumns(known.len()));
    }
    Ok(places)
}

/// A printable name that is neither reserved nor taken; SQLite compares names without regard to case.
fn stored_name(said: &str, known: &[ColumnName]) -> String {
    let clean: String =
        said.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_NAME_CHARS).collect();
    let base = match clean.trim_end() {
        "" => format!("c{}", known.len() + 1),
        ours if ours.starts_with('_') => format!("c{ours}"),
        name => name.to_owned(),
    };
    let is_free = |name: &str| known.iter().all(|column| column.stored.to_lowercase() != name.to_lowercase());
    let mut name = base.clone();
    // Terminates: among one more name than there are columns, one is free.
    let mut suffix = 2;
    while !is_free(&name) {
        name = format!("{base}_{suffix}");
        suffix += 1;
    }
    name
}

/// The table of a generation.
pub(super) fn rows_table(generation: i64) -> String {
    format!("_rows_{generation}")
}

/// The index on `_key` of a generation's table.
pub(super) fn key_index(generation: i64) -> String {
    format!("_rows_{generation}_key")
}

/// An identifier as SQL text.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Identifiers as SQL text, separated by commas.
pub(super) fn quoted_list(columns: &[ColumnName]) -> String {
    columns.iter().map(|column| quoted(&column.stored)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_of_a_page_becomes_a_column_name() {
        let said = ["price", "Price", "PRICE_2", "_run", "_run", "", "a\"b", "x\0y", "  ", "ß", "rowid"];
        let mut known = Vec::new();
        let places = assign_columns(&mut known, &said.map(str::to_owned)).expect("few columns");
        assert_eq!(places, (0..said.len()).collect::<Vec<_>>());
        let stored: Vec<&str> = known.iter().map(|column| column.stored.as_str()).collect();
        assert_eq!(
            stored,
            ["price", "Price_2", "PRICE_2_2", "c_run", "c_run_2", "c6", "a\"b", "x y", "c9", "ß", "rowid"]
        );
    }

    #[test]
    fn a_later_page_finds_its_columns_again_and_adds_its_own() {
        let mut known = Vec::new();
        assign_columns(&mut known, &["a", "b"].map(str::to_owned)).expect("few columns");
        assert_eq!(assign_columns(&mut known, &["b", "c", "b"].map(str::to_owned)).expect("few columns"), [1, 2, 3]);
    }

    #[test]
    fn more_columns_than_a_table_takes_are_refused() {
        let said: Vec<String> = (0..=MAX_COLUMNS).map(|n| format!("c{n}")).collect();
        assert!(matches!(assign_columns(&mut Vec::new(), &said), Err(StoreError::TooManyColumns(1501))));
    }
}
