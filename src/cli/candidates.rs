//! Draws candidates side by side, as many per band as fit the terminal.

use comfy_table::presets::UTF8_FULL_CONDENSED;

use super::output;
use crate::learn::Candidate;
use crate::learn::apply::visible;
use crate::model::{Row, Table, counted};

/// Rows of a candidate that a person sees, and values of a row.
const SHOWN_ROWS: usize = 3;
const SHOWN_VALUES: usize = 5;
/// Least and largest width of a candidate, in columns of the terminal.
const LEAST_WIDTH: usize = 32;
const MOST_WIDTH: usize = 60;
/// Border, padding and the ellipsis of a cell.
const AROUND: usize = 4;

/// One column per candidate: rows, method, score and the first rows. Candidates that do not fit go into a band below.
pub(super) fn side_by_side(candidates: &[Candidate], width: usize) -> String {
    let beside = (width / (LEAST_WIDTH + AROUND)).clamp(1, candidates.len().max(1));
    let cell = ((width.saturating_sub(1)) / beside).saturating_sub(AROUND).clamp(8, MOST_WIDTH);
    let numbered: Vec<(usize, &Candidate)> = candidates.iter().enumerate().collect();
    let bands = numbered.chunks(beside).map(|band| {
        let mut drawn = comfy_table::Table::new();
        drawn.load_style(UTF8_FULL_CONDENSED);
        drawn.set_header(band.iter().map(|(place, it)| head(*place, it, cell)));
        let tables: Vec<Table> = band.iter().map(|(_, it)| visible(&it.table, &it.template)).collect();
        let most = tables.iter().map(|table| table.rows.len()).max().unwrap_or(0).min(SHOWN_ROWS);
        for row in 0..most {
            let record = |table: &Table| table.rows.get(row).map(|it| lines(table, it, cell)).unwrap_or_default();
            // A blank line separates the records.
            let gap = if row + 1 < most { "\n" } else { "" };
            drawn.add_row(tables.iter().map(|table| format!("{}{gap}", record(table))));
        }
        drawn.to_string()
    });
    bands.collect::<Vec<_>>().join("\n")
}

fn head(place: usize, it: &Candidate, width: usize) -> String {
    let shown = it.template.columns().iter().filter(|column| !column.hidden).count();
    let first = format!("{}. {}, {}", place + 1, counted(it.table.rows.len(), "row"), counted(shown, "column"));
    format!(
        "{}\n{}",
        output::cell(&first, width),
        output::cell(&format!("{}, score {:.2}", it.method, it.score), width)
    )
}

/// The first values of a record with their names, one per line; words before addresses.
fn lines(table: &Table, row: &Row, width: usize) -> String {
    let named = table.columns.iter().zip(&row.cells).filter_map(|(name, cell)| Some((name, cell.as_ref()?)));
    let is_address = |(_, value): &(&String, &String)| value.contains('/') && !value.contains(' ');
    let (addresses, words): (Vec<_>, Vec<_>) = named.partition(is_address);
    let line = |(name, value): (&String, &String)| output::cell(&format!("{name}: {value}"), width);
    words.into_iter().chain(addresses).take(SHOWN_VALUES).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{LearnOptions, learn};
    use crate::page::Tree;

    #[test]
    fn candidates_stand_beside_each_other_where_there_is_room() {
        let page = "<ul><li><b>Oak</b> <i>95</i><li><b>Elm</b> <i>240</i><li><b>Ash</b> <i>70</i></ul>\
                    <ol><li><u>north</u> up<li><u>south</u> down<li><u>west</u> left</ol>";
        let found = learn(&[Tree::parse(page)], &LearnOptions::default());
        assert!(found.len() >= 2);
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        for width in [20, 40, 80, 120, 200] {
            let shown = side_by_side(&found, width);
            assert!(widest(&shown) <= width, "{width}:\n{shown}");
            assert!((1..=found.len()).all(|i| shown.contains(&format!("{i}. 3 rows"))), "{shown}");
        }
        let wide = side_by_side(&found, 200);
        assert!(wide.lines().any(|line| line.contains("c1: Oak") && line.contains("c1: north")), "{wide}");
    }
}
