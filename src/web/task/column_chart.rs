//! A column of numbers over the runs: a curve of the median with the middle half of the values around it.

use maud::{Markup, html};
use url::form_urlencoded::byte_serialize;

use crate::model::{PastRun, TaskName};
use crate::show::column_series;
use crate::show::column_series::SeriesPoint;

use super::super::chart::{Chart, grouped_number};
use super::address;
use crate::web::components;

/// Runs that are shown as a table.
const LISTED: usize = 25;
/// Of a column's name.
const MOST_CHARS: usize = 60;

/// Where the curve of a column is.
pub fn link(task: &TaskName, column: &str) -> String {
    let name: String = byte_serialize(column.as_bytes()).collect();
    address(task, &format!("/runs?column={name}#numbers"))
}

/// Of the column that was asked for, or else of the first; nothing where the task has no numbers.
pub fn show(task: &TaskName, runs: &[PastRun], wanted: Option<&str>) -> Markup {
    let columns = column_series::columns(runs);
    let chosen = columns.iter().find(|it| Some(it.as_str()) == wanted).or(columns.first());
    let Some(chosen) = chosen else { return html! {} };
    let mut series = column_series::series(runs, chosen);
    // Amounts of several currencies are no curve.
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
        nav.counts aria-label="Columns of numbers" { @for column in columns {
            a href=(link(task, column)) aria-current=[(column == chosen).then_some("true")] { (components::truncated(column, MOST_CHARS)) }
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
                "The line is the median of the published rows, the band the middle half of them. In the last published run: least "
                (grouped_number(last.figures.least)) ", median " (grouped_number(last.figures.median)) ", most " (grouped_number(last.figures.most)) "."
            }
        }
    }
}

fn table(series: &[SeriesPoint]) -> Markup {
    html! {
        details.more {
            summary { "As a table" }
            table.cards {
                caption.sr { "What the values were like, newest first" }
                thead { tr { @for name in ["Run", "Least", "Lower quarter", "Median", "Upper quarter", "Most", "Values"] { th.number[name != "Run"] scope="col" { (name) } } } }
                tbody { @for SeriesPoint { at, figures, .. } in series.iter().rev().take(LISTED) { tr {
                    th scope="row" { (components::time(Some(*at), "")) }
                    @for (name, value) in [("Least", figures.least), ("Lower", figures.lower), ("Median", figures.median), ("Upper", figures.upper), ("Most", figures.most)] {
                        td.number data-label=(name) { (grouped_number(value)) }
                    }
                    td.number data-label="Values" { (components::number(figures.count)) }
                } } }
            }
        }
    }
}
