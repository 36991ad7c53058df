//! Marks the rows of a page that the last change added or changed. Only the keys of that page are looked up.

use std::collections::HashMap;

use maud::{Markup, html};

use crate::model::TaskName;
use crate::store::{CellChange, ChangeKind, ChangeSet, RecordChange, RecordKey, Rows, Store, StoreError};
use crate::web::components;

use super::task_page::address;

/// Longer previous values are truncated; the cell's title has more of them.
const MOST_CHARS: usize = 60;
/// The history truncates texts above this length.
const HISTORY_MAX_CHARS: usize = 4_000;

/// By default no row is marked, and none links to its history.
#[derive(Default)]
pub(super) struct ChangeMarks {
    task: Option<TaskName>,
    change: Option<ChangeSet>,
    /// Several per key if rows share it.
    records: HashMap<RecordKey, Vec<RecordChange>>,
}

impl ChangeMarks {
    /// For published rows: each publication that differs makes a change, so the newest change produced these rows.
    pub fn read(store: &Store, task: &TaskName, rows: &Rows) -> Result<ChangeMarks, StoreError> {
        let change = store.changes(task, None, 1)?.pop();
        let listed = change.as_ref().filter(|it| it.counts.is_some() && it.unlisted.is_none());
        let records = listed.map(|it| store.changed_among(it.id, &rows.keys)).transpose()?.unwrap_or_default();
        let mut by_key: HashMap<RecordKey, Vec<RecordChange>> = HashMap::new();
        for record in records {
            by_key.entry(record.key).or_default().push(record);
        }
        Ok(ChangeMarks { task: Some(task.clone()), change, records: by_key })
    }

    /// The change to a row, by its key and its texts. Each changed cell must have its new value now: rows may share a
    /// key, or may have been published again since they were read.
    pub fn of(&self, key: RecordKey, columns: &[String], texts: &[Option<String>]) -> Option<&RecordChange> {
        let says = |cell: &CellChange| {
            let place = columns.iter().position(|column| *column == cell.column);
            place.is_some_and(|at| is_same(texts[at].as_deref(), cell.to.text.as_deref()))
        };
        let records = self.records.get(&key)?;
        records.iter().find(|it| it.what != ChangeKind::Removed && it.cells.iter().all(says))
    }

    /// The first cell of a row: its number, a link to its history, and “new” for an added row.
    pub fn number(&self, key: RecordKey, number: u64, is_new: bool) -> Markup {
        html! {
            @match &self.task {
                Some(task) => a.plain href=(address(task, &format!("/record/{key}"))) title="History" { (number) },
                None => (number),
            }
            @if is_new { " " span.new { "new" } }
        }
    }

    /// One line above the table that says what is marked.
    pub fn line(&self) -> Markup {
        let Some((task, change)) = self.task.as_ref().zip(self.change.as_ref()) else { return html! {} };
        let (at, all) =
            (components::time(Some(change.at), ""), html! { a href=(address(task, "/changes")) { "All changes" } });
        html! {
            p #marked {
                @match (change.counts, change.unlisted) {
                    (None, _) => { "The last change, " (at) ", is still being compared. " (all) },
                    (Some(_), Some(why)) => {
                        "The last change, " (at) ", is not marked: " (why.sentence()) ". " (all)
                    },
                    (Some(counts), None) => {
                        "The last change, " (at) ", is " span.changed { "marked" } ": " (counts) ". " (all)
                    },
                }
            }
        }
    }
}

/// The previous value of a cell, if the change to its row changed it.
pub(crate) fn before<'c>(change: Option<&'c RecordChange>, column: &str) -> Option<&'c str> {
    let record = change.filter(|it| it.what == ChangeKind::Changed)?;
    let cell = record.cells.iter().find(|it| it.column == column)?;
    Some(cell.from.text.as_deref().unwrap_or_default())
}

fn is_same(text: Option<&str>, came_to: Option<&str>) -> bool {
    text == came_to || text.zip(came_to).is_some_and(|(text, cut)| is_truncation_of(cut, text))
}

/// The history truncates very long texts.
fn is_truncation_of(cut: &str, text: &str) -> bool {
    cut.len() > HISTORY_MAX_CHARS && cut.strip_suffix('…').is_some_and(|start| text.starts_with(start))
}

/// The previous value, shown below the current one.
pub(super) fn previous_value(text: &str) -> Markup {
    html! {
        small.was { span.sr { " (changed, before: " } del { (text_or_nothing(text, MOST_CHARS)) } span.sr { ")" } }
    }
}

pub(super) fn text_or_nothing(text: &str, most: usize) -> String {
    if text.trim().is_empty() { "nothing".to_owned() } else { components::truncated(text, most) }
}
