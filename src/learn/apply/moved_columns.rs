//! Columns follow their names: a table whose columns were moved is put back into the learned order before it is read.
//!
//! Slots of a table are distinguished by order. Where headers or classes say that columns were swapped, inserted or
//! dropped, the rows are rearranged once a page: each cell comes to its learned place with everything in it, new
//! columns are left out, and those that are gone stay empty. Everything that reads rows then finds what it learned.

use foldhash::{HashMap, HashMapExt};

use crate::learn::columns::column_match::{ColumnMatch, match_columns, name_of};
use crate::learn::columns::grid::{self, GridRow};
use crate::learn::columns::table_columns::{MAX_TABLES, describe, is_in_place, titles_match};
use crate::learn::template::{TableColumn, Template};
use crate::model::TableChanges;
use crate::page::{Name, NodeId, RearrangedChild, Tree};

/// A page with its columns in the learned order.
pub struct OrderedPage {
    pub tree: Tree,
    /// Of its first such table.
    pub changes: TableChanges,
}

/// The page with its columns in the learned order; `None` if none has moved, or if nothing says so.
///
/// A table with the columns of any variant in place is that variant's: then nothing is rearranged.
pub fn in_learned_order(template: &Template, tree: &Tree) -> Option<OrderedPage> {
    let current = template.variants.iter().filter(|variant| !variant.superseded);
    let known: Vec<&[TableColumn]> = current.map(|it| it.table.as_slice()).filter(|it| !it.is_empty()).collect();
    if known.is_empty() {
        return None;
    }
    if template.variants.iter().any(|variant| is_in_place(tree, &variant.table)) {
        return None;
    }
    let tables: Vec<NodeId> = grid::tables(tree).take(MAX_TABLES).collect();
    let mut moved: Vec<(usize, MovedTable<'_>)> = Vec::new();
    for (variant, learned) in known.into_iter().enumerate() {
        for &table in &tables {
            let now = describe(tree, table, |names, _| titles_match(names, learned));
            match match_columns(learned, &now) {
                ColumnMatch::InPlace { is_sure: true } => return None,
                ColumnMatch::InPlace { is_sure: false } => {}
                ColumnMatch::Moved(places) => moved.push((variant, MovedTable { table, learned, now, places })),
            }
        }
    }
    // The newest variant that has such a table.
    let (variant, changes) = moved.first().map(|(variant, table)| (*variant, table.changes()))?;
    let mut rows: Vec<(NodeId, Vec<RearrangedChild>)> = Vec::new();
    for (_, table) in moved.into_iter().filter(|(it, _)| *it == variant) {
        // A table inside a cell of another one stays as it is.
        if rows.last().is_none_or(|(row, _)| tree.end(*row) <= table.table) {
            rows.extend(grid::rows(tree, table.table, usize::MAX).iter().filter_map(|row| table.rearranged(tree, row)));
        }
    }
    Some(OrderedPage { tree: tree.rearranged(&rows), changes })
}

struct MovedTable<'a> {
    table: NodeId,
    learned: &'a [TableColumn],
    now: Vec<TableColumn>,
    places: Vec<Option<usize>>,
}

