//! Detects rows that are sections: a heading above an inner list (the cases of one day, the links of one menu).

use crate::learn::view::PageView;
use crate::page::NodeId;
use crate::page::tokens::{Span, TokenKind};

/// Minimum items of the inner list of a section.
const MIN_ITEMS: usize = 3;
/// The same if each item is as rich as a record: the cells of a grid's short line.
const MIN_RICH_ITEMS: usize = 2;
const MIN_RICH_SHAPE: usize = 5;
/// Minimum shape overlap of the items.
const MIN_ITEM_SIMILARITY: f64 = 0.7;
/// Minimum share of the row's text in the inner list. The tags or offers of one record have less.
const MIN_LIST_SHARE: f64 = 0.6;
/// Maximum items examined per parent.
const MAX_ITEMS: usize = 200;

/// Minimum share of sections from which rows with one or two similar items count as sections too.
const MIN_SECTION_SHARE: f64 = 0.25;

/// Share of the rows that are sections. If some are, a row with one or two items like theirs is one too: some days have
/// a single case.
pub fn share(view: &PageView<'_>, rows: &[Span]) -> f64 {
    let items: Vec<Option<NodeId>> = rows.iter().map(|&row| item_of(view, row, None)).collect();
    let sections = items.iter().flatten().count();
    let enough = MIN_SECTION_SHARE * rows.len() as f64;
    let Some(&item) = items.iter().flatten().next().filter(|_| sections as f64 >= enough && sections < rows.len())
    else {
        return sections as f64 / rows.len().max(1) as f64;
    };
    let is_short =
        |(row, known): (&Span, &Option<NodeId>)| known.is_some() || item_of(view, *row, Some(item)).is_some();
    let sections = rows.iter().zip(&items).filter(|&it| is_short(it)).count();
    sections as f64 / rows.len() as f64
}

/// The heaviest item of the row's inner list, if the row is a section. With `like`, one item similar to it is enough.
fn item_of(view: &PageView<'_>, row: Span, like: Option<NodeId>) -> Option<NodeId> {
    let most = MIN_LIST_SHARE * f64::from(view.tokens.weight(row));
    let mut items = items_of(view, row);
    loop {
        let &heaviest = items.iter().max_by_key(|&&node| view.tokens.weight(view.span(node)))?;
        if like.is_some_and(|like| is_like(view, like, heaviest)) {
            return Some(heaviest);
        }
        let alike: Vec<NodeId> = items.iter().copied().filter(|&node| is_like(view, heaviest, node)).collect();
        let weight: u32 = alike.iter().map(|&node| view.tokens.weight(view.span(node))).sum();
        let enough = if view.shape_len(heaviest) >= MIN_RICH_SHAPE { MIN_RICH_ITEMS } else { MIN_ITEMS };
        if alike.len() >= enough && f64::from(weight) >= most {
            return is_record(view, heaviest).then_some(heaviest);
        }
        if f64::from(view.tokens.weight(view.span(heaviest))) < most {
            return None;
        }
        items = view.items(heaviest).take(MAX_ITEMS).collect();
    }
}

/// The sibling elements of the row.
fn items_of(view: &PageView<'_>, row: Span) -> Vec<NodeId> {
    let first = view.first_node(row);
    let next = |&node: &NodeId| view.tree().sibling_after(node);
    let inside = |&node: &NodeId| view.span(node).stop <= row.stop;
    std::iter::successors(Some(first), next).take(MAX_ITEMS).take_while(inside).collect()
}

fn is_like(view: &PageView<'_>, a: NodeId, b: NodeId) -> bool {
    view.tag(a) == view.tag(b) && view.shape_overlap(a, b) >= MIN_ITEM_SIMILARITY
}

/// A cell or a bare word is not a record; a cell with several texts may be, and a `dd` with a link: the openings of one
/// date.
fn is_record(view: &PageView<'_>, node: NodeId) -> bool {
    let tree = view.tree();
    let tokens = view.tokens.slice(view.span(node));
    let texts = tokens.iter().filter(|token| token.kind == TokenKind::Text).count();
    let is_cell = match tree.tag(node) {
        "td" | "th" | "dt" | "p" | "br" => true,
        "dd" => !tokens.iter().any(|token| tree.tag(token.node) == "a"),
        _ => false,
    };
    view.shape_len(node) >= 3 && (texts >= 2 || !is_cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Tree;

    fn check(html: &str, tag: &str, expected: f64) {
        let tree = Tree::parse(html);
        let view = PageView::new(&tree);
        let rows: Vec<Span> = tree.elements(tag).map(|node| view.span(node)).collect();
        assert_eq!(share(&view, &rows), expected);
    }

    #[test]
    fn a_day_with_its_cases_is_a_section() {
        let day = "<div><h3>Monday</h3><ul><li><a>Case of A</a><li><a>Case of B</a><li><a>Case of C</a></ul></div>";
        check(&day.repeat(3), "div", 1.0);
    }

    #[test]
    fn a_record_with_its_tags_is_none() {
        let record = "<div><h3>A long title of a book, and who wrote it when</h3>\
                      <ul><li><a>x</a><li><a>y</a><li><a>z</a></ul></div>";
        check(&record.repeat(3), "div", 0.0);
    }

    #[test]
    fn a_day_with_one_case_is_a_section_where_others_have_more() {
        let day = |n: usize| format!("<div><h3>Monday</h3><ul>{}</ul></div>", "<li><a>A long case</a>".repeat(n));
        check(&[day(4), day(1), day(3)].concat(), "div", 1.0);
        check(&day(1).repeat(3), "div", 0.0);
    }

    #[test]
    fn a_line_of_linked_cells_is_none() {
        check("<table><tr><td><a>one</a><td><a>two</a><td><a>three</a></table>", "tr", 0.0);
    }
}
