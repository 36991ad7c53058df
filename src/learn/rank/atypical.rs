//! Structural tests (parent, classes, link, image, heading) that separate atypical records from unrelated elements.

use foldhash::HashSet;

use crate::learn::view::{PageView, count_keys};
use crate::page::NodeId;
use crate::page::tokens::Span;

/// The row's tag and class set; `None` without classes.
fn tag_and_classes(view: &PageView<'_>, row: Span) -> Option<(u32, u32)> {
    let node = view.first_node(row);
    view.tree().classes(node).next().map(|_| (view.tag(node), view.class_set(node)))
}

/// Is every additional row of `many` related to a row of `few`: a sibling, in another section of the same table, or
/// with the same tag and classes? Atypical records are; section titles and boxes elsewhere are not.
pub fn are_related(view: &PageView<'_>, few: &[Span], many: &[Span]) -> bool {
    let tree = view.tree();
    let parent = |row: &Span| tree.parent(view.first_node(*row));
    let section =
        |row: &Span| parent(row).map(|it| (tree.parent(it), view.tag(it))).filter(|_| is_table_row(view, *row));
    let parents: HashSet<Option<NodeId>> = few.iter().map(parent).collect();
    let sections: HashSet<(Option<NodeId>, u32)> = few.iter().filter_map(section).collect();
    let names: HashSet<(u32, u32)> = few.iter().filter_map(|&row| tag_and_classes(view, row)).collect();
    many.iter().all(|&row| {
        parents.contains(&parent(&row))
            || section(&row).is_some_and(|it| sections.contains(&it))
            || tag_and_classes(view, row).is_some_and(|it| names.contains(&it))
    })
}

fn is_table_row(view: &PageView<'_>, row: Span) -> bool {
    view.tree().tag(view.first_node(row)) == "tr"
}

/// For each row: it has the tag and classes of a typical row, and all contents that the typical rows have in common.
pub fn atypical_rows(view: &PageView<'_>, rows: &[Span], unlike: &[bool]) -> Vec<bool> {
    let even: Vec<Span> = rows.iter().zip(unlike).filter(|(_, unlike)| !**unlike).map(|(&row, _)| row).collect();
    let names: HashSet<(u32, u32)> = even.iter().filter_map(|&row| tag_and_classes(view, row)).collect();
    let shown = common_contents(view, &even);
    let is_special = |&row: &Span| {
        shown.is_some_and(|shown| content_flags(view, row) & shown == shown)
            && tag_and_classes(view, row).is_some_and(|name| names.contains(&name))
    };
    rows.iter().map(is_special).collect()
}

/// Minimum kinds of content in common, for example image and link. One alone does not make a record: a pager has links.
const MIN_COMMON_CONTENTS: u32 = 2;
const ALL_CONTENTS: u32 = 0b111;

/// The kinds of content that all rows have, if they are enough.
pub fn common_contents(view: &PageView<'_>, rows: &[Span]) -> Option<u32> {
    let shown = rows.iter().fold(ALL_CONTENTS, |all, &row| all & content_flags(view, row));
    (!rows.is_empty() && shown.count_ones() >= MIN_COMMON_CONTENTS).then_some(shown)
}

/// Bit flags for link, image and heading in the row.
pub fn content_flags(view: &PageView<'_>, row: Span) -> u32 {
    let bit = |node: NodeId| match view.tree().tag(node) {
        "a" => 0b001,
        "img" => 0b010,
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => 0b100,
        _ => 0,
    };
    view.tokens.slice(row).iter().fold(0, |shown, token| shown | bit(token.node))
}

/// Minimum share of the rows under one parent, for rows elsewhere to be tested as unrelated.
const MAIN_PARENT_SHARE: f64 = 0.8;

/// For each row: it is outside the parent that holds nearly all rows, has classes that no row inside has, and is less
/// similar than every row inside. Example: “offers of the day” above the offers.
pub fn unrelated_rows(view: &PageView<'_>, rows: &[Span], sameness: &[f64]) -> Vec<bool> {
    let parent = |row: &Span| view.tree().parent(view.first_node(*row));
    let counts = count_keys(rows.iter().map(parent));
    let home = counts
        .iter()
        .find(|(_, count)| **count < rows.len() && **count as f64 >= MAIN_PARENT_SHARE * rows.len() as f64);
    let Some((&home, _)) = home else { return vec![false; rows.len()] };
    let at_home = || rows.iter().zip(sameness).filter(|(row, _)| parent(row) == home);
    let names: HashSet<(u32, u32)> = at_home().filter_map(|(&row, _)| tag_and_classes(view, row)).collect();
    let least = at_home().map(|(_, &sameness)| sameness).fold(1.0, f64::min);
    let is_stranger = |(row, sameness): (&Span, &f64)| {
        parent(row) != home
            && *sameness < least
            && tag_and_classes(view, *row).is_some_and(|name| !names.contains(&name))
    };
    rows.iter().zip(sameness).map(is_stranger).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Tree;

    #[test]
    fn a_box_elsewhere_does_not_belong_to_the_rows_and_one_of_their_class_does() {
        let tree = Tree::parse("<div><p>top</p></div><div><p class=x>a</p><p>b</p></div><div><p class=x>c</p></div>");
        let view = PageView::new(&tree);
        let rows: Vec<Span> = tree.elements("p").map(|node| view.span(node)).collect();
        assert!(are_related(&view, &rows[1..2], &rows[1..3]), "beside");
        assert!(are_related(&view, &rows[1..3], &rows[1..]), "of one class");
        assert!(!are_related(&view, &rows[1..], &rows), "elsewhere");
    }

    fn rows<'t>(tree: &'t Tree, view: &PageView<'t>, tag: &str) -> Vec<Span> {
        tree.elements(tag).map(|node| view.span(node)).collect()
    }

    #[test]
    fn a_row_of_their_class_that_shows_what_all_show_is_special() {
        let html = "<ul><li class=x><img><a>one</a><li class=x><img><a>two</a><li class=x><p><img><a>three</a></p>\
                    <li class=x><a>next page</a><li><img><a>elsewhere</a></ul>";
        let tree = Tree::parse(html);
        let view = PageView::new(&tree);
        let found = atypical_rows(&view, &rows(&tree, &view, "li"), &[false, false, true, true, true]);
        assert_eq!(found[2..], [true, false, false]);
    }

    #[test]
    fn offers_of_the_day_above_the_offers_are_strangers() {
        let offers = "<p class=offer>x</p>".repeat(8);
        let tree = Tree::parse(&format!("<div><p class=top>a</p><p class=offer>b</p></div><div>{offers}</div>"));
        let view = PageView::new(&tree);
        let rows = rows(&tree, &view, "p");
        let mut sameness = vec![1.0; rows.len()];
        assert!(!unrelated_rows(&view, &rows, &sameness).contains(&true), "as like as the rest");
        sameness[0] = 0.5;
        sameness[1] = 0.5;
        let found: Vec<usize> = (0..rows.len()).filter(|&i| unrelated_rows(&view, &rows, &sameness)[i]).collect();
        assert_eq!(found, [0], "the second has their class");
    }
}
