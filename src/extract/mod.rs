//! Extraction: template + page → records. Pure, and for any page whatever: no list is an answer, not an error.

use crate::induce::columns::Filler;
use crate::induce::find::View;
use crate::induce::fit::fit;
use crate::induce::table;
use crate::induce::template::{Source, Template};
use crate::model::{Column, Row, Table};
use crate::page::Tree;

/// What a template found on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// In [0, 1]: how much of the template the page's rows still show.
    pub similarity: f64,
    /// All columns in the template's order, hidden ones included.
    pub table: Table,
}

/// The table without the template's hidden columns, which are not even read: as a rule they are many.
pub fn records(template: &Template, page: &Tree) -> Extraction {
    let view = View::new(page);
    let shown: Vec<usize> = (0..template.columns().len()).filter(|&i| !template.columns()[i].hidden).collect();
    let columns = shown.iter().map(|&i| template.columns()[i].name.clone()).collect();
    let Some(mut fit) = fit(template, &view) else {
        return Extraction { similarity: 0.0, table: Table { columns, rows: Vec::new() } };
    };
    let sources = &template.variants[fit.variant].sources;
    let sources: Vec<Option<Source>> = shown.iter().map(|&i| sources[i].clone()).collect();
    let filler = Filler::new(&sources, &mut fit.paths);
    let rows = fit.rows.iter().map(|row| Row { cells: filler.fill(&view, row, &mut fit.paths), page: 0 }).collect();
    Extraction { similarity: fit.similarity, table: Table { columns, rows } }
}

pub fn extract(template: &Template, page: &Tree) -> Extraction {
    let view = View::new(page);
    match fit(template, &view) {
        Some(mut fit) => {
            let table = table(&view, template, fit.variant, &fit.rows, &mut fit.paths);
            Extraction { similarity: fit.similarity, table }
        }
        None => {
            let columns = template.columns().iter().map(|column| column.name.clone()).collect();
            Extraction { similarity: 0.0, table: Table { columns, rows: Vec::new() } }
        }
    }
}

impl Extraction {
    /// The table without the template's hidden columns.
    pub fn visible(&self, template: &Template) -> Table {
        visible(&self.table, template)
    }
}

/// A table of all columns of the template, less the hidden ones.
pub fn visible(table: &Table, template: &Template) -> Table {
    let shown: Vec<usize> = (0..table.columns.len()).filter(|&i| !template.columns()[i].hidden).collect();
    let row = |row: &Row| Row { cells: shown.iter().map(|&i| row.cells[i].clone()).collect(), page: row.page };
    Table {
        columns: shown.iter().map(|&i| table.columns[i].clone()).collect(),
        rows: table.rows.iter().map(row).collect(),
    }
}

/// The table under the names that a person gave: the first `[[column]]` names the first column, and so on.
pub fn named(mut table: Table, columns: &[Column]) -> Table {
    for (name, column) in table.columns.iter_mut().zip(columns) {
        name.clone_from(&column.name);
    }
    table
}
