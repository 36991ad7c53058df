//! Browsing the rows of a generation: filtered by a text, sorted by a column.

use rusqlite::Connection;

use super::StoreError;
use super::generation::Generation;
use super::names::{ColumnName, quoted, rows_table};
use crate::store::BrowseQuery;
use crate::store::sql::SqlSession;

/// Number of matching rows. Without a filter it is the generation's row count.
pub(super) fn count(connection: &Connection, generation: &Generation, browse: &BrowseQuery) -> Result<u64, StoreError> {
    let number = match pattern(browse) {
        None => generation.rows,
        Some(pattern) => {
            let (table, condition) = (quoted(&rows_table(generation.id)), condition(&generation.columns));
            let sql = format!("SELECT count(*) FROM {table}{condition}");
            connection.query_number(&sql, &[&pattern])?
        }
    };
    Ok(u64::try_from(number).unwrap_or(0))
}

/// Condition on `$1`, which is NULL where all rows are wanted.
pub(super) fn condition(columns: &[ColumnName]) -> String {
    let texts = columns.iter().filter(|column| column.is_text());
    let each: Vec<String> = texts.map(|column| format!("{} LIKE $1 ESCAPE '\\'", quoted(&column.stored))).collect();
    if each.is_empty() { " WHERE $1 IS NULL".to_owned() } else { format!(" WHERE $1 IS NULL OR {}", each.join(" OR ")) }
}

/// The value of `$1`: the text anywhere in a cell.
pub(super) fn pattern(browse: &BrowseQuery) -> Option<String> {
    let text = browse.contains.as_deref().filter(|text| !text.is_empty())?;
    let plain: String =
        text.chars().flat_map(|c| ['%', '_', '\\'].contains(&c).then_some('\\').into_iter().chain([c])).collect();
    Some(format!("%{plain}%"))
}

/// Empty cells are last in both directions.
pub(super) fn order(columns: &[ColumnName], browse: &BrowseQuery) -> String {
    let Some(at) = browse.sort_column(columns) else { return String::new() };
    let name = quoted(&columns[at].stored);
    let direction = if browse.descending { "DESC" } else { "ASC" };
    format!("{name} IS NULL OR {name} = '', {name} COLLATE NOCASE {direction}, ")
}
