//! Statistics of a numeric column over time, one point per published run.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::model::{NumberStatistics, PastRun, RunId, TaskName};

/// The statistics of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesPoint {
    pub at: DateTime<Utc>,
    pub run: RunId,
    #[serde(flatten)]
    pub figures: NumberStatistics,
}

/// Columns with statistics in any of the runs; those of the newest run first.
pub fn columns(runs: &[PastRun]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for figures in published(runs).flat_map(|run| &run.verdict.statistics.numbers) {
        if !names.contains(&figures.column) {
            names.push(figures.column.clone());
        }
    }
    names
}

/// The points of one column, oldest first. `runs` are newest first.
pub fn series(runs: &[PastRun], column: &str) -> Vec<SeriesPoint> {
    let point = |run: &PastRun| {
        let figures = run.verdict.statistics.numbers.iter().find(|it| it.column == column)?.clone();
        Some(SeriesPoint { at: run.started_at, run: run.run, figures })
    };
    let mut points: Vec<SeriesPoint> = published(runs).filter_map(point).collect();
    points.reverse();
    points
}

pub fn document(task: &TaskName, column: &str, columns: Vec<String>, series: Vec<SeriesPoint>) -> Json {
    json!({ "task": task, "column": column, "columns": columns, "series": series })
}

/// Quarantined runs do not count.
fn published(runs: &[PastRun]) -> impl Iterator<Item = &PastRun> {
    runs.iter().filter(|run| run.verdict.outcome.is_published())
}

/// The error for a column without statistics; names those that have some.
pub fn other_columns(task: &TaskName, runs: &[PastRun], column: &str) -> String {
    let there = columns(runs);
    match there.is_empty() {
        true => format!(
            "`{task}` has no column statistics yet: columns of type int, number and money get them with the next run"
        ),
        false => format!("`{task}` has no statistics of a column `{column}`; it has {}", there.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Failure, Outcome, Publication, Verdict};

    fn run(minute: i64, outcome: Outcome, columns: &[(&str, f64)]) -> PastRun {
        let at = DateTime::<Utc>::UNIX_EPOCH + chrono::TimeDelta::minutes(minute);
        let mut verdict = Verdict { outcome, ..Verdict::failed(Failure::Http, "") };
        let figures = |&(column, median): &(&str, f64)| NumberStatistics {
            column: column.to_owned(),
            currency: None,
            count: 1,
            least: median,
            lower: median,
            median,
            upper: median,
            most: median,
        };
        verdict.statistics.numbers = columns.iter().map(figures).collect();
        PastRun { run: RunId::new(), started_at: at, ended_at: at, verdict }
    }

    #[test]
    fn only_what_was_published_counts_oldest_first() {
        let good = Outcome::Published(Publication::Changed);
        let runs = [
            run(4, good, &[("price", 4.0)]),
            run(3, Outcome::Failed(Failure::Http), &[("price", 99.0), ("junk", 1.0)]),
            run(2, good, &[]),
            run(1, good, &[("stock", 7.0), ("price", 1.0)]),
        ];
        assert_eq!(columns(&runs), ["price", "stock"]);
        let told: Vec<f64> = series(&runs, "price").iter().map(|point| point.figures.median).collect();
        assert_eq!(told, [1.0, 4.0], "a run of before has none");
        assert_eq!(series(&runs, "junk"), []);
    }
}
