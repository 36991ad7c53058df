//! Features of rows in tables and grids.

use foldhash::HashSet;

use super::row_slots::MAX_ROW_TOKENS;
use crate::learn::view::{PageView, fingerprint};
use crate::page::NodeId;
use crate::page::tokens::{Span, TokenKind};

/// Maximum tables for the test whether a row set spans several lists.
const MAX_TABLES: usize = 60;
/// Maximum tokens of a cell with one plain text.
const MAX_BARE_CELL_TOKENS: usize = 9;

/// The rows are `<tr>`, and their table has at least two `<th>` before them.
pub fn has_column_titles(view: &PageView<'_>, rows: &[Span]) -> bool {
    let tree = view.tree();
    let root = view.first_node(rows[0]);
    if tree.tag(root) != "tr" {
        return false;
    }
    let Some(table) = tree.ancestors(root).find(|&node| tree.tag(node) == "table") else { return false };
    let before = view.span(table).start..rows[0].start;
    let titles = before.filter(|&i| {
        let token = &view.tokens.list[i as usize];
        token.kind == TokenKind::Open && tree.tag(token.node) == "th"
    });
    titles.take(2).count() == 2
}

/// The rows come from tables with different headers, or from two or three tables of clearly different lengths whose
/// headers are not all equal. A list set in columns has columns of equal length, and a list in sections (pinned
/// above not pinned, published above unpublished) repeats its header.
pub fn spans_different_tables(view: &PageView<'_>, rows: &[Span]) -> bool {
    let tree = view.tree();
    let mut tables: Vec<(NodeId, u64, usize)> = Vec::new();
    for row in rows {
        let root = view.first_node(*row);
        let table = tree.ancestors(root).take(4).find(|&node| tree.tag(node) == "table");
        let Some(table) = table.filter(|_| tree.tag(root) == "tr" && tables.len() <= MAX_TABLES) else {
            return false;
        };
        match tables.last_mut().filter(|(last, _, _)| *last == table) {
            Some((_, _, count)) => *count += 1,
            None => tables.push((table, titles_fingerprint(view, table, row.start), 1)),
        }
    }
    let titles: HashSet<u64> = tables.iter().map(|&(_, titles, _)| titles).filter(|&titles| titles != 0).collect();
    let counts = || tables.iter().map(|&(_, _, count)| count);
    let uneven = counts().max().unwrap_or(0) > counts().min().unwrap_or(0) + 2;
    let same_titles = titles.len() == 1 && tables.iter().all(|&(_, titles, _)| titles != 0);
    titles.len() >= 2 || (2..=3).contains(&tables.len()) && uneven && !same_titles
}

/// Fingerprint of the header cells before the table's first row; 0 without any.
fn titles_fingerprint(view: &PageView<'_>, table: NodeId, first: u32) -> u64 {
    let tree = view.tree();
    let before = Span { start: view.span(table).start, stop: first };
    let tokens = view.tokens.slice(before).iter().take(MAX_ROW_TOKENS as usize);
    let texts = tokens.filter(|token| token.kind == TokenKind::Text);
    let in_title = |node: NodeId| tree.ancestors(node).take(4).any(|it| tree.tag(it) == "th");
    let texts = texts.filter(|token| in_title(token.node)).map(|token| view.tokens.raw(token).trim());
    texts.fold(0, |print: u64, text| print.rotate_left(5) ^ fingerprint(text))
}

pub fn bare_cells(view: &PageView<'_>, sample: &[Span]) -> f64 {
    let tree = view.tree();
    let is_bare = |row: &&Span| {
        let tokens = view.tokens.slice(**row);
        let is_cell = tokens.first().is_some_and(|first| matches!(tree.tag(first.node), "td" | "th"));
        // A cell with a link or an image may be a record in a grid.
        let says_more = |node: NodeId| matches!(tree.tag(node), "a" | "img");
        is_cell
            && tokens.iter().take(MAX_BARE_CELL_TOKENS).filter(|token| token.kind == TokenKind::Text).count() == 1
            && tokens.len() <= MAX_BARE_CELL_TOKENS
            && !tokens.iter().any(|token| says_more(token.node))
    };
    sample.iter().filter(is_bare).count() as f64 / sample.len().max(1) as f64
}

pub fn grid_lines(view: &PageView<'_>, sample: &[Span]) -> f64 {
    let lines = sample.iter().filter(|&&row| is_grid_line(view, row)).count();
    lines as f64 / sample.len().max(1) as f64
}

/// The row is one element and, below single children, has at least two children of equal tag and
/// similar shape.
fn is_grid_line(view: &PageView<'_>, row: Span) -> bool {
    let Some(mut node) = view.root(row) else { return false };
    loop {
        let items: Vec<NodeId> = view.items(node).take(40).collect();
        match items.as_slice() {
            [] => return false,
            &[only] if view.tree().element(only).is_some() => node = only,
            &[_] => return false,
            &[first, ref rest @ ..] => {
                return view.shape_len(first) >= 3
                    && rest.iter().all(|&it| view.tag(it) == view.tag(first) && view.shape_overlap(first, it) >= 0.7);
            }
        }
    }
}
