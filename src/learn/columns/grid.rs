//! The cells of a table by column: `colspan` and `rowspan` are resolved as a browser does. A grid of other elements
//! with the roles of a table (`role=row`, `role=cell`) is one, too.

use crate::page::{NodeId, Tree};

/// Maximum columns of a table; cells further right are not read.
const MAX_COLUMNS: usize = 600;
/// Rows that one cell may span; the rest of a longer one is not followed.
const MAX_ROWSPAN: u32 = 10_000;

pub struct GridCell {
    pub node: NodeId,
    /// Its first column.
    pub column: usize,
    /// How many columns it spans.
    pub width: usize,
}

pub struct GridRow {
    pub node: NodeId,
    pub cells: Vec<GridCell>,
    /// Columns that a cell of a row above spans.
    pub covered: Vec<usize>,
    /// It stands in the `thead`, or all its cells are headers.
    pub is_header: bool,
}

impl GridRow {
    /// One past its last column.
    pub fn width(&self) -> usize {
        let last = self.cells.last().map_or(0, |cell| cell.column + cell.width);
        self.covered.iter().fold(last, |width, column| width.max(column + 1))
    }
}

/// The table or grid that a row belongs to.
pub fn table_of_row(tree: &Tree, row: NodeId) -> Option<NodeId> {
    if tree.tag(row) == "tr" {
        return tree.ancestors(row).find(|&it| tree.tag(it) == "table");
    }
    let is_row = tree.attribute(row, "role") == Some("row");
    tree.ancestors(row).filter(|_| is_row).find(|&it| is_grid(tree, it))
}

/// All tables and grids of a page.
pub fn tables(tree: &Tree) -> impl Iterator<Item = NodeId> {
    tree.subtree(tree.root()).filter(|&node| tree.tag(node) == "table" || is_grid(tree, node))
}

fn is_grid(tree: &Tree, node: NodeId) -> bool {
    tree.tag(node) != "table" && matches!(tree.attribute(node, "role"), Some("table" | "grid" | "treegrid"))
}

/// The first `most` rows of a table.
pub fn rows(tree: &Tree, table: NodeId, most: usize) -> Vec<GridRow> {
    let mut spans = RowSpans::default();
    let mut section = None;
    let mut rows = Vec::new();
    for (row, parent) in row_nodes(tree, table).into_iter().take(most) {
        // A cell spans rows of its own section only.
        if section != Some(parent) {
            (spans, section) = (RowSpans::default(), Some(parent));
        }
        rows.push(spans.row(tree, row));
    }
    rows
}

/// The rows of a table, each with its parent; without those of inner tables.
fn row_nodes(tree: &Tree, table: NodeId) -> Vec<(NodeId, NodeId)> {
    let mut found = Vec::new();
    if tree.tag(table) == "table" {
        for part in tree.children(table) {
            match tree.tag(part) {
                "tr" => found.push((part, table)),
                "thead" | "tbody" | "tfoot" => {
                    found.extend(tree.children(part).filter(|&row| tree.tag(row) == "tr").map(|row| (row, part)));
                }
                _ => {}
            }
        }
        return found;
    }
    let mut node = NodeId(table.0 + 1);
    while node < tree.end(table) {
        let role = tree.attribute(node, "role");
        if role == Some("row") {
            found.push((node, tree.parent(node).unwrap_or(table)));
        }
        let is_inside = role == Some("row") || is_grid(tree, node);
        node = if is_inside { tree.end(node) } else { NodeId(node.0 + 1) };
    }
    found
}

/// Is it a cell of a row?
pub fn is_cell(tree: &Tree, node: NodeId) -> bool {
    matches!(tree.tag(node), "td" | "th")
        || matches!(tree.attribute(node, "role"), Some("cell" | "gridcell" | "columnheader" | "rowheader"))
}

fn is_header_cell(tree: &Tree, node: NodeId) -> bool {
    tree.tag(node) == "th" || tree.attribute(node, "role") == Some("columnheader")
}

/// How many further rows the cells above span, by column.
#[derive(Default)]
struct RowSpans(Vec<u32>);

impl RowSpans {
    fn row(&mut self, tree: &Tree, node: NodeId) -> GridRow {
        let covered: Vec<usize> = (0..self.0.len()).filter(|&column| self.0[column] > 0).collect();
        let mut next: Vec<u32> = self.0.iter().map(|rows| rows.saturating_sub(1)).collect();
        let (mut cells, mut column, mut headers) = (Vec::new(), 0, 0);
        for cell in tree.children(node).filter(|&cell| is_cell(tree, cell)) {
            while self.0.get(column).is_some_and(|&rows| rows > 0) {
                column += 1;
            }
            if column >= MAX_COLUMNS {
                break;
            }
            let width = (span(tree, cell, "colspan", 1) as usize).clamp(1, MAX_COLUMNS - column);
            let height = match span(tree, cell, "rowspan", 1) {
                0 => MAX_ROWSPAN,
                rows => rows.min(MAX_ROWSPAN),
            };
            if height > 1 {
                next.resize(next.len().max(column + width), 0);
                next[column..column + width].fill(height - 1);
            }
            headers += usize::from(is_header_cell(tree, cell));
            cells.push(GridCell { node: cell, column, width });
            column += width;
        }
        self.0 = next;
        let in_head = tree.parent(node).is_some_and(|it| tree.tag(it) == "thead");
        let is_header = !cells.is_empty() && (in_head || headers == cells.len());
        GridRow { node, cells, covered, is_header }
    }
}

fn span(tree: &Tree, cell: NodeId, attribute: &str, usual: u32) -> u32 {
    tree.attribute(cell, attribute).and_then(|span| span.trim().parse().ok()).unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(html: &str) -> Vec<String> {
        let tree = Tree::parse(html);
        let table = tables(&tree).next().expect("the page has a table");
        let cell = |cell: &GridCell| format!("{}@{}", tree.text(cell.node), cell.column);
        let row = |row: &GridRow| row.cells.iter().map(cell).collect::<Vec<_>>().join(" ");
        rows(&tree, table, usize::MAX).iter().map(row).collect()
    }

    #[test]
    fn cells_stand_in_the_column_where_a_browser_shows_them() {
        let page = "<table><thead><tr><th colspan=2>a<th>b</thead><tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5\
                    <tr><td>6<td>7<td><table><tr><td>x</table></table>";
        assert_eq!(columns(page), ["a@0 b@2", "1@0 2@1 3@2", "4@1 5@2", "6@0 7@1 x@2"]);
        let grid = "<div role=grid><div role=row><b role=columnheader>a</b><b role=columnheader>b</b></div>\
                    <div><div role=row><i role=gridcell>1</i><i role=gridcell>2</i></div></div></div>";
        assert_eq!(columns(grid), ["a@0 b@1", "1@0 2@1"]);
        let hostile = "<table><tr><td colspan=9999999999 rowspan=4294967295>1<td>2<tr><td>3</table>";
        assert_eq!(columns(hostile), ["1@0 2@1", "3@1"]);
    }
}
