//! Header rows of tables: the names above the columns, which identify a table among others on the page.

use foldhash::HashSet;

use crate::learn::view::{PageView, text as text_of};
use crate::page::tokens::Span;
use crate::page::{NodeId, Tree};

/// Maximum header cells stored.
const MAX_CELLS: usize = 16;
/// The header is searched in the first lines of a table.
const MAX_LINES: usize = 5;
/// Minimum names in a header row; a record may contain one of them by chance.
const MIN_NAMES: usize = 2;
/// Maximum length of a column name.
const MAX_CHARS: usize = 60;

/// The table around a node, if any.
pub fn table_of(view: &PageView<'_>, node: NodeId) -> Option<NodeId> {
    let tree = view.tree();
    std::iter::once(node).chain(tree.ancestors(node)).find(|&it| tree.tag(it) == "table")
}

/// The names above the rows, without digits: “as at 9 April” changes every day.
pub fn above_rows(view: &PageView<'_>, rows: &[Span]) -> Vec<String> {
    let Some(first) = rows.first() else { return Vec::new() };
    let Some(table) = table_of(view, view.first_node(*first)) else { return Vec::new() };
    let lines = lines(view, table);
    let named: Vec<NodeId> =
        lines.iter().filter(|line| line.is_all_headers).flat_map(|line| line.cells.clone()).collect();
    // Without `th`, the first line may be the header, if it is not one of the rows.
    let over = lines.first().filter(|line| view.span(line.node).stop <= first.start);
    match (named.is_empty(), over) {
        (false, _) => names(view, &named),
        (true, Some(line)) => names(view, &line.cells),
        (true, None) => Vec::new(),
    }
}

/// All texts of a table that may be column names.
pub fn of_table(view: &PageView<'_>, table: NodeId) -> Vec<String> {
    let lines = lines(view, table);
    let cells = lines.iter().enumerate().filter(|(i, line)| *i == 0 || line.is_all_headers);
    names(view, &cells.flat_map(|(_, line)| line.cells.clone()).collect::<Vec<_>>())
}

/// Does the row consist of these names only? In a row of `th`, half of them are enough: a column may be new, and a
/// header may have been reworded.
pub fn is_header(view: &PageView<'_>, row: Span, header: &[String]) -> bool {
    let tree = view.tree();
    let node = view.first_node(row);
    if header.len() < MIN_NAMES || tree.tag(node) != "tr" {
        return false;
    }
    let is_marked = cells(tree, node).all(|cell| tree.tag(cell) == "th");
    let (mut found, mut others) = (0, 0);
    for cell in cells(tree, node) {
        let text = text_of(&view.tokens, view.span(cell));
        if text.trim().is_empty() {
            continue;
        }
        if !header.contains(&normalised_name(&text)) {
            others += 1;
            if !is_marked {
                return false;
            }
            continue;
        }
        found += 1;
        // Of a wide table only MAX_CELLS names are stored.
        if found >= MAX_CELLS && header.len() >= MAX_CELLS {
            break;
        }
    }
    found >= MIN_NAMES && found >= others
}

/// The cells of a table row.
pub fn cells(tree: &Tree, row: NodeId) -> impl Iterator<Item = NodeId> {
    tree.children(row).filter(|&cell| matches!(tree.tag(cell), "td" | "th"))
}

/// A line of a table.
struct TableLine {
    node: NodeId,
    cells: Vec<NodeId>,
    /// All its cells are `th`.
    is_all_headers: bool,
}

/// The first lines of a table, where headers are; tables may be long.
fn lines(view: &PageView<'_>, table: NodeId) -> Vec<TableLine> {
    let tree = view.tree();
    let lines = tree.subtree(table).filter(|&node| tree.tag(node) == "tr").take(MAX_LINES);
    let line = |node: NodeId| {
        let cells: Vec<NodeId> = cells(tree, node).collect();
        let is_named = !cells.is_empty() && cells.iter().all(|&it| tree.tag(it) == "th");
        TableLine { node, cells, is_all_headers: is_named }
    };
    lines.map(line).collect()
}

fn names(view: &PageView<'_>, cells: &[NodeId]) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::default();
    let names = cells.iter().map(|&cell| normalised_name(&text_of(&view.tokens, view.span(cell))));
    names.filter(|name| !name.is_empty() && seen.insert(name.clone())).take(MAX_CELLS).collect()
}

fn normalised_name(text: &str) -> String {
    if text.chars().count() > MAX_CHARS {
        return String::new();
    }
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// The share of the names that are still there; a name counts if half of its words are.
pub fn kept_share(names: &[String], now: &[String]) -> f64 {
    if names.is_empty() {
        return 1.0;
    }
    let words: HashSet<&str> = now.iter().flat_map(|name| name.split(' ')).collect();
    let is_there = |name: &&String| {
        let (all, there) =
            name.split(' ').fold((0, 0), |(all, there), word| (all + 1, there + usize::from(words.contains(word))));
        there * 2 >= all
    };
    names.iter().filter(is_there).count() as f64 / names.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_known_by_its_header() {
        let page = Tree::parse(
            "<table><tr><th>Board<th>Cases 9 April<th>Total</tr><tr><td>Fife<td>3<td>9<tr><td>Skye<td>1<td>2</table>\
             <table><tr><td>Day<td>Tests</tr><tr><td>Monday<td>40</table>",
        );
        let view = PageView::new(&page);
        let lines: Vec<NodeId> = page.subtree(page.root()).filter(|&node| page.tag(node) == "tr").collect();
        let header = |line: usize| above_rows(&view, &[view.span(lines[line])]);
        assert_eq!(header(1), ["board", "cases april", "total"]);
        assert_eq!(header(4), ["day", "tests"]);
        let now = of_table(&view, table_of(&view, lines[2]).expect("it stands in a table"));
        assert_eq!(kept_share(&header(1), &now), 1.0);
        assert_eq!(kept_share(&header(1), &header(4)), 0.0);
        assert_eq!(kept_share(&[], &header(4)), 1.0, "a list without a header is known by its rows");
    }

    #[test]
    fn a_header_row_with_a_new_name_is_no_record() {
        let page = Tree::parse(
            "<table><tr><th>Board<th>Sum<th>Cases<tr><th>Board<th>A<th>B<tr><td>Board<td>Cases<td>9\
             <tr><th>Board<td>Cases<td>Total</table>",
        );
        let view = PageView::new(&page);
        let header = ["board", "cases", "total"].map(str::to_owned);
        let lines = page.elements("tr").map(|line| is_header(&view, view.span(line), &header));
        assert_eq!(lines.collect::<Vec<_>>(), [true, false, false, true]);
    }
}
