//! Changes the columns of a table on a page, header and rows together, as an administrator does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use pieme::page::tree::NodeContent;
use pieme::page::{NodeId, Tree};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Swap,
    Drop,
    Insert,
    Rename,
    ToEnd,
}

impl Change {
    pub const ALL: [Change; 5] = [Change::Swap, Change::Drop, Change::Insert, Change::Rename, Change::ToEnd];
}

/// What names the columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The page as it is.
    Headers,
    /// No header, but a class for each column, beside one for odd and even rows.
    Classes,
    /// Neither header nor class.
    Nothing,
}

/// Class names as authors write them.
const CLASSES: [&str; 20] = [
    "title", "price", "author", "region", "status", "rating", "venue", "agent", "branch", "volume", "origin", "amount",
    "grade", "driver", "sector", "symbol", "editor", "season", "county", "maker",
];

/// A page and its largest table.
pub struct TablePage {
    tree: Tree,
    naming: Naming,
    /// The cells of each row of the table that has all columns.
    rows: BTreeMap<NodeId, Vec<NodeId>>,
    headers: BTreeSet<NodeId>,
    width: usize,
}

/// A column of the changed table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Old(usize),
    New,
}

impl TablePage {
    pub fn new(html: &str, naming: Naming) -> TablePage {
        let tree = Tree::parse(html);
        let table_of = |row: NodeId| tree.ancestors(row).find(|&it| tree.tag(it) == "table");
        let mut tables: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for row in tree.elements("tr") {
            if let Some(table) = table_of(row) {
                tables.entry(table).or_default().push(row);
            }
        }
        let is_cell = |cell: &NodeId| matches!(tree.tag(*cell), "td" | "th");
        let cells = |row: NodeId| tree.children(row).filter(is_cell).collect::<Vec<_>>();
        let widths = |rows: &[NodeId]| {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            rows.iter().for_each(|&row| *counts.entry(cells(row).len()).or_default() += 1);
            counts.into_iter().filter(|(width, _)| *width >= 2).max_by_key(|&(_, count)| count).unwrap_or((0, 0))
        };
        let largest = tables.values().max_by_key(|rows| widths(rows).1).expect("the page has a table");
        let (width, _) = widths(largest);
        let in_head = |row: NodeId| tree.parent(row).is_some_and(|it| tree.tag(it) == "thead");
        let is_header = |&row: &NodeId| in_head(row) || cells(row).iter().all(|&cell| tree.tag(cell) == "th");
        let headers: BTreeSet<NodeId> = largest.iter().copied().filter(is_header).collect();
        let full = largest.iter().map(|&row| (row, cells(row)));
        let rows = full.filter(|(_, cells)| cells.len() == width).collect();
        TablePage { headers, rows, naming, width, tree }
    }

    /// The page with this change of its columns.
    pub fn html(&self, change: Option<Change>) -> String {
        let mut html = "<!DOCTYPE html>".to_owned();
        self.write(self.tree.root(), &self.order(change), change, &mut html);
        html
    }

    /// The number of the candidate that is this table.
    pub fn pick(&self, proposals: &Value) -> usize {
        let body = self.rows.iter().filter(|(row, _)| !self.headers.contains(row));
        let texts: BTreeSet<String> = body.flat_map(|(_, cells)| cells).map(|&cell| self.tree.text(cell)).collect();
        let found = |candidate: &Value| {
            let records = candidate["records"].as_array().into_iter().flatten().filter_map(Value::as_object);
            let values: BTreeSet<&str> = records.flat_map(|it| it.values()).filter_map(Value::as_str).collect();
            texts.iter().filter(|text| values.contains(text.as_str())).count()
        };
        let candidates = proposals["candidates"].as_array().expect("the page has lists");
        let best = (0..candidates.len()).rev().max_by_key(|&at| found(&candidates[at])).expect("at least one");
        let share = found(&candidates[best]) as f64 / texts.len() as f64;
        assert!(share > 0.4, "candidate {} has only {share:.2} of the table", best + 1);
        best + 1
    }

