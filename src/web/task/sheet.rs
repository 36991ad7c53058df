//! Rows as a table. Every cell is untrusted text.

use maud::{Markup, html};

use crate::model::{ColumnType, Facet};
use crate::show::values;
use crate::store::{ChangeKind, Rows};

use super::change_marks;
use super::change_marks::ChangeMarks;
use crate::web::components;
use crate::web::components::truncated;

/// Longer texts are truncated; the cell's title has more of them.
const MOST_CHARS: usize = 200;
const MOST_TITLE_CHARS: usize = 2_000;

/// A table of rows, numbered from `first`; `heading` renders the heading of a column.
pub(crate) fn sheet(
    label: &str,
    rows: &Rows,
    marks: &ChangeMarks,
    first: u64,
    heading: impl Fn(&str, Option<ColumnType>) -> Markup,
) -> Markup {
    let kinds: Vec<Option<ColumnType>> = (0..rows.table.columns.len()).map(|at| kind(rows, at)).collect();
    html! {
        div.sheet role="region" aria-label=(label) tabindex="0" id="sheet" {
            table {
                thead { tr {
                    th.number scope="col" { span.sr { "Number" } }
                    @for (name, kind) in rows.table.columns.iter().zip(&kinds) {
                        th.number[is_number(*kind)] scope="col" {
                            (heading(name, *kind))
                        }
                    }
                } }
                tbody {
                    @for at in 0..rows.table.rows.len() { (line(rows, marks, at, first + at as u64, &kinds)) }
                }
            }
        }
    }
}

fn line(rows: &Rows, marks: &ChangeMarks, at: usize, number: u64, kinds: &[Option<ColumnType>]) -> Markup {
    let (texts, key, values) = (&rows.table.rows[at].cells, rows.keys[at], values::display_cells(rows, at));
    let change = marks.of(key, &rows.table.columns, texts);
    let is_new = change.is_some_and(|it| it.what == ChangeKind::Added);
    let cells = texts.iter().zip(&rows.table.columns).zip(kinds.iter().zip(&values));
    html! {
        tr {
            td.number.faint.changed[is_new] { (marks.number(key, number, is_new)) }
            @for ((text, column), (kind, value)) in cells {
                @let (text, before) = (text.as_deref(), change_marks::before(change, column));
                td.number[is_number(*kind)].changed[before.is_some()] title=[title(text, *kind, value, before)] {
                    (components::text(text.unwrap_or_default(), MOST_CHARS))
                    @if let Some(before) = before { (change_marks::previous_value(before)) }
                }
            }
        }
    }
}

/// The cell's tooltip: its typed value, or else the rest of a long text; and the previous value.
fn title(text: Option<&str>, kind: Option<ColumnType>, value: &str, before: Option<&str>) -> Option<String> {
    let means = match (text, kind) {
        (Some(_), Some(kind)) => Some(format!("{}: {}", kind.word(), truncated(value, MOST_TITLE_CHARS))),
        (Some(text), None) if text.chars().count() > MOST_CHARS => Some(truncated(text, MOST_TITLE_CHARS)),
        _ => None,
    };
    let was = before.map(|it| format!("before: {}", change_marks::text_or_nothing(it, MOST_TITLE_CHARS)));
    let all: Vec<String> = means.into_iter().chain(was).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

fn kind(rows: &Rows, at: usize) -> Option<ColumnType> {
    rows.values.iter().find(|it| it.of == at && it.facet == Facet::Value).map(|it| it.kind)
}

/// The default heading of a column: its name and, if it has one, its type.
pub(crate) fn heading(name: &str, kind: Option<ColumnType>) -> Markup {
    html! { (name) @if let Some(kind) = kind { span.type { (kind.word()) } } }
}

pub(super) fn is_number(kind: Option<ColumnType>) -> bool {
    matches!(kind, Some(ColumnType::Int | ColumnType::Number | ColumnType::Money))
}
