//! Browsing the rows of a generation: filtered by a text, sorted by a column.

use super::generation::Generation;
use super::names::{ColumnName, quoted, rows_table};
use super::view::{PgType, column_name, read_list};
use super::{PgSession, SqlSession, StoreError};
use crate::store::rows::{BrowseQuery, RowLayout, Rows, without_rows};

pub(super) fn rows(session: &PgSession, generation: &Generation, browse: &BrowseQuery) -> Result<Rows, StoreError> {
    let mut rows = without_rows(session, generation)?;
    let text = browse.contains.as_deref().filter(|text| !text.is_empty());
    let condition = condition(&generation.columns);
    if text.is_some() {
        let sql = format!("SELECT count(*) FROM {} WHERE {condition}", quoted(&rows_table(generation.table)));
        rows.total = u64::try_from(session.query_number(&sql, &[&generation.id, &text])?).unwrap_or(0);
    }
    let order = order(&generation.columns, browse);
    let sql = format!("{} WHERE {condition} ORDER BY {order}_n LIMIT $3 OFFSET $4", select(generation));
    let layout = RowLayout::of(generation);
    session.query(&sql, &[&generation.id, &text, &browse.limit, &browse.offset], |row| {
        layout.append_row(row, &mut rows)
    })?;
    Ok(rows)
}

/// Selects everything that [`RowLayout::append_row`] reads of a row.
pub(super) fn select(generation: &Generation) -> String {
    let columns = read_list(&generation.columns);
    format!("SELECT _page, _first_seen, _key{columns} FROM {}", quoted(&rows_table(generation.table)))
}

/// Condition on `$2`, which is NULL where all rows are wanted.
fn condition(columns: &[ColumnName]) -> String {
    let texts = (0..columns.len()).filter(|&at| columns[at].is_text());
    let each: String = texts.map(|at| format!(" OR strpos(lower({}), lower($2::text)) > 0", column_name(at))).collect();
    format!("_generation = $1 AND ($2::text IS NULL{each})")
}

/// Empty cells are last in both directions.
fn order(columns: &[ColumnName], browse: &BrowseQuery) -> String {
    let Some(at) = browse.sort_column(columns) else { return String::new() };
    let (name, direction) = (column_name(at), if browse.descending { "DESC" } else { "ASC" });
    match PgType::of(&columns[at]) {
        PgType::Text => format!("({name} IS NULL OR {name} = ''), lower({name}) {direction}, "),
        PgType::Bigint | PgType::Double | PgType::Numeric | PgType::Boolean => {
            format!("({name} IS NULL), {name} {direction}, ")
        }
    }
}
