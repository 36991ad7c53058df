//! Which columns identify a record.

use crate::model::{ColumnStatistics, PastRun};

/// Minimum share of distinct values of a column that identifies the rows.
const MIN_DISTINCT_SHARE: f64 = 0.9;

/// The columns that identify the records of the next run: the task's key, or else the identifying column of the last
/// good run.
pub(super) fn identifying_columns(key: &[String], past: &[PastRun]) -> Vec<String> {
    if !key.is_empty() {
        return key.to_vec();
    }
    let Some(last) = past.iter().find(|run| run.verdict.outcome.is_published()) else { return Vec::new() };
    let columns = &last.verdict.statistics.columns;
    identifying_column(columns, last.verdict.rows).map(|i| columns[i].name.clone()).into_iter().collect()
}

/// The first distinct column. Words and links come before numbers, which change.
pub(super) fn identifying_column(columns: &[ColumnStatistics], rows: u64) -> Option<usize> {
    let tells_apart = |it: &&usize| columns[**it].different as f64 >= rows as f64 * MIN_DISTINCT_SHARE;
    let all: Vec<usize> = (0..columns.len()).collect();
    let mut candidates = all.iter().filter(tells_apart);
    let first = candidates.clone().next();
    candidates.find(|&&it| columns[it].numbers * 2 < columns[it].filled).or(first).copied()
}
