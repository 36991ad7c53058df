//! A look at some rows of a generation: those with a text, in the order of a column.

use super::names::{ColumnName, quoted, rows_table};
use super::rows::{empty, fill, number, select};
use super::settle::Generation;
use super::view::{Type, column};
use super::{Session, StoreError};
use crate::model::Facet;
use crate::store::{Browse, Rows};

pub(super) fn rows(session: &Session, generation: &Generation, browse: &Browse) -> Result<Rows, StoreError> {
    let mut rows = empty(session, generation)?;
    let text = browse.has.as_deref().filter(|text| !text.is_empty());
    let condition = condition(&generation.columns);
    if text.is_some() {
        let sql = format!("SELECT count(*) FROM {} WHERE {condition}", quoted(&rows_table(generation.table)));
        rows.total = u64::try_from(session.number(&sql, &[&generation.id, &text])?).unwrap_or(0);
    }
    let order = order(&generation.columns, browse);
    let sql = format!("{} WHERE {condition} ORDER BY {order}_n LIMIT $3 OFFSET $4", select(generation));
    let (limit, offset) = (number(browse.limit), number(browse.offset));
    fill(rows, generation, &session.rows(&sql, &[&generation.id, &text, &limit, &offset])?)
}

/// Of `$2`, which is nothing where all rows are wanted.
fn condition(columns: &[ColumnName]) -> String {
    let texts = (0..columns.len()).filter(|&at| columns[at].is_text());
    let each: String = texts.map(|at| format!(" OR strpos(lower({}), lower($2::text)) > 0", column(at))).collect();
    format!("_generation = $1 AND ($2::text IS NULL{each})")
}

/// What is empty stands last either way.
fn order(columns: &[ColumnName], browse: &Browse) -> String {
    let by = browse.by.as_deref().and_then(|by| columns.iter().position(|it| it.is_text() && it.stored == by));
    let Some(at) = by else { return String::new() };
    let is_value = |it: &ColumnName| it.value.is_some_and(|value| value.of == at && value.facet == Facet::Value);
    let at = columns.iter().position(is_value).unwrap_or(at);
    let (name, direction) = (column(at), if browse.descending { "DESC" } else { "ASC" });
    match Type::of(&columns[at]) {
        Type::Text => format!("({name} IS NULL OR {name} = ''), lower({name}) {direction}, "),
        Type::Bigint | Type::Double | Type::Numeric | Type::Boolean => {
            format!("({name} IS NULL), {name} {direction}, ")
        }
    }
}
