//! The runs of a task: charts of similarity and rows, and a table.

use axum::extract::Query;
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;

use crate::model::{PastRun, SIMILARITY_THRESHOLD};
use crate::show::times::short;
use crate::show::verdict::MAX_PAST_RUNS;
use crate::store::RunRow;
use crate::web::chart::Chart;
use crate::web::components;
use crate::web::error::WebError;

use super::column_chart;
use super::task_page::{TaskPage, TaskTab, address};

/// Runs per page.
const RUNS: usize = 25;
/// Runs shown in the charts.
const CURVE: u32 = 100;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunsQuery {
    page: usize,
    /// The column whose values are drawn.
    column: Option<String>,
}

pub(super) async fn show(at: TaskPage, Query(wanted): Query<RunsQuery>) -> Result<Html<String>, WebError> {
    let here = wanted.page.clamp(1, MAX_PAST_RUNS as usize / RUNS);
    let task = at.task().clone();
    // One more than is shown, to know whether there is another page.
    let most = u32::try_from(here * RUNS + 1).unwrap_or(MAX_PAST_RUNS).max(CURVE);
    let runs = at.web.store.read(move |store| store.past_runs(&task, most)).await?;
    let ended: Vec<PastRun> = runs.iter().take(CURVE as usize).cloned().filter_map(RunRow::into_past).collect();
    let shown: Vec<&RunRow> = runs.iter().skip((here - 1) * RUNS).take(RUNS).collect();
    let body = html! {
        div #runs data-live {
            @if runs.is_empty() { p.empty { "The task has not run yet." } } @else {
                div.charts { (similarity(&runs)) (rows(&runs)) }
                (column_chart::show(at.task(), &ended, wanted.column.as_deref()))
                h2 { "Runs" }
                (table(at.task(), &shown))
                (components::pager(here, here + usize::from(runs.len() > here * RUNS), |page| {
                    at.address(&format!("/runs?page={page}"))
                }))
            }
        }
    };
    Ok(at.show(TaskTab::Runs, body))
}

fn similarity(runs: &[RunRow]) -> Markup {
    let value = |run: &RunRow| run.end.as_ref().and_then(|(_, verdict)| verdict.similarity);
    let points = points(runs, value);
    Chart { what: "Similarity", points, band: Vec::new(), range: Some((0.0, 1.0)), line: Some(SIMILARITY_THRESHOLD) }
        .draw()
}

fn rows(runs: &[RunRow]) -> Markup {
    let value = |run: &RunRow| run.end.as_ref().map(|(_, verdict)| verdict.rows as f64);
    Chart { what: "Rows", points: points(runs, value), band: Vec::new(), range: None, line: None }.draw()
}

type ChartPoints = Vec<(chrono::DateTime<chrono::Utc>, Option<f64>)>;

fn points(runs: &[RunRow], value: impl Fn(&RunRow) -> Option<f64>) -> ChartPoints {
    runs.iter().take(CURVE as usize).rev().map(|run| (run.start.started_at, value(run))).collect()
}

fn table(task: &crate::model::TaskName, runs: &[&RunRow]) -> Markup {
    html! {
        table.cards {
            caption.sr { "Runs, newest first" }
            thead { tr {
                @for name in ["Started", "Outcome", "Rows", "Sim", "Duration", "Trigger", "Result"] {
                    th.number[["Rows", "Sim"].contains(&name)] scope="col" { (name) }
                }
            } }
            tbody #run-list data-keyed {
                @for run in runs {
                    tr id={ "run-" (run.start.run) } {
                        th scope="row" {
                            a href=(address(task, &format!("/run/{}", run.start.run))) {
                                (components::time(Some(run.start.started_at), ""))
                            }
                        }
                        @match &run.end {
                            None => { td colspan="5" { "running" } td {} },
                            Some((ended, verdict)) => {
                                td data-label="Outcome" { (verdict.outcome.word()) " (" (verdict.outcome.cause()) ")" }
                                td.number data-label="Rows" { (components::number(verdict.rows)) }
                                td.number data-label="Sim" { (components::similarity(verdict.similarity)) }
                                td data-label="Duration" { (short(*ended - run.start.started_at)) }
                                td data-label="Trigger" { (run.start.trigger.word()) }
                                td.wide { (components::sentence(&verdict.sentence)) }
                            },
                        }
                    }
                }
            }
        }
    }
}
