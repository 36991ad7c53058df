//! Chart of a numeric column over the runs: the median, with a band from the lower to the upper quartile.

use maud::{Markup, html};
use url::form_urlencoded::byte_serialize;

use crate::model::{PastRun, TaskName};
use crate::show::column_series;
use crate::show::column_series::SeriesPoint;
use crate::web::chart::{Chart, grouped_number};
use crate::web::components;

use super::task_page::address;

/// Runs shown in the table.
const LISTED: usize = 25;
/// Longer column names are truncated.
const MOST_CHARS: usize = 60;

/// The address of a column's chart.
pub(crate) fn link(task: &TaskName, column: &str) -> String {
    let name: String = byte_serialize(column.as_bytes()).collect();
    address(task, &format!("/runs?column={name}#numbers"))
}

/// Shows the requested column, or else the first; nothing if the task has no numeric columns.
pub(crate) fn show(task: &TaskName, runs: &[PastRun], wanted: Option<&str>) -> Markup {
    let columns = column_series::columns(runs);
    let chosen = columns.iter().find(|it| Some(it.as_str()) == wanted).or(columns.first());
    let Some(chosen) = chosen else { return html! {} };
    let mut series = column_series::series(runs, chosen);
    // Amounts in different currencies cannot be compared: only the latest currency is drawn.
    let currency = series.last().and_then(|last| last.figures.currency.clone());
    series.retain(|point| point.figures.currency == currency);
    html! {
        section #numbers {
            h2 { "Values over time" }
            @if columns.len() > 1 { (choices(task, &columns, chosen)) }
            (curve(chosen, currency.as_deref(), &series))
            (table(&series))
        }
    }
}

fn choices(task: &TaskName, columns: &[String], chosen: &str) -> Markup {
    html! {
        nav.counts aria-label="Numeric columns" { @for column in columns {
            a href=(link(task, column)) aria-current=[(column == chosen).then_some("true")] {
                (components::truncated(column, MOST_CHARS))
            }
        } }
    }
}

fn curve(column: &str, currency: Option<&str>, series: &[SeriesPoint]) -> Markup {
    let name = components::truncated(column, MOST_CHARS);
    let what =
        currency.map_or(name.clone(), |currency| format!("{name} ({})", components::truncated(currency, MOST_CHARS)));
    let points = series.iter().map(|it| (it.at, Some(it.figures.median))).collect();
    let band = series.iter().map(|it| (it.at, (it.figures.lower, it.figures.upper))).collect();
    html! {
        div.charts { (Chart { what: &what, points, band, range: None, line: None }.draw()) }
        @if let Some(last) = series.last() {
            p.faint {
                "The line is the median of the published rows; the band is the middle half of them. "
                "Last published run: minimum " (grouped_number(last.figures.least))
                ", median " (grouped_number(last.figures.median))
                ", maximum " (grouped_number(last.figures.most)) "."
            }
        }
    }
}

fn table(series: &[SeriesPoint]) -> Markup {
    html! {
        details.more {
            summary { "As a table" }
            table.cards {
                caption.sr { "Statistics of the values, newest run first" }
                thead { tr {
                    th scope="col" { "Run" }
                    @for name in ["Minimum", "Lower quartile", "Median", "Upper quartile", "Maximum", "Values"] {
                        th.number scope="col" { (name) }
                    }
                } }
                tbody { @for SeriesPoint { at, figures, .. } in series.iter().rev().take(LISTED) { tr {
                    th scope="row" { (components::time(Some(*at), "")) }
                    td.number data-label="Minimum" { (grouped_number(figures.least)) }
                    td.number data-label="Lower quartile" { (grouped_number(figures.lower)) }
                    td.number data-label="Median" { (grouped_number(figures.median)) }
                    td.number data-label="Upper quartile" { (grouped_number(figures.upper)) }
                    td.number data-label="Maximum" { (grouped_number(figures.most)) }
                    td.number data-label="Values" { (components::number(figures.count)) }
                } } }
            }
        }
    }
}
