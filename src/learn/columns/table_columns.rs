//! What identifies the columns of a table: headers, naming attributes, classes.

use foldhash::{HashMap, HashMapExt};

use super::grid::{self, GridCell, GridRow};
use super::names::NAMING_ATTRIBUTES;
use crate::learn::template::TableColumn;
use crate::page::{NodeId, Tree};

/// Maximum tables of a page that are compared with the learned one.
pub const MAX_TABLES: usize = 200;
/// Maximum length of a header.
const MAX_HEADER: usize = 60;
/// Maximum lines of a header.
const MAX_HEADER_ROWS: usize = 4;
/// Rows whose cells are examined for classes.
const MAX_EXAMINED_ROWS: usize = 40;
/// Signs that are a header by themselves; arrows tell how a table is sorted.
const NAMING_SIGNS: &str = "#%+-−±/*?!€$£¥Δ∑Ø№";
/// A header without `th` is looked for above a record among so many rows.
const MAX_ROWS_ABOVE: usize = 200;
/// Minimum share of a column's cells with a class or a naming attribute: others describe the record (odd, sold).
const MIN_SHARE: f64 = 0.8;
/// Maximum classes remembered of a column.
const MAX_CLASSES: usize = 12;

/// A table's columns, from its first rows. `is_title_row` tells whether a row without header cells is the header.
pub fn describe(tree: &Tree, table: NodeId, is_title_row: impl Fn(&[String], &GridRow) -> bool) -> Vec<TableColumn> {
    let rows = grid::rows(tree, table, MAX_HEADER_ROWS + MAX_EXAMINED_ROWS);
    let marked = rows.iter().take(MAX_HEADER_ROWS).take_while(|row| row.is_header).count();
    let (mut headers, mut body) = (names(tree, &rows[..marked]), &rows[marked..]);
    if headers.iter().all(String::is_empty) {
        let title = |row: &GridRow| Some(names(tree, std::slice::from_ref(row))).filter(|it| is_title_row(it, row));
        let found = body.iter().take(MAX_HEADER_ROWS).enumerate().find_map(|(at, row)| Some((at, title(row)?)));
        if let Some((at, found)) = found {
            (headers, body) = (found, &body[at + 1..]);
        }
    }
    let cells = by_column(body, headers.len());
    let width = headers.len().max(cells.len());
    headers.resize(width, String::new());
    let column = |(at, header): (usize, String)| {
        let cells = cells.get(at).map_or(&[][..], Vec::as_slice);
        let is_row_header = !cells.is_empty() && cells.iter().all(|&cell| tree.tag(cell) == "th");
        let header = if header.is_empty() { label(tree, cells) } else { header };
        TableColumn { header, classes: common_classes(tree, cells), is_row_header }
    };
    headers.into_iter().enumerate().map(column).collect()
}

/// Are the headers exactly the learned ones? Examines the first rows only.
fn have_headers(tree: &Tree, table: NodeId, learned: &[TableColumn]) -> bool {
    let rows = grid::rows(tree, table, MAX_HEADER_ROWS);
    let marked = rows.iter().take_while(|row| row.is_header).count();
    let named = |names: &[String]| names.iter().filter(|name| !name.is_empty()).count() >= 2;
    let equal = |names: Vec<String>| {
        let (there, further) = learned.split_at(names.len().min(learned.len()));
        names.len() <= learned.len()
            && named(&names)
            && names.iter().zip(there).all(|(name, it)| *name == it.header)
            && further.iter().all(|it| it.header.is_empty())
    };
    match marked {
        0 => rows.iter().any(|row| equal(names(tree, std::slice::from_ref(row)))),
        _ => equal(names(tree, &rows[..marked])),
    }
}

/// Has any table of the page the learned headers, in the learned order?
pub fn is_in_place(tree: &Tree, learned: &[TableColumn]) -> bool {
    !learned.is_empty() && grid::tables(tree).take(MAX_TABLES).any(|table| have_headers(tree, table, learned))
}

/// Are at least half of the learned headers among these names?
pub fn titles_match(names: &[String], learned: &[TableColumn]) -> bool {
    let headers: Vec<&str> = learned.iter().map(|it| it.header.as_str()).filter(|it| !it.is_empty()).collect();
    let found = headers.iter().filter(|header| names.iter().any(|name| name == *header)).count();
    found >= 2 && found * 2 >= headers.len()
}

