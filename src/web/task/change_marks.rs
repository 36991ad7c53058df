//! What the last change has done to the rows of a page. Only the keys of that page are looked up, however many rows there are.

use std::collections::HashMap;

use maud::{Markup, html};

use crate::model::TaskName;
use crate::store::{CellChange, ChangeKind, ChangeSet, RecordChange, RecordKey, Rows, Store, StoreError};

use super::address;
use crate::web::components;

/// Of a text that was; the cell's title has more of it.
const MOST_CHARS: usize = 60;
/// No shorter text is cut by history.
const HISTORY_MAX_CHARS: usize = 4_000;

/// Nothing is marked by default, and no row is led to its history.
#[derive(Default)]
pub struct ChangeMarks {
    task: Option<TaskName>,
    change: Option<ChangeSet>,
    /// Several where rows share a key.
    records: HashMap<RecordKey, Vec<RecordChange>>,
}

impl ChangeMarks {
    /// Of published rows: every publication that changes them is a change, so the newest one is theirs.
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

    /// What happened to a row, by its key and its texts under their columns. Each changed cell must say now what it
    /// came to: rows may share a key, and may have been published since they were read.
    pub fn of(&self, key: RecordKey, columns: &[String], texts: &[Option<String>]) -> Option<&RecordChange> {
        let says = |cell: &CellChange| {
            let place = columns.iter().position(|column| *column == cell.column);
            place.is_some_and(|at| is_same(texts[at].as_deref(), cell.to.text.as_deref()))
        };
        let records = self.records.get(&key)?;
        records.iter().find(|it| it.what != ChangeKind::Removed && it.cells.iter().all(says))
    }

    /// What stands in front of a row.
    pub fn number(&self, key: RecordKey, number: u64, is_new: bool) -> Markup {
        html! {
            @match &self.task {
                Some(task) => a.plain href=(address(task, &format!("/record/{key}"))) title="What happened to it" { (number) },
                None => (number),
            }
            @if is_new { " " span.new { "new" } }
        }
    }

    /// What is marked, in a line.
    pub fn line(&self) -> Markup {
        let Some((task, change)) = self.task.as_ref().zip(self.change.as_ref()) else { return html! {} };
        let (at, all) =
            (components::time(Some(change.at), ""), html! { a href=(address(task, "/changes")) { "All changes" } });
        html! {
            p #marked {
                @match (change.counts, change.unlisted) {
                    (None, _) => { "What changed " (at) " is still being compared. " (all) },
                    (Some(_), Some(why)) => { "What changed " (at) " is not marked: " (why.sentence()) ". " (all) },
                    (Some(counts), None) => {
                        span.changed { "Marked" } " is the last change, " (at) ": " (counts) ". " (all)
                    },
                }
            }
        }
    }
}

/// What a cell said before, where a change to its row has changed it.
pub fn before<'c>(change: Option<&'c RecordChange>, column: &str) -> Option<&'c str> {
    let record = change.filter(|it| it.what == ChangeKind::Changed)?;
    let cell = record.cells.iter().find(|it| it.column == column)?;
    Some(cell.from.text.as_deref().unwrap_or_default())
}

fn is_same(text: Option<&str>, came_to: Option<&str>) -> bool {
    text == came_to || text.zip(came_to).is_some_and(|(text, cut)| is_truncation_of(cut, text))
}

/// History cuts texts that are very long.
fn is_truncation_of(cut: &str, text: &str) -> bool {
    cut.len() > HISTORY_MAX_CHARS && cut.strip_suffix('…').is_some_and(|start| text.starts_with(start))
}

/// Under what a cell says now: what it said before.
pub fn previous_value(text: &str) -> Markup {
    html! { small.was { span.sr { " (changed, before: " } del { (text_or_nothing(text, MOST_CHARS)) } span.sr { ")" } } }
}

pub fn text_or_nothing(text: &str, most: usize) -> String {
    if text.trim().is_empty() { "nothing".to_owned() } else { components::truncated(text, most) }
}
