//! OLERA's spreadsheet operations: drill down splits a column into finer ones, roll up joins columns into one.

use serde::{Deserialize, Serialize};

use crate::learn::custom_columns::{drill_down_values, join_cells};
use crate::model::{Row, Table};
use crate::page::tree::collapse;

/// The finer encodings of OLERA's hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delimiter {
    /// A delimiter given by a person, such as the comma of the paper's figure 4.
    Text(String),
    /// Word level: blanks, brackets, quotation marks and currency signs separate.
    Words,
}

/// Maximum number of pieces of one text; the last one holds the rest. Alignment is quadratic in the number of pieces.
const MAX_PIECES: usize = 60;

impl Delimiter {
    pub fn pieces(&self, text: &str) -> Vec<String> {
        let parts: Vec<&str> = match self {
            Delimiter::Text(delimiter) if !delimiter.is_empty() => text.split(delimiter.as_str()).collect(),
            Delimiter::Text(_) => vec![text],
            Delimiter::Words => text.split(is_word_separator).collect(),
        };
        let mut pieces: Vec<String> = parts.into_iter().map(collapse).filter(|part| !part.is_empty()).collect();
        if pieces.len() > MAX_PIECES {
            let rest = pieces.split_off(MAX_PIECES - 1);
            pieces.push(rest.join(self.separator()));
        }
        pieces
    }

    /// Separator for pieces that are joined again.
    fn separator(&self) -> &str {
        match self {
            Delimiter::Text(delimiter) => delimiter,
            Delimiter::Words => " ",
        }
    }
}

fn is_word_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | '“' | '”' | '/' | '|' | ',' | ';' | '$' | '€' | '£')
}

/// Splits a column at the delimiter and aligns the pieces with the aligner for rows. The new columns replace the old
/// one and are named after it: `format.1`, `format.2`. An index out of range changes nothing.
pub fn drill_down(table: &Table, column: usize, at: &Delimiter) -> Table {
    let Some(name) = table.columns.get(column) else { return table.clone() };
    let values: Vec<Option<&str>> = table.rows.iter().map(|row| row.cells[column].as_deref()).collect();
    let (slots, pieces) = drill_down_values(&values, at);
    let fresh: Vec<String> = (1..=slots.len()).map(|i| format!("{name}.{i}")).collect();
    let rows = table.rows.iter().zip(pieces).map(|(row, fresh)| {
        let mut cells = row.cells.clone();
        cells.splice(column..=column, fresh);
        Row { cells, page: row.page }
    });
    let rows = rows.collect();
    let mut columns = table.columns.clone();
    columns.splice(column..=column, fresh);
    Table { columns, rows }
}

/// Joins columns into the first of them; empty cells add no delimiter.
pub fn roll_up(table: &Table, columns: &[usize], with: &str) -> Table {
    let columns: Vec<usize> = columns.iter().copied().filter(|&i| i < table.columns.len()).collect();
    let Some((&first, rest)) = columns.split_first() else { return table.clone() };
    let kept: Vec<usize> = (0..table.columns.len()).filter(|i| !rest.contains(i) || *i == first).collect();
    let row = |row: &Row| {
        let whole = join_cells(columns.iter().map(|&i| row.cells[i].clone()), with);
        let cell = |&i: &usize| if i == first { whole.clone() } else { row.cells[i].clone() };
        Row { cells: kept.iter().map(cell).collect(), page: row.page }
    };
    Table {
        columns: kept.iter().map(|&i| table.columns[i].clone()).collect(),
        rows: table.rows.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[&str]) -> Table {
        let row = |value: &&str| Row { cells: vec![Some((*value).to_owned())], page: 0 };
        Table { columns: vec!["format".to_owned()], rows: values.iter().map(row).collect() }
    }

    #[test]
    fn the_last_piece_holds_what_is_left_of_a_long_text() {
        let text: Vec<String> = (1..=80).map(|n| n.to_string()).collect();
        let pieces = Delimiter::Text(", ".to_owned()).pieces(&text.join(", "));
        assert_eq!((pieces.len(), pieces[59].as_str()), (60, text[59..].join(", ").as_str()));
        assert_eq!(Delimiter::Words.pieces(&text.join(" "))[59], text[59..].join(" "));
    }

    fn shown(table: &Table) -> Vec<String> {
        let row =
            |row: &Row| row.cells.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" | ");
        table.rows.iter().map(row).collect()
    }

    /// Two values have two parts and one has three; the page counts are aligned.
    #[test]
    fn figure_4_drills_down_at_the_comma() {
        let table = column(&["Paperback, 1000pp.", "Paperback, 750pp.", "Hardcover, 1st ed., 488pp."]);
        let drilled = drill_down(&table, 0, &Delimiter::Text(",".to_owned()));
        assert_eq!(drilled.columns, ["format.1", "format.2", "format.3"]);
        assert_eq!(
            shown(&drilled),
            ["Paperback | - | 1000pp.", "Paperback | - | 750pp.", "Hardcover | 1st ed. | 488pp."]
        );
    }

    #[test]
    fn word_level_parts_a_label_from_its_price() {
        let drilled = drill_down(&column(&["Retail Price: $89.99", "Retail Price: $5.10"]), 0, &Delimiter::Words);
        assert_eq!(shown(&drilled), ["Retail | Price: | 89.99", "Retail | Price: | 5.10"]);
    }

    #[test]
    fn roll_up_is_the_way_back() {
        let table = column(&["Paperback, 1000pp.", "Hardcover, 1st ed., 488pp."]);
        let drilled = drill_down(&table, 0, &Delimiter::Text(",".to_owned()));
        let rolled = roll_up(&drilled, &[0, 1, 2], ", ");
        assert_eq!(shown(&rolled), shown(&table));
        assert_eq!(rolled.columns, ["format.1"]);
    }
}
