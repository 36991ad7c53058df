//! Merges a list with its detail pages: matches rows with pages, finds the link column, and joins the columns.

mod links;
mod matching;

pub use links::{DetailAddress, follow_links, link_column};
pub use matching::{DetailWords, match_rows};

use crate::model::{Row, Table};

/// The list with the columns of the detail pages appended. A row without a detail page keeps its own cells.
pub fn merge(list: &Table, columns: &[String], details: &[Option<Row>]) -> Table {
    let mut merged = list.clone();
    for name in columns {
        let name = free_name(&merged.columns, name);
        merged.columns.push(name);
    }
    let width = merged.columns.len();
    for (i, row) in merged.rows.iter_mut().enumerate() {
        if let Some(detail) = details.get(i).and_then(Option::as_ref) {
            row.cells.extend(detail.cells.iter().take(columns.len()).cloned());
        }
        row.cells.resize(width, None);
    }
    merged
}

/// The name itself; if the list has a column of that name, `detail_name`, `detail_name_2`, …
fn free_name(taken: &[String], name: &str) -> String {
    let prefixed = format!("detail_{name}");
    let numbered = (2..).map(|i| format!("{prefixed}_{i}"));
    let mut names = [name.to_owned(), prefixed.clone()].into_iter().chain(numbered);
    names.find(|name| !taken.contains(name)).expect("numbers do not end")
}

#[cfg(test)]
mod tests;