/// The columns of the table that contains the first row, to be remembered with a template. Empty if nothing but their
/// order distinguishes them.
pub fn of_rows(tree: &Tree, first: NodeId) -> Vec<TableColumn> {
    let Some(table) = grid::table_of_row(tree, first) else { return Vec::new() };
    let record_width =
        grid::rows(tree, table, MAX_ROWS_ABOVE).iter().find(|row| row.node == first).map_or(0, GridRow::width);
    let columns = describe(tree, table, |names, row| {
        let is_title = |cell: &GridCell| {
            let name = &names[cell.column];
            name.is_empty() || name.chars().any(char::is_alphabetic)
        };
        row.node < first && row.cells.len() >= 2 && row.width() == record_width && row.cells.iter().all(is_title)
    });
    if super::column_match::are_named(&columns) { columns } else { Vec::new() }
}

/// The names of the columns under these header rows; a cell above several columns is part of the name of each.
fn names(tree: &Tree, rows: &[GridRow]) -> Vec<String> {
    let width = rows.iter().map(GridRow::width).max().unwrap_or(0);
    let mut names = vec![String::new(); width];
    for cell in rows.iter().flat_map(|row| &row.cells) {
        // A title over the whole table names no column.
        if cell.width == width && width > 1 {
            continue;
        }
        let words = cell_name(tree, cell.node);
        for name in &mut names[cell.column..cell.column + cell.width] {
            if !words.is_empty() && *name != words {
                *name = format!("{name} {words}").trim_start().to_owned();
            }
        }
    }
    names.into_iter().map(|name| if name.chars().count() <= MAX_HEADER { name } else { String::new() }).collect()
}

/// The words of a header cell, without arrows and other signs; of a cell without text, what its images or attributes
/// say.
fn cell_name(tree: &Tree, cell: NodeId) -> String {
    // A filter below the header is no name.
    if tree.subtree(cell).any(|node| matches!(tree.tag(node), "select" | "textarea")) {
        return String::new();
    }
    let text = tree.text(cell);
    let (name, signs) = (words(&text), text.chars().filter(|it| NAMING_SIGNS.contains(*it)).collect::<String>());
    if !name.is_empty() || !signs.is_empty() {
        return if name.is_empty() { signs } else { name };
    }
    let said = |node: NodeId| ["alt", "title", "aria-label", "abbr"].iter().find_map(|it| tree.attribute(node, it));
    tree.subtree(cell).find_map(|node| said(node).map(words).filter(|it| !it.is_empty())).unwrap_or_default()
}

/// Lower-case words and numbers, separated by blanks.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// The cells of each column, of rows that are no headings.
fn by_column(rows: &[GridRow], header_width: usize) -> Vec<Vec<NodeId>> {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    rows.iter().filter(|row| !row.is_header).for_each(|row| *counts.entry(row.width()).or_default() += 1);
    let usual = counts.into_iter().max_by_key(|&(width, count)| (count, width)).map_or(0, |(width, _)| width);
    let width = usual.max(header_width);
    let mut columns = vec![Vec::new(); width];
    for row in rows.iter().filter(|row| !row.is_header && row.width() == usual) {
        for cell in row.cells.iter().filter(|cell| cell.width == 1) {
            columns[cell.column].push(cell.node);
        }
    }
    columns
}

/// What nearly all cells say they are: the `data-label` of a responsive table and the like.
fn label(tree: &Tree, cells: &[NodeId]) -> String {
    let name = |cell: NodeId| NAMING_ATTRIBUTES.iter().find_map(|it| tree.attribute(cell, it)).map(words);
    let named: Vec<String> = cells.iter().filter_map(|&cell| name(cell)).collect();
    let Some(first) = named.first() else { return String::new() };
    let same = named.iter().filter(|it| *it == first).count();
    let is_common = same as f64 >= MIN_SHARE * cells.len() as f64 && first.chars().count() <= MAX_HEADER;
    if is_common { first.clone() } else { String::new() }
}

/// The classes that nearly all cells have, and the headers that they refer to.
fn common_classes(tree: &Tree, cells: &[NodeId]) -> Vec<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for &cell in cells {
        for class in tree.classes(cell).take(MAX_CLASSES) {
            match counts.iter().position(|(it, _)| *it == class) {
                Some(place) => counts[place].1 += 1,
                None if counts.len() < 2 * MAX_CLASSES => counts.push((class, 1)),
                None => {}
            }
        }
    }
    counts.retain(|&(_, count)| count as f64 >= MIN_SHARE * cells.len() as f64);
    counts.truncate(MAX_CLASSES);
    counts.into_iter().map(|(class, _)| class.to_owned()).collect()
}
