//! Extraction: template + page → records. Pure, and for any page whatever: no list is an answer, not an error.

pub mod links;
mod shape;

use crate::induce::find::View;
use crate::induce::fit::{Kit, fit_again};
use crate::induce::limit::Limit;
use crate::induce::similarity::THRESHOLD;
use crate::induce::template::Template;
use crate::induce::{mixture, table};
use crate::model::{Likeness, Row, Table};
use crate::page::Tree;
use crate::page::tokens::Span;

pub use shape::{Shape, ShapeError};

/// What a template found on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// In [0, 1]: how much of the template the page's rows still show.
    pub similarity: f64,
    /// The same, taken apart.
    pub likeness: Likeness,
    /// All columns in the template's order, hidden ones included.
    pub table: Table,
    /// Rows or values are missing for it, or may be wrong.
    pub limit: Option<Limit>,
}

/// The table without the template's hidden columns, which are not even read: as a rule they are many.
pub fn records(template: &Template, page: &Tree) -> Extraction {
    laid_over(template, &View::new(page), &shown_columns(template), &mut None)
}

/// Reads page after page with one template; what was worked out for one page is used for the next.
pub struct Reader {
    template: Template,
    shown: Vec<usize>,
    kit: Option<Kit>,
}

impl Reader {
    pub fn new(template: Template) -> Reader {
        Reader { shown: shown_columns(&template), template, kit: None }
    }

    pub fn template(&self) -> &Template {
        &self.template
    }

    /// As [`records`].
    pub fn records(&mut self, page: &Tree) -> Extraction {
        laid_over(&self.template, &View::new(page), &self.shown, &mut self.kit)
    }
}

fn shown_columns(template: &Template) -> Vec<usize> {
    (0..template.columns().len()).filter(|&i| !template.columns()[i].hidden).collect()
}

pub fn extract(template: &Template, page: &Tree) -> Extraction {
    laid_over(template, &View::new(page), &template.every_column(), &mut None)
}

/// How well a template of a library fits a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Which of the templates.
    pub index: usize,
    pub extraction: Extraction,
}

/// A library of templates against a page nobody has said anything about (Shi et al.), best first: those that still look
/// like the page before those that do not, then by similarity × the logarithm of the values they read: a template of one
/// bare text fits nearly everything and reads little.
pub fn rank_templates(page: &Tree, templates: &[Template]) -> Vec<Standing> {
    let view = View::new(page);
    let mut standings: Vec<Standing> = templates
        .iter()
        .enumerate()
        .map(|(index, template)| {
            let extraction = laid_over(template, &view, &template.every_column(), &mut None);
            Standing { index, extraction }
        })
        .collect();
    let worth = |it: &Standing| {
        let Extraction { similarity, table, .. } = &it.extraction;
        let cells: usize = table.rows.iter().map(|row| row.cells.iter().flatten().count()).sum();
        (*similarity >= THRESHOLD, similarity * (1.0 + cells as f64).ln())
    };
    standings.sort_by(|a, b| {
        let (a, b) = (worth(a), worth(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    standings
}

fn laid_over(template: &Template, view: &View<'_>, columns: &[usize], kit: &mut Option<Kit>) -> Extraction {
    let Some(mut best) = fit_again(template, view, kit) else {
        let columns = columns.iter().map(|&i| template.columns()[i].name.clone()).collect();
        let table = Table { columns, rows: Vec::new() };
        return Extraction { similarity: 0.0, likeness: Likeness::NONE, table, limit: view.reached() };
    };
    let mut limit = best.limit(template, view);
    let mut found = table(view, template, best.variant, columns, &mut best.rows, &mut best.kit.paths);
    let others = mixture::others(template, view, &best);
    limit = others.iter().fold(limit, |limit, other| limit.or_else(|| other.limit(template, view)));
    if !others.is_empty() {
        let mut places: Vec<Span> = best.rows.iter().map(|row| row.span).collect();
        for mut other in others {
            found
                .rows
                .extend(table(view, template, other.variant, columns, &mut other.rows, &mut other.kit.paths).rows);
            places.extend(other.rows.iter().map(|row| row.span));
        }
        // Rows of all formats, as they stand on the page.
        let mut rows: Vec<(Span, Row)> = places.into_iter().zip(found.rows).collect();
        rows.sort_by_key(|(place, _)| *place);
        found.rows = rows.into_iter().map(|(_, row)| row).collect();
    }
    *kit = best.kit.kept().filter(|_| template.variants.len() == 1);
    Extraction {
        similarity: best.likeness.similarity(),
        likeness: best.likeness,
        table: found,
        limit: limit.or(view.reached()),
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

/// Of each column that is not hidden: whether it is a text of the page, not an attribute.
pub fn shown_texts(template: &Template) -> impl Iterator<Item = bool> {
    let shown = template.columns().iter().enumerate().filter(|(_, column)| !column.hidden);
    shown.map(|(i, _)| template.variants.iter().any(|variant| variant.reads_text(i)))
}

#[cfg(test)]
mod tests;
