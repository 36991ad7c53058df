//! The header of a table: the titles of its columns.

use crate::learn::columns::header::cells;
use crate::page::{NodeId, Tree};

/// Maximum length of a title.
const MAX_TITLE: usize = 40;
/// Maximum number of rows above the first record that are examined.
const MAX_ROWS_ABOVE: usize = 6;

/// The title of each column of a table.
pub struct Titles(Vec<String>);

impl Titles {
    /// The header of the table that contains this row: the nearest row above it that consists of titles.
    pub fn above(tree: &Tree, row: Option<NodeId>) -> Option<Titles> {
        let row = row.filter(|&row| tree.tag(row) == "tr")?;
        let table = tree.ancestors(row).find(|&node| tree.tag(node) == "table")?;
        let of_table = |&node: &NodeId| tree.ancestors(node).find(|&it| tree.tag(it) == "table") == Some(table);
        let above = (table.0..row.0).rev().map(NodeId).filter(|&node| tree.tag(node) == "tr");
        let width = cells(tree, row).map(|cell| span(tree, cell)).sum::<usize>();
        above.filter(of_table).take(MAX_ROWS_ABOVE).find_map(|above| titles(tree, above, width)).map(Titles)
    }

    /// The title of the column in which this row contains the node.
    pub fn over(&self, tree: &Tree, row: NodeId, node: NodeId) -> Option<&str> {
        let mut column = 0;
        for cell in cells(tree, row) {
            if tree.contains(cell, node) {
                return self.0.get(column).map(String::as_str).filter(|title| !title.is_empty());
            }
            column += span(tree, cell);
        }
        None
    }
}

/// The row's cells as titles, if most are `<th>`, or all are short words and the row is as wide as the records.
fn titles(tree: &Tree, row: NodeId, width: usize) -> Option<Vec<String>> {
    let mut titles = Vec::new();
    let mut marked = 0;
    let mut wordy = 0;
    let mut count = 0;
    for cell in cells(tree, row) {
        let text = tree.text(cell);
        count += 1;
        marked += usize::from(tree.tag(cell) == "th");
        let reads_like_one = text.chars().count() <= MAX_TITLE && !text.chars().any(char::is_numeric);
        wordy += usize::from(reads_like_one && text.chars().any(char::is_alphabetic));
        let span = span(tree, cell);
        titles.extend(std::iter::repeat_n(text, span));
    }
    let are_titles = marked * 2 > count || wordy == count && count >= 2 && titles.len() == width;
    are_titles.then_some(titles)
}

/// The `colspan` of the cell. Browsers limit it to 1,000 as well.
fn span(tree: &Tree, cell: NodeId) -> usize {
    let said = tree.attribute(cell, "colspan").and_then(|span| span.trim().parse().ok());
    said.unwrap_or(1).clamp(1, 1_000)
}
