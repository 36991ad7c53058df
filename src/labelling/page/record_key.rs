//! Proposes `data.key`: the column by which a record is recognised from run to run.

use std::collections::HashSet;

use crate::model::{Column, ColumnType, Table};
use crate::page::token_names::carries_token;

/// Fewer rows do not show which column tells records apart.
const MIN_ROWS: usize = 3;

/// The first column that has another value in every row, links before texts; no column if none has.
pub(super) fn propose(columns: &[Column], table: &Table) -> Vec<String> {
    if table.rows.len() < MIN_ROWS {
        return Vec::new();
    }
    let candidates = || columns.iter().filter_map(|column| Some((column, distinct_values(table, &column.name)?)));
    let link = candidates().find(|(column, values)| is_link(column.kind, values));
    let text = || candidates().find(|(column, values)| is_identity(column.kind, values));
    link.or_else(text).map(|(column, _)| column.name.clone()).into_iter().collect()
}

/// The values of a column that is filled and different in every row.
fn distinct_values<'t>(table: &'t Table, name: &str) -> Option<Vec<&'t str>> {
    let at = table.columns.iter().position(|column| column == name)?;
    let values: Vec<&str> = table.rows.iter().map(|row| row.cells[at].as_deref()).collect::<Option<_>>()?;
    let distinct: HashSet<&str> = values.iter().copied().collect();
    (distinct.len() == values.len()).then_some(values)
}

/// Addresses that lead to the same record in the next session.
fn is_link(kind: ColumnType, values: &[&str]) -> bool {
    let is_address =
        |value: &&str| !value.contains(char::is_whitespace) && (value.contains('/') || value.contains('?'));
    (kind == ColumnType::Url || values.iter().all(is_address)) && !values.iter().any(|value| carries_token(value))
}

/// Amounts and dates change, and are equal by chance; 1, 2, 3 … is the place in the list.
fn is_identity(kind: ColumnType, values: &[&str]) -> bool {
    let is_rank = || {
        let numbers: Option<Vec<u64>> = values.iter().map(|value| value.trim_end_matches('.').parse().ok()).collect();
        numbers.is_some_and(|it| it.windows(2).all(|pair| pair[1] == pair[0] + 1))
    };
    match kind {
        ColumnType::Text | ColumnType::Email => !values.iter().any(|value| carries_token(value)),
        ColumnType::Int => !is_rank(),
        ColumnType::Url | ColumnType::Number | ColumnType::Money | ColumnType::Date | ColumnType::Bool => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: ColumnType) -> Column {
        Column { kind, ..Column::text(name) }
    }

    #[test]
    fn the_key_is_the_column_that_tells_the_records_apart() {
        let columns = [
            column("rank", ColumnType::Int),
            column("town", ColumnType::Text),
            column("name", ColumnType::Text),
            column("price", ColumnType::Money),
            column("link", ColumnType::Url),
        ];
        let names = ["rank", "town", "name", "price", "link"];
        let rows: [&[&str]; 3] = [
            &["1", "Bern", "Adler", "95", "/h/1"],
            &["2", "Bern", "Krone", "80", "/h/2"],
            &["3", "Kiel", "Linde", "70", "/h/3"],
        ];
        let table = Table::of_texts(&names, &rows);
        assert_eq!(propose(&columns, &table), ["link"]);
        assert_eq!(propose(&columns[..4], &table), ["name"], "without links the texts that differ");
        assert_eq!(propose(&columns[..2], &table), [""; 0], "the place in the list is no identity");
        let same_link = Table::of_texts(&names, &[rows[0], rows[1], &["3", "Kiel", "Linde", "70", "/h/1"]]);
        assert_eq!(propose(&columns, &same_link), ["name"]);
        let ids = Table::of_texts(&["id"], &[&["4711"], &["4708"], &["4699"]]);
        assert_eq!(propose(&[column("id", ColumnType::Int)], &ids), ["id"]);
        let nonces = Table::of_texts(&["link"], &[&["/d?_wpnonce=1"], &["/d?_wpnonce=2"], &["/d?_wpnonce=3"]]);
        assert_eq!(propose(&[column("link", ColumnType::Url)], &nonces), [""; 0], "another one in the next session");
        assert_eq!(propose(&columns, &Table::of_texts(&names, &rows[..2])), [""; 0], "two rows prove nothing");
    }
}
