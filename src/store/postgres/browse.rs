//! Browsing the rows of a generation: filtered by a text, sorted by a column.

use super::names::{ColumnName, quoted, rows_table};
use super::rows::{fill, select, to_i64, without_rows};
use super::run_end::Generation;
use super::view::{PgType, column_name};
use super::{PgSession, StoreError};
use crate::model::Facet;
use crate::store::{BrowseQuery, Rows};

pub(super) fn rows(session: &PgSession, generation: &Generation, browse: &BrowseQuery) -> Result<Rows, StoreError> {
    let mut rows = without_rows(session, generation)?;
    let text = browse.contains.as_deref().filter(|text| !text.is_empty());
    let condition = condition(&generation.columns);
    if text.is_some() {
        let sql = format!("SELECT count(*) FROM {} WHERE {condition}", quoted(&rows_table(generation.table)));
        rows.total = u64::try_from(session.number(&sql, &[&generation.id, &text])?).unwrap_or(0);
    }
    let order = order(&generation.columns, browse);
    let sql = format!("{} WHERE {condition} ORDER BY {order}_n LIMIT $3 OFFSET $4", select(generation));
    let (limit, offset) = (to_i64(browse.limit), to_i64(browse.offset));
    fill(rows, generation, &session.rows(&sql, &[&generation.id, &text, &limit, &offset])?)
}

/// Condition on `$2`, which is NULL where all rows are wanted.
fn condition(columns: &[ColumnName]) -> String {
    let texts = (0..columns.len()).filter(|&at| columns[at].is_text());
    let each: String = texts.map(|at| format!(" OR strpos(lower({}), lower($2::text)) > 0", column_name(at))).collect();
    format!("_generation = $1 AND ($2::text IS NULL{each})")
}

/// Empty cells are last in both directions.
fn order(columns: &[ColumnName], browse: &BrowseQuery) -> String {
    let by = browse.sort_by.as_deref().and_then(|by| columns.iter().position(|it| it.is_text() && it.stored == by));
    let Some(at) = by else { return String::new() };
    let is_value = |it: &ColumnName| it.value.is_some_and(|value| value.of == at && value.facet == Facet::Value);
    let at = columns.iter().position(is_value).unwrap_or(at);
    let (name, direction) = (column_name(at), if browse.descending { "DESC" } else { "ASC" });
    match PgType::of(&columns[at]) {
        PgType::Text => format!("({name} IS NULL OR {name} = ''), lower({name}) {direction}, "),
        PgType::Bigint | PgType::Double | PgType::Numeric | PgType::Boolean => {
            format!("({name} IS NULL), {name} {direction}, ")
        }
    }
}
