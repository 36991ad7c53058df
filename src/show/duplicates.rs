//! Finds records that differ only in spelling, in two passes over the published rows: the first keeps hashes, the
//! second keeps the records whose hash occurs more than once.

use std::ops::ControlFlow;

use serde_json::{Map, Value as Json};

use crate::config::Config;
use crate::model::{TaskName, ValueColumn};
use crate::normalise::duplicates::{CandidateFilter, MatchKey};
use crate::store::{RecordKey, Rows, Store, StoreError};

pub use crate::normalise::duplicates::{DuplicateGroup, MatchKind};

/// Limits on memory.
#[derive(Clone, Copy, Debug)]
pub struct DuplicateLimits {
    /// Records that are compared, at 16 bytes each in the first pass.
    pub compared: u64,
    /// Possible duplicates that are kept with their texts.
    pub kept: usize,
}

#[derive(Clone)]
pub struct DuplicateRecord {
    pub task: TaskName,
    pub key: RecordKey,
    /// Texts by column.
    pub cells: Map<String, Json>,
}

pub struct DuplicateReport {
    pub groups: Vec<DuplicateGroup<DuplicateRecord>>,
    pub compared: u64,
    /// Whether no limit was reached.
    pub is_complete: bool,
}

pub fn find(
    config: &Config,
    store: &Store,
    tasks: &[TaskName],
    by: &[String],
    limits: DuplicateLimits,
) -> Result<DuplicateReport, StoreError> {
    let mut sieve = CandidateFilter::default();
    let mut compared = 0;
    for_each_record(config, store, tasks, by, |likeness, _, _, _| {
        sieve.note(&likeness);
        compared += 1;
        compared < limits.compared
    })?;
    let mut suspects = sieve.into_candidates();
    let mut is_complete = compared < limits.compared;
    for_each_record(config, store, tasks, by, |likeness, task, rows, row| {
        if suspects.may_have_duplicate(&likeness) {
            suspects
                .keep(likeness, DuplicateRecord { task: task.clone(), key: rows.keys[row], cells: cells(rows, row) });
        }
        is_complete &= suspects.len() < limits.kept;
        suspects.len() < limits.kept
    })?;
    Ok(DuplicateReport { groups: suspects.groups(), compared, is_complete })
}

/// Visits every record with a text to compare until `visit` returns false.
fn for_each_record(
    config: &Config,
    store: &Store,
    tasks: &[TaskName],
    by: &[String],
    mut visit: impl FnMut(MatchKey, &TaskName, &Rows, usize) -> bool,
) -> Result<(), StoreError> {
    let mut goes_on = true;
    for task in tasks {
        let key = match by.is_empty() {
            true => crate::tasks::read(&config.tasks.join(task.as_str())).map_or(Vec::new(), |it| it.task.data.key),
            false => by.to_vec(),
        };
        store.each_published(task, &mut |rows| {
            let columns = compared_columns(rows, &key);
            for (place, row) in rows.table.rows.iter().enumerate() {
                let texts = columns.iter().filter_map(|&at| row.cells.get(at)?.as_deref());
                // Without chosen columns, links are ignored: they differ between duplicates.
                let likeness = MatchKey::of(texts.filter(|text| !key.is_empty() || !is_link(text)));
                goes_on = likeness.is_none_or(|likeness| visit(likeness, task, rows, place));
                if !goes_on {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        if !goes_on {
            break;
        }
    }
    Ok(())
}

/// The key columns, if the task has all of them; without a key, all columns without a type.
fn compared_columns(rows: &Rows, key: &[String]) -> Vec<usize> {
    let columns = &rows.table.columns;
    if key.is_empty() {
        let is_typed = |at: usize| rows.values.iter().any(|value: &ValueColumn| value.of == at);
        return (0..columns.len()).filter(|&at| !is_typed(at)).collect();
    }
    let places: Option<Vec<usize>> = key.iter().map(|name| columns.iter().position(|it| it == name)).collect();
    places.unwrap_or_default()
}

fn is_link(text: &str) -> bool {
    let text = text.trim();
    text.contains("://") || text.starts_with('/') && !text.contains(' ')
}

fn cells(rows: &Rows, row: usize) -> Map<String, Json> {
    let named = rows.table.columns.iter().zip(&rows.table.rows[row].cells);
    named.filter_map(|(name, text)| Some((name.clone(), Json::from(text.clone()?)))).collect()
}
