//! Decides whether a repaired list is certain enough to be accepted without a person.

use super::record_linkage::PreviousRows;
use crate::learn::candidates::Candidate;
use crate::learn::template::Template;
use crate::model::{Row, Table};

// On 32 redesigns of known pages these thresholds accept 14, with an F1 of 0.90 to 1.00 and a mean of 0.97. They accept
// none of the three that were found wrongly (0.00, 0.59, 0.77): two fail by linked records and row count, one only by
// its columns.
const MIN_LINKED_SHARE: f64 = 0.7;
/// A column that was filled in this share of the rows must still be.
const FILLED_SHARE: f64 = 0.5;
const MIN_ROW_RATIO: f64 = 0.8;
const MAX_ROW_RATIO: f64 = 1.6;
/// Minimum lead over another list that reads the page differently. It decides little: right lists lead by 0.08 and
/// more.
const MIN_LEAD: f64 = 0.05;

/// The reason not to accept the first candidate without a person. `good` are the last good rows of a whole run.
pub fn doubt(template: &Template, good: &Table, candidates: &[Candidate]) -> Option<String> {
    let first = candidates.first()?;
    let good = of_first_page(good);
    let (now, before) = (first.table.rows.len(), good.rows.len());
    let again = PreviousRows::new(template, &good).link_records(&first.table).share();
    if again < MIN_LINKED_SHARE {
        return Some(format!("only {:.0} % of the last good rows are on the page", again * 100.0));
    }
    let ratio = now as f64 / before.max(1) as f64;
    if !(MIN_ROW_RATIO..=MAX_ROW_RATIO).contains(&ratio) {
        return Some(format!("the number of rows is {now}; on the last good page it was {before}"));
    }
    // Hidden columns may be lost.
    let is_hidden = |name: &str| template.columns().iter().any(|column| column.hidden && column.name == name);
    let is_lost =
        |name: &&String| fill_share(&good, name) >= FILLED_SHARE && fill_share(&first.table, name) < FILLED_SHARE;
    if let Some(name) = good.columns.iter().filter(|name| !is_hidden(name)).find(is_lost) {
        return Some(format!("the column `{name}` was not found again"));
    }
    let rival = candidates[1..].iter().find(|it| visible_rows(it, &good.columns) != visible_rows(first, &good.columns));
    rival
        .is_some_and(|rival| first.score - rival.score < MIN_LEAD)
        .then(|| "another list on the page matches nearly as well".to_owned())
}

/// A repair looks at the first page only.
fn of_first_page(good: &Table) -> Table {
    let first = good.rows.iter().map(|row| row.page).min();
    let rows: Vec<Row> = good.rows.iter().filter(|row| Some(row.page) == first).cloned().collect();
    Table { columns: good.columns.clone(), rows }
}

fn column_index(table: &Table, name: &str) -> Option<usize> {
    table.columns.iter().position(|it| it == name)
}

fn fill_share(table: &Table, name: &str) -> f64 {
    let Some(place) = column_index(table, name) else { return 0.0 };
    let filled = table.rows.iter().filter(|row| row.cells.get(place).is_some_and(Option::is_some)).count();
    filled as f64 / table.rows.len().max(1) as f64
}

/// The candidate's cells under the old columns.
fn visible_rows<'t>(candidate: &'t Candidate, columns: &[String]) -> Vec<Vec<Option<&'t str>>> {
    let table = &candidate.table;
    let places: Vec<Option<usize>> = columns.iter().map(|name| column_index(table, name)).collect();
    let cells = |row: &'t Row| places.iter().map(|place| row.cells.get((*place)?)?.as_deref()).collect();
    table.rows.iter().map(cells).collect()
}