impl MovedTable<'_> {
    /// Columns with a name that only one of the two tables has.
    fn changes(&self) -> TableChanges {
        let names = |columns: &mut dyn Iterator<Item = &TableColumn>| {
            columns.filter_map(name_of).take(TableChanges::MAX_COLUMNS).collect::<Vec<String>>()
        };
        let is_new = |at: &usize| !self.places.contains(&Some(*at));
        let gone = self.learned.iter().zip(&self.places).filter(|(_, place)| place.is_none());
        TableChanges {
            new: names(&mut (0..self.now.len()).filter(is_new).map(|at| &self.now[at])),
            gone: names(&mut gone.map(|(column, _)| column)),
        }
    }

    /// The row's children in the learned order; `None` for a heading.
    fn rearranged(&self, tree: &Tree, row: &GridRow) -> Option<(NodeId, Vec<RearrangedChild>)> {
        if row.cells.len() < 2 {
            return None;
        }
        let mut at: HashMap<usize, usize> = HashMap::new();
        for (index, cell) in row.cells.iter().enumerate() {
            (cell.column..cell.column + cell.width).for_each(|column| _ = at.insert(column, index));
        }
        let is_cell = |node: &NodeId| grid::is_cell(tree, *node);
        let unchanged = |node| RearrangedChild { node: Some(node), appearance: None };
        let first = row.cells.first().map_or(row.node, |cell| cell.node);
        let others = || tree.children(row.node).filter(|node| !is_cell(node) && tree.element(*node).is_some());
        let mut children: Vec<RearrangedChild> = others().filter(|node| *node < first).map(unchanged).collect();
        let tag = tree.name(first).cloned().unwrap_or_else(|| Name::from("td"));
        let mut placed = vec![false; row.cells.len()];
        for (learned, place) in self.learned.iter().zip(&self.places) {
            let cell = place.and_then(|place| at.get(&place).copied());
            match (cell, place) {
                (Some(cell), _) if placed[cell] => {}
                (Some(cell), &Some(place)) => {
                    placed[cell] = true;
                    let appearance = self.appearance(tree, row.cells[cell].node, learned, &self.now[place]);
                    children.push(RearrangedChild { node: Some(row.cells[cell].node), appearance });
                }
                // A cell of a row above stands there.
                (None, Some(place)) if row.covered.contains(place) => {}
                (None | Some(_), _) => {
                    let tag = if row.is_header || !is_table_cell(&tag) { tag.clone() } else { body_tag(learned) };
                    children.push(RearrangedChild { node: None, appearance: Some((tag, learned.classes.join(" "))) });
                }
            }
        }
        children.extend(others().filter(|node| *node > first).map(unchanged));
        Some((row.node, children))
    }

    /// A cell looks like those of the learned column: some tags and classes belong to a place (`first`) and not to a
    /// column. Classes that describe the record stay.
    fn appearance(
        &self,
        tree: &Tree,
        cell: NodeId,
        learned: &TableColumn,
        now: &TableColumn,
    ) -> Option<(Name, String)> {
        let tag = tree.name(cell)?.clone();
        if learned.classes == now.classes && learned.is_row_header == now.is_row_header {
            return None;
        }
        let own = tree.classes(cell).filter(|class| !now.classes.iter().any(|it| it == class));
        let classes: Vec<&str> = learned.classes.iter().map(String::as_str).chain(own).collect();
        let is_body_cell = is_table_cell(&tag) && (&*tag == "th") == now.is_row_header;
        Some((if is_body_cell { body_tag(learned) } else { tag }, classes.join(" ")))
    }
}

fn is_table_cell(tag: &str) -> bool {
    matches!(tag, "td" | "th")
}

