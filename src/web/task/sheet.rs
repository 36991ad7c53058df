//! Rows as a spreadsheet. Every cell is a stranger's text.

use maud::{Markup, html};

use crate::model::{ColumnType, Facet};
use crate::show::values;
use crate::store::Rows;

use super::super::parts::{self, cut};

/// Longer texts are cut; the cell's title has more of them.
const MOST_CHARS: usize = 200;
const MOST_TITLE_CHARS: usize = 2_000;

/// A table of rows; `heading` makes what stands above a column.
pub fn sheet(id: &str, label: &str, rows: &Rows, first: u64, heading: impl Fn(&str) -> Markup) -> Markup {
    let kinds: Vec<Option<ColumnType>> = (0..rows.table.columns.len()).map(|at| kind(rows, at)).collect();
    html! {
        div.sheet role="region" aria-label=(label) tabindex="0" id=(id) {
            table {
                thead { tr {
                    th.number scope="col" { span.sr { "Number" } }
                    @for (name, kind) in rows.table.columns.iter().zip(&kinds) {
                        th.number[is_number(*kind)] scope="col" {
                            (heading(name))
                            @if let Some(kind) = kind { span.type { (kind.word()) } }
                        }
                    }
                } }
                tbody {
                    @for (at, row) in rows.table.rows.iter().enumerate() {
                        (line(rows, at, first + at as u64, row.cells.as_slice(), &kinds))
                    }
                }
            }
        }
    }
}

fn line(rows: &Rows, at: usize, number: u64, texts: &[Option<String>], kinds: &[Option<ColumnType>]) -> Markup {
    let values = values::shown(rows, at);
    html! {
        tr {
            td.number.faint { (number) }
            @for ((text, kind), value) in texts.iter().zip(kinds).zip(&values) {
                td.number[is_number(*kind)] title=[title(text.as_deref(), *kind, value)] {
                    (parts::text(text.as_deref().unwrap_or_default(), MOST_CHARS))
                }
            }
        }
    }
}

/// What a text means, where it means something; else the rest of a long one.
fn title(text: Option<&str>, kind: Option<ColumnType>, value: &str) -> Option<String> {
    match (text, kind) {
        (Some(_), Some(kind)) => Some(format!("{}: {}", kind.word(), cut(value, MOST_TITLE_CHARS))),
        (Some(text), None) if text.chars().count() > MOST_CHARS => Some(cut(text, MOST_TITLE_CHARS)),
        _ => None,
    }
}

fn kind(rows: &Rows, at: usize) -> Option<ColumnType> {
    rows.values.iter().find(|it| it.of == at && it.facet == Facet::Value).map(|it| it.kind)
}

fn is_number(kind: Option<ColumnType>) -> bool {
    matches!(kind, Some(ColumnType::Int | ColumnType::Number | ColumnType::Money))
}
