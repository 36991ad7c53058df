//! What the last change has done to the rows of a page. Only the keys of that page are looked up, however many rows there are.

use std::collections::HashMap;

use maud::{Markup, html};

use crate::model::TaskName;
use crate::store::{Change, RecordChange, RecordKey, Rows, Store, StoreError, What};

use super::super::parts;
use super::address;

/// Of a text that was; the cell's title has more of it.
const MOST_CHARS: usize = 60;
/// No shorter text is cut by history.
const CUT_CHARS: usize = 4_000;

/// Nothing is marked by default, and no row is led to its history.
#[derive(Default)]
pub struct Marks {
    task: Option<TaskName>,
    change: Option<Change>,
    records: HashMap<RecordKey, RecordChange>,
}

impl Marks {
    /// Of published rows: every publication that changes them is a change, so the newest one is theirs.
    pub fn read(store: &Store, task: &TaskName, rows: &Rows) -> Result<Marks, StoreError> {
        let change = store.changes(task, None, 1)?.pop();
        let listed = change.as_ref().filter(|it| it.counts.is_some() && it.unlisted.is_none());
        let records = listed.map(|it| store.changed_among(it.id, &rows.keys)).transpose()?.unwrap_or_default();
        let records = records.into_iter().map(|record| (record.key, record)).collect();
        Ok(Marks { task: Some(task.clone()), change, records })
    }

    pub fn is_new(&self, key: RecordKey) -> bool {
        self.records.get(&key).is_some_and(|it| it.what == What::Added)
    }

    /// What a cell said before. It must say now what it came to: of several rows with one key only the first was compared, and rows may
    /// have been published since they were read.
    pub fn before(&self, key: RecordKey, column: &str, text: Option<&str>) -> Option<&str> {
        let record = self.records.get(&key).filter(|it| it.what == What::Changed)?;
        let cell = record.cells.iter().find(|it| it.column == column)?;
        let came_to = cell.to.text.as_deref();
        let is_it = text == came_to || text.zip(came_to).is_some_and(|(text, cut)| is_cut_of(cut, text));
        is_it.then(|| cell.from.text.as_deref().unwrap_or_default())
    }

    /// What stands in front of a row.
    pub fn number(&self, key: RecordKey, number: u64) -> Markup {
        html! {
            @match &self.task {
                Some(task) => a.plain href=(address(task, &format!("/record/{key}"))) title="What happened to it" { (number) },
                None => (number),
            }
            @if self.is_new(key) { " " span.new { "new" } }
        }
    }

    /// What is marked, in a line.
    pub fn line(&self) -> Markup {
        let Some((task, change)) = self.task.as_ref().zip(self.change.as_ref()) else { return html! {} };
        let (at, all) =
            (parts::time(Some(change.at), ""), html! { a href=(address(task, "/changes")) { "All changes" } });
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

/// History cuts texts that are very long.
fn is_cut_of(cut: &str, text: &str) -> bool {
    cut.len() > CUT_CHARS && cut.strip_suffix('…').is_some_and(|start| text.starts_with(start))
}

/// Under what a cell says now: what it said before.
pub fn was(text: &str) -> Markup {
    html! { small.was { span.sr { " (changed, before: " } del { (said(text, MOST_CHARS)) } span.sr { ")" } } }
}

pub fn said(text: &str, most: usize) -> String {
    if text.trim().is_empty() { "nothing".to_owned() } else { parts::cut(text, most) }
}