fn body_tag(learned: &TableColumn) -> Name {
    Name::from(if learned.is_row_header { "th" } else { "td" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::apply::records;
    use crate::learn::tests::{first, template};
    use crate::model::Row;

    const HOUSES: [[&str; 4]; 4] = [
        ["Adler", "Bern", "95", "6"],
        ["Bellevue", "Basel", "140", "12"],
        ["Central", "Chur", "80", "3"],
        ["Dorint", "Zug", "99", "8"],
    ];

    /// A table whose cells stand in this order of columns; `head` and `cell` write them.
    fn page(order: &[usize], head: impl Fn(usize) -> String, cell: impl Fn(usize, &str) -> String) -> Tree {
        let heads: String = order.iter().map(|&column| head(column)).collect();
        let row = |row: &[&str; 4]| {
            format!("<tr>{}</tr>", order.iter().map(|&column| cell(column, row[column])).collect::<String>())
        };
        let rows: String = HOUSES.iter().map(row).collect();
        Tree::parse(&format!("<h1>Houses</h1><table><tr>{heads}</tr>{rows}</table>"))
    }

    fn shown(template: &Template, page: &Tree) -> Vec<String> {
        let row = |row: &Row| row.cells.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" ");
        records(template, page).table.rows.iter().map(row).collect()
    }

    fn check(
        head: impl Fn(usize) -> String + Copy,
        cell: impl Fn(usize, &str) -> String + Copy,
        order: &[usize],
        expected: &str,
    ) {
        let learned = template(&page(&[0, 1, 2, 3], head, cell)).expect("the page has a table");
        let now = page(order, head, cell);
        assert_eq!(shown(&learned, &now)[1], expected, "{order:?}");
        let found = records(&learned, &now);
        assert_eq!(found.moved_columns.is_some(), order != [0, 1, 2, 3]);
        assert!(found.similarity >= 0.7, "{order:?}: {:?}", found.likeness);
    }

    const HEADERS: [&str; 4] = ["House", "Town", "Price ▲", "Rooms"];

    #[test]
    fn a_cell_is_read_by_its_header_with_everything_in_it() {
        let head = |column: usize| format!("<th><a href=?sort={column}>{}</a></th>", HEADERS[column]);
        let cell = |column: usize, text: &str| match column {
            0 => format!("<td><a href=/h/{text}>{text}</a></td>"),
            _ => format!("<td>{text}</td>"),
        };
        check(head, cell, &[0, 1, 2, 3], "/h/Bellevue Bellevue Basel 140 12");
        check(head, cell, &[2, 0, 3, 1], "/h/Bellevue Bellevue Basel 140 12");
        check(head, cell, &[0, 2, 3], "/h/Bellevue Bellevue - 140 12");
        let plain = |column: usize, text: &str| format!("<td class=c{column}>{text}</td>");
        check(head, plain, &[3, 2, 1, 0], "Bellevue Basel 140 12");
    }

    #[test]
    fn classes_and_labels_of_the_cells_are_names_too() {
        const CLASSES: [&str; 4] = ["house", "town", "price", "rooms"];
        let none = |_: usize| String::new();
        let classed = |column: usize, text: &str| format!("<td class='{} n{text}'>{text}</td>", CLASSES[column]);
        check(none, classed, &[1, 0, 3, 2], "Bellevue Basel 140 12");
        let labelled = |column: usize, text: &str| format!("<td data-label='{}'>{text}</td>", HEADERS[column]);
        check(none, labelled, &[3, 0, 1, 2], "Bellevue Basel 140 12");
    }

    #[test]
    fn a_place_keeps_its_tag_and_its_class_when_columns_move() {
        let mark = |html: String| html.replacen("<td>", "<th class=first scope=row>", 1);
        let row = |cells: [&str; 3]| format!("<tr>{}</tr>", mark(cells.map(|it| format!("<td>{it}</td>")).concat()));
        let table = |order: [usize; 3]| {
            let heads: String = order.iter().map(|&it| format!("<th>{}</th>", HEADERS[it])).collect();
            let rows: String = HOUSES.iter().map(|house| row(order.map(|it| house[it]))).collect();
            Tree::parse(&format!("<table><thead><tr>{heads}</tr></thead>{rows}</table>"))
        };
        let learned = template(&table([0, 1, 2])).expect("the page has a table");
        assert_eq!(shown(&learned, &table([1, 0, 2]))[1], "Bellevue Basel 140");
        assert_eq!(shown(&learned, &table([2, 1, 0]))[3], "Dorint Zug 99");
    }

    #[test]
    fn headings_and_spans_stay_where_they_are() {
        let learned = "<table><tr><th>Group<th>House<th>Town<th>Price\
            <tr><td rowspan=2>A<td>Adler<td>Bern<td>95<tr><td>Bellevue<td>Basel<td>140<tr><td colspan=4>Closed in May\
            <tr><td rowspan=2>B<td>Central<td>Chur<td>80<tr><td>Dorint<td>Zug<td>99</table>";
        let moved = "<table><tr><th>Town<th>Group<th>House<th>Price\
            <tr><td>Bern<td rowspan=2>A<td>Adler<td>95<tr><td>Basel<td>Bellevue<td>140<tr><td colspan=4>Closed in May\
            <tr><td>Chur<td rowspan=2>B<td>Central<td>80<tr><td>Zug<td>Dorint<td>99</table>";
        let (learned, now) = (first(learned).template, Tree::parse(moved));
        let ordered = in_learned_order(&learned, &now).expect("the columns have moved").tree;
        let texts: Vec<String> = ordered.elements("tr").map(|row| ordered.text(row)).collect();
        let expected = [
            "Group House Town Price",
            "A Adler Bern 95",
            "Bellevue Basel 140",
            "Closed in May",
            "B Central Chur 80",
            "Dorint Zug 99",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn columns_that_are_new_or_gone_are_named() {
        let learned = first(
            "<table><tr><th>House<th>Town<th>Price<tr><td>Adler<td>Bern<td>95<tr><td>Bellevue<td>Basel<td>140\
             <tr><td>Central<td>Chur<td>80</table>",
        )
        .template;
        let page = "<table><tr><th>Price<th><th>House<th>Last guest<tr><td>95<td>*<td>Adler<td>Ann</table>";
        let found = in_learned_order(&learned, &Tree::parse(page)).expect("the columns have moved");
        let names = |name: &str| vec![name.to_owned()];
        assert_eq!(found.changes, TableChanges { new: names("last guest"), gone: names("town") });
    }

    #[test]
    fn another_table_stays_as_it_is() {
        let learned = first(
            "<table><tr><th>House<th>Town<th>Price<tr><td>Adler<td>Bern<td>95<tr><td>Bellevue<td>Basel<td>140\
             <tr><td>Central<td>Chur<td>80</table>",
        )
        .template;
        for (what, page) in [
            ("another language", "<table><tr><th>Ort<th>Haus<th>Preis<tr><td>Bern<td>Adler<td>95</table>"),
            ("one header in common", "<table><tr><th>Day<th>House<th>Guests<tr><td>1 May<td>Adler<td>4</table>"),
            (
                "the learned table beside one with another order",
                "<table><tr><th>Town<th>House<th>Price<tr><td>Bern<td>Adler<td>95</table>\
                 <table><tr><th>House<th>Town<th>Price ▼<tr><td>Adler<td>Bern<td>95</table>",
            ),
        ] {
            assert!(in_learned_order(&learned, &Tree::parse(page)).is_none(), "{what}");
        }
    }
}