    fn order(&self, change: Option<Change>) -> Vec<Place> {
        let mut order: Vec<Place> = (0..self.width).map(Place::Old).collect();
        let at = usize::from(self.width > 2);
        match change {
            Some(Change::Swap) => order.swap(at, at + 1),
            Some(Change::Drop) => _ = order.remove(at),
            Some(Change::Insert) => order.insert(at, Place::New),
            Some(Change::ToEnd) => order.rotate_left(1),
            Some(Change::Rename) | None => {}
        }
        order
    }

    fn write(&self, node: NodeId, order: &[Place], change: Option<Change>, html: &mut String) {
        match self.tree.kind(node) {
            NodeContent::Text(text) => html.push_str(&self.escaped(node, text)),
            NodeContent::Document => {
                self.tree.children(node).for_each(|child| self.write(child, order, change, html));
            }
            NodeContent::Element(_) if self.naming != Naming::Headers && self.headers.contains(&node) => {}
            NodeContent::Element(element) => {
                let tag = &**element.name;
                let own = element.attributes().map(|(name, value)| (name.to_string(), value.to_owned())).collect();
                open(tag, own, html);
                match self.rows.get(&node) {
                    Some(cells) => self.write_cells(node, cells, order, change, html),
                    None => self.tree.children(node).for_each(|child| self.write(child, order, change, html)),
                }
                if !matches!(tag, "img" | "br" | "hr" | "input" | "meta" | "link" | "area" | "base" | "col" | "wbr") {
                    write!(html, "</{tag}>").expect("a text");
                }
            }
        }
    }

    fn write_cells(&self, row: NodeId, cells: &[NodeId], order: &[Place], change: Option<Change>, html: &mut String) {
        let is_header = self.headers.contains(&row);
        let renamed = usize::from(self.width > 2);
        for place in order {
            let (tag, own, at) = match place {
                Place::New => (if is_header { "th" } else { "td" }, Vec::new(), None),
                Place::Old(at) => {
                    let element = self.tree.element(cells[*at]).expect("a cell");
                    let own = element.attributes().map(|(name, value)| (name.to_string(), value.to_owned()));
                    (&**element.name, own.collect(), Some(*at))
                }
            };
            let is_renamed = change == Some(Change::Rename) && at == Some(renamed);
            open(tag, self.named(own, at, row.0, is_renamed), html);
            match at {
                None if is_header => html.push_str("Extra"),
                None => write!(html, "note {}", row.0).expect("a text"),
                Some(_) if is_header && is_renamed => html.push_str("Renamed heading"),
                Some(at) => {
                    self.tree.children(cells[at]).for_each(|child| self.write(child, order, change, html));
                }
            }
            write!(html, "</{tag}>").expect("a text");
        }
    }

    /// The attributes of a cell, as this page names its columns.
    fn named(
        &self,
        own: Vec<(String, String)>,
        column: Option<usize>,
        row: u32,
        is_renamed: bool,
    ) -> Vec<(String, String)> {
        if self.naming == Naming::Headers {
            return own;
        }
        let is_naming = |name: &str| name == "class" || name == "id" || name == "headers" || name.starts_with("data-");
        let mut kept: Vec<(String, String)> = own.into_iter().filter(|(name, _)| !is_naming(name)).collect();
        if self.naming == Naming::Classes {
            let word = match column {
                _ if is_renamed => "renamed",
                Some(at) => CLASSES[at % CLASSES.len()],
                None => "remark",
            };
            let noise = if row.is_multiple_of(2) { "even" } else { "odd" };
            kept.push(("class".to_owned(), format!("{word} {noise} c{row}")));
        }
        kept
    }

    fn escaped(&self, node: NodeId, text: &str) -> String {
        let is_raw = self.tree.parent(node).is_some_and(|it| matches!(self.tree.tag(it), "script" | "style"));
        if is_raw { text.to_owned() } else { text.replace('&', "&amp;").replace('<', "&lt;") }
    }
}

fn open(tag: &str, attributes: Vec<(String, String)>, html: &mut String) {
    write!(html, "<{tag}").expect("a text");
    for (name, value) in attributes {
        write!(html, " {name}=\"{}\"", value.replace('&', "&amp;").replace('"', "&quot;")).expect("a text");
    }
    html.push('>');
}
