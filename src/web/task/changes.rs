//! The changes of each publication (records added, changed, removed), and the history of one record.

use axum::extract::{Path, Query};
use axum::response::Html;
use chrono::Utc;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::model::TaskName;
use crate::store::{CellChange, CellValue, ChangeKind, ChangeSet, RecordChange, RecordHistory, RecordKey};
use crate::web::chart::Chart;
use crate::web::components;
use crate::web::error::WebError;

use super::task_page::{TaskPage, TaskTab, address};

/// Changes offered, and records shown per change.
const CHANGES: u32 = 30;
const RECORDS: u32 = 100;
/// Longer texts are truncated.
const MOST_CHARS: usize = 200;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChangesQuery {
    /// The change to show; absent: the last one.
    id: Option<i64>,
}

pub(super) async fn show(at: TaskPage, Query(wanted): Query<ChangesQuery>) -> Result<Html<String>, WebError> {
    let task = at.task().clone();
    let read = at.web.store.read(move |store| {
        let changes = store.changes(&task, None, CHANGES)?;
        let chosen = wanted.id.and_then(|id| changes.iter().find(|it| it.id == id)).or(changes.first()).cloned();
        let records = chosen.as_ref().map(|it| store.records_of(it.id, 0, RECORDS)).transpose()?;
        Ok((changes, chosen, records.unwrap_or_default()))
    });
    let (changes, chosen, records) = read.await?;
    let body = html! {
        div #changes data-live {
            @match &chosen {
                None => p.empty {
                    "No changes since the first publication, or they are no longer kept (data.history in task.toml)."
                },
                Some(chosen) => { (list(at.task(), &changes, chosen.id)) (change_view(at.task(), chosen, &records)) },
            }
        }
    };
    Ok(at.show(TaskTab::Changes, body))
}

fn list(task: &TaskName, changes: &[ChangeSet], chosen: i64) -> Markup {
    html! {
        p.counts { @for change in changes {
            a href=(address(task, &format!("/changes?id={}", change.id)))
                aria-current=[(change.id == chosen).then_some("true")] {
                (components::time(Some(change.at), ""))
            }
        } }
    }
}

fn change_view(task: &TaskName, change: &ChangeSet, records: &[RecordChange]) -> Markup {
    html! {
        p {
            (components::counted(change.rows_before, "row")) " before, "
            (components::number(change.rows_after)) " after"
            @match change.counts { Some(counts) => { ": " (counts) "." }, None => "; the comparison is not finished." }
            @if let Some(unlisted) = change.unlisted { " " (unlisted.sentence()) "." }
        }
        @if !records.is_empty() {
            table.cards {
                caption.sr { "Changed records" }
                thead { tr { @for name in ["Record", "Change", "Cells"] { th scope="col" { (name) } } } }
                tbody { @for record in records { tr {
                    th scope="row" {
                        a href=(address(task, &format!("/record/{}", record.key))) {
                            (components::truncated(named(&record.name), MOST_CHARS))
                        }
                    }
                    td data-label="Change" { (record.what.word()) }
                    td.wide { (cells(record)) }
                } } }
            }
            @if records.len() as u32 == RECORDS {
                p.faint { "The first " (RECORDS) " are shown; " code { "pieme diff " (task) } " shows all." }
            }
        }
    }
}

fn named(name: &str) -> &str {
    if name.trim().is_empty() { "(no name)" } else { name }
}

/// Old and new values of a changed record; the values of an added or removed one.
fn cells(record: &RecordChange) -> Markup {
    let text =
        |cell: &CellValue| cell.text.as_deref().map(|text| components::truncated(text, MOST_CHARS)).unwrap_or_default();
    let filled = |cell: &&CellChange| cell.from.text.is_some() || cell.to.text.is_some();
    html! {
        dl.facts { @for cell in record.cells.iter().filter(filled) {
            dt { (cell.column) }
            dd {
                @if record.what != ChangeKind::Added { del { (text(&cell.from)) } " " }
                @if record.what != ChangeKind::Removed { ins { (text(&cell.to)) } }
            }
        } }
    }
}

pub(super) async fn record(at: TaskPage, Path((_, key)): Path<(String, String)>) -> Result<Html<String>, WebError> {
    let task = at.task().clone();
    let key: RecordKey = key.parse().map_err(|_| WebError::NoPage)?;
    let life = at.web.store.read(move |store| store.record_history(&task, key)).await?.ok_or(WebError::NoPage)?;
    let body = html! {
        h2 { (components::truncated(named(&life.name), MOST_CHARS)) }
        p {
            "First seen " (components::time(life.first_seen, "before the history begins"))
            @if life.now.is_none() { "; no longer published" } "."
        }
        div.charts { @for column in columns(&life) { (curve(&life, &column)) } }
        @if let Some(now) = &life.now {
            h3 { "Now" }
            dl.facts { @for (name, cell) in now {
                @if let Some(text) = &cell.text { dt { (name) } dd { (components::text(text, MOST_CHARS)) } }
            } }
        }
        h3 { "History" }
        @if life.events.is_empty() { p.empty { "No changes." } }
        @for event in life.events.iter().rev() {
            p { (components::time(Some(event.at), "")) ": " (event.record.what.word()) }
            (cells(&event.record))
        }
    };
    Ok(at.show(TaskTab::Changes, body))
}

/// The numeric columns of the record that have changed.
fn columns(life: &RecordHistory) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for cell in life.events.iter().flat_map(|event| &event.record.cells) {
        if (cell.from.value.is_number() || cell.to.value.is_number()) && !names.contains(&cell.column) {
            names.push(cell.column.clone());
        }
    }
    names
}

/// A step chart: each value holds until the next one, the last one until now.
fn curve(life: &RecordHistory, column: &str) -> Markup {
    let mut points = Vec::new();
    let mut last: Option<f64> = None;
    for point in life.series(column) {
        let value = Some(&point.cell.value).and_then(Value::as_f64);
        if last.is_some() {
            points.push((point.at, last));
        }
        points.push((point.at, value));
        last = value;
    }
    if last.is_some() && life.now.is_some() {
        points.push((Utc::now(), last));
    }
    Chart { what: column, points, band: Vec::new(), range: None, line: None }.draw()
}
