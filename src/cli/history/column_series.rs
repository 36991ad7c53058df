//! Prints the statistics of a numeric column for each run.

use crate::cli::{CliError, VerbResult, exit, output};
use crate::model::TaskName;
use crate::show::column_series;
use crate::show::column_series::SeriesPoint;
use crate::show::verdict::MAX_PAST_RUNS;
use crate::store::Store;

pub(crate) fn print(store: &Store, name: &TaskName, column: &str, limit: u32, as_json: bool) -> VerbResult {
    let runs = store.past_verdicts(name, MAX_PAST_RUNS)?;
    let mut series = column_series::series(&runs, column);
    if series.is_empty() {
        return Err(CliError::new(exit::USAGE, column_series::other_columns(name, &runs, column)));
    }
    series.drain(..series.len().saturating_sub(limit as usize));
    if as_json {
        output::json(&column_series::document(name, column, column_series::columns(&runs), series));
        return Ok(exit::DONE);
    }
    let mut table = output::table(&["WHEN", "LEAST", "LOWER", "MEDIAN", "UPPER", "MOST", "", "VALUES"]);
    table.add_rows(series.iter().map(line));
    output::say(table);
    Ok(exit::DONE)
}

fn line(SeriesPoint { at, figures, .. }: &SeriesPoint) -> [String; 8] {
    let [least, lower, median, upper, most] =
        [figures.least, figures.lower, figures.median, figures.upper, figures.most].map(|it| it.to_string());
    let currency = output::cell(figures.currency.as_deref().unwrap_or(""), 10);
    let at = at.format("%Y-%m-%d %H:%M UTC").to_string();
    [at, least, lower, median, upper, most, currency, figures.count.to_string()]
}
