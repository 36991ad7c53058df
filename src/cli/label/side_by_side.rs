//! Draws the old and the new table side by side, or one below the other on a narrow terminal.

use unicode_width::UnicodeWidthStr;

use crate::model::Table;

use crate::cli::output;

const SHOWN_ROWS: usize = 3;
const SHOWN_COLUMNS: usize = 7;
const CELL_WIDTH: usize = 20;
const SEPARATOR: &str = "  │  ";

/// Joins two blocks of lines; the left block is padded to its widest line.
pub(crate) fn side_by_side(left: &str, right: &str, width: usize) -> String {
    let widest = |text: &str| text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
    let column = widest(left);
    if column + SEPARATOR.width() + widest(right) > width {
        return format!("{left}\n\n{right}");
    }
    let (left, right): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let line = |i: usize| {
        let (old, new) = (left.get(i).copied().unwrap_or(""), right.get(i).copied().unwrap_or(""));
        format!("{old}{}{SEPARATOR}{new}", " ".repeat(column - old.width()))
    };
    (0..left.len().max(right.len())).map(line).collect::<Vec<_>>().join("\n")
}

/// The first rows and columns under the proposed names.
pub(crate) fn sample(table: &Table, names: &[Option<String>]) -> String {
    let wanted: Vec<(usize, &str)> =
        names.iter().enumerate().filter_map(|(column, name)| Some((column, name.as_deref()?))).collect();
    let mut header: Vec<&str> = wanted.iter().take(SHOWN_COLUMNS).map(|&(_, name)| name).collect();
    let more = format!("+{} more", wanted.len().saturating_sub(SHOWN_COLUMNS));
    if wanted.len() > SHOWN_COLUMNS {
        header.push(&more);
    }
    let rows = table.rows.iter().take(SHOWN_ROWS).map(|row| {
        let cell = |&(column, _): &(usize, &str)| output::cell(row.cells[column].as_deref().unwrap_or(""), CELL_WIDTH);
        wanted.iter().take(SHOWN_COLUMNS).map(cell)
    });
    output::table(&header, rows).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_beside_each_other_where_there_is_room() {
        assert_eq!(side_by_side("a\nbbb", "c", 20), "a    │  c\nbbb  │  ");
        assert_eq!(side_by_side("a\nbbb", "c", 8), "a\nbbb\n\nc");
        assert_eq!(side_by_side("日本", "c\nd", 20), "日本  │  c\n      │  d");
    }
}
