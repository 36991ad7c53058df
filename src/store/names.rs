//! Names for the database. A column's name may come from a page, so it may be anything.

use super::StoreError;

/// SQLite takes 2,000 columns in a table; a list with more than this is not one.
pub(super) const MAX_COLUMNS: usize = 500;

/// Longer names only widen every listing.
const MAX_NAME_CHARS: usize = 100;

/// A column of a generation: what the run calls it, and what the table does.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct ColumnName {
    pub said: String,
    pub stored: String,
}

/// Where each of a run's columns stands in the table; columns that are new are added at the table's end. The same name
/// said twice means two columns.
pub(super) fn place(known: &mut Vec<ColumnName>, said: &[String]) -> Result<Vec<usize>, StoreError> {
    let mut places = Vec::with_capacity(said.len());
    for name in said {
        let free = |(index, column): &(usize, &ColumnName)| column.said == *name && !places.contains(index);
        let place = known.iter().enumerate().find(free).map(|(index, _)| index);
        places.push(place.unwrap_or_else(|| {
            known.push(ColumnName { said: name.clone(), stored: stored_name(name, known) });
            known.len() - 1
        }));
    }
    if known.len() > MAX_COLUMNS {
        return Err(StoreError::TooManyColumns(known.len()));
    }
    Ok(places)
}

/// A name that is printable, not one of ours, and not taken: SQLite tells names apart without regard to case.
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
    // Ends: among one more name than there are columns, one is free.
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
pub(super) fn list(columns: &[ColumnName]) -> String {
    columns.iter().map(|column| quoted(&column.stored)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_of_a_page_becomes_a_column_name() {
        let said = ["price", "Price", "PRICE_2", "_run", "_run", "", "a\"b", "x\0y", "  ", "ß", "rowid"];
        let mut known = Vec::new();
        let places = place(&mut known, &said.map(str::to_owned)).expect("few columns");
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
        place(&mut known, &["a", "b"].map(str::to_owned)).expect("few columns");
        assert_eq!(place(&mut known, &["b", "c", "b"].map(str::to_owned)).expect("few columns"), [1, 2, 3]);
    }

    #[test]
    fn more_columns_than_a_table_takes_are_refused() {
        let said: Vec<String> = (0..=MAX_COLUMNS).map(|n| format!("c{n}")).collect();
        assert!(matches!(place(&mut Vec::new(), &said), Err(StoreError::TooManyColumns(501))));
    }
}
