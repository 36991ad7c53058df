//! A column of numbers over time, for the whole task: what its values were like, run by run.

use crate::cli::{Complaint, Done, exit, out};
use crate::model::TaskName;
use crate::show::numbers::{self, Point};
use crate::show::verdict::LOOKED_THROUGH;
use crate::store::Store;

pub fn print(store: &Store, name: &TaskName, column: &str, limit: u32, as_json: bool) -> Done {
    let runs = store.past(name, LOOKED_THROUGH)?;
    let mut series = numbers::series(&runs, column);
    if series.is_empty() {
        return Err(Complaint::new(exit::USAGE, numbers::other_columns(name, &runs, column)));
    }
    series.drain(..series.len().saturating_sub(limit as usize));
    if as_json {
        out::json(&numbers::document(name, column, numbers::columns(&runs), series));
        return Ok(exit::DONE);
    }
    let mut table = out::table(&["WHEN", "LEAST", "LOWER", "MEDIAN", "UPPER", "MOST", "", "VALUES"]);
    table.add_rows(series.iter().map(line));
    out::say(table);
    Ok(exit::DONE)
}

fn line(Point { at, figures, .. }: &Point) -> [String; 8] {
    let [least, lower, median, upper, most] =
        [figures.least, figures.lower, figures.median, figures.upper, figures.most].map(|it| it.to_string());
    let currency = out::cell(figures.currency.as_deref().unwrap_or(""), 10);
    let at = at.format("%Y-%m-%d %H:%M UTC").to_string();
    [at, least, lower, median, upper, most, currency, figures.count.to_string()]
}
