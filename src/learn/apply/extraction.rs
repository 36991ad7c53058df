//! Extraction: template + page → records. Works on any page; a page without a list is a result, not an error.

use super::fit::{FitCache, fit_with_cache};
use super::mixed_formats;
use super::moved_columns::{OrderedPage, in_learned_order};
use super::similarity::THRESHOLD;
use super::transform::ColumnTransform;
use crate::learn::align::AlignedRow;
use crate::learn::columns::Filler;
use crate::learn::template::Template;
use crate::learn::view::{Limit, PageView, PathInterner};
use crate::model::{Row, SimilarityParts, Table, TableChanges};
use crate::page::Tree;
use crate::page::tokens::Span;

/// What a template found on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// In [0, 1]: how much of the template the page's rows still have.
    pub similarity: f64,
    /// The parts of the similarity.
    pub likeness: SimilarityParts,
    /// All columns in the template's order, hidden ones included.
    pub table: Table,
    /// The token span of each row on the page.
    pub row_spans: Vec<Span>,
    /// The limit that was reached: rows or values may be missing or wrong.
    pub limit: Option<Limit>,
    /// Set if the table's columns were found by their names in other places than learned.
    pub moved_columns: Option<TableChanges>,
}

/// Extracts the visible columns. Hidden ones, usually many, are not read.
pub fn records(template: &Template, page: &Tree) -> Extraction {
    read_page(template, page, &visible_columns(template), &mut None)
}

/// Reads many pages with one template and keeps the fit cache between them.
pub struct TemplateReader {
    template: Template,
    visible_columns: Vec<usize>,
    cache: Option<FitCache>,
}

impl TemplateReader {
    pub fn new(template: Template) -> TemplateReader {
        TemplateReader { visible_columns: visible_columns(&template), template, cache: None }
    }

    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The rows of a page under the task's columns, without empty ones: what a run publishes, and what a person is
    /// shown before.
    pub fn published_rows(&mut self, shape: &ColumnTransform, page: &Tree) -> Extraction {
        let mut found = read_page(&self.template, page, &self.visible_columns, &mut self.cache);
        found.table = shape.apply(found.table);
        let rows = found.table.rows.into_iter().zip(found.row_spans);
        (found.table.rows, found.row_spans) = rows.filter(|(row, _)| row.cells.iter().any(Option::is_some)).unzip();
        found
    }
}

fn visible_columns(template: &Template) -> Vec<usize> {
    (0..template.columns().len()).filter(|&i| !template.columns()[i].hidden).collect()
}

pub fn extract(template: &Template, page: &Tree) -> Extraction {
    read_page(template, page, &template.every_column(), &mut None)
}

/// Reads the page with the columns of its table in the learned order.
fn read_page(template: &Template, page: &Tree, columns: &[usize], cache: &mut Option<FitCache>) -> Extraction {
    match in_learned_order(template, page) {
        None => apply_template(template, &PageView::new(page), columns, cache),
        Some(OrderedPage { tree, changes }) => {
            let found = apply_template(template, &PageView::new(&tree), columns, cache);
            Extraction { moved_columns: Some(changes), ..found }
        }
    }
}

/// How well a template of a library fits a page.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateMatch {
    /// Which of the templates.
    pub index: usize,
    pub extraction: Extraction,
}

/// Ranks a library of templates for an unknown page (Shi et al.), best first. Templates above the similarity threshold
/// come first, then by similarity × logarithm of the number of values: a template of one bare text fits nearly every
/// page and extracts little.
pub fn rank_templates(page: &Tree, templates: &[Template]) -> Vec<TemplateMatch> {
    let view = PageView::new(page);
    let mut standings: Vec<TemplateMatch> = templates
        .iter()
        .enumerate()
        .map(|(index, template)| {
            let extraction = apply_template(template, &view, &template.every_column(), &mut None);
            TemplateMatch { index, extraction }
        })
        .collect();
    let worth = |it: &TemplateMatch| {
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

fn apply_template(
    template: &Template,
    view: &PageView<'_>,
    columns: &[usize],
    kit: &mut Option<FitCache>,
) -> Extraction {
    let Some(mut best) = fit_with_cache(template, view, kit) else {
        let columns = columns.iter().map(|&i| template.columns()[i].name.clone()).collect();
        let table = Table { columns, rows: Vec::new() };
        return Extraction {
            similarity: 0.0,
            likeness: SimilarityParts::NONE,
            table,
            row_spans: Vec::new(),
            limit: view.take_limit(),
            moved_columns: None,
        };
    };
    let mut limit = best.limit(template, view);
    let mut found = table(view, template, best.variant, columns, &mut best.rows, &mut best.cache.paths);
    let others = mixed_formats::fit_other_variants(template, view, &best);
    limit = others.iter().fold(limit, |limit, other| limit.or_else(|| other.limit(template, view)));
    let mut places: Vec<Span> = best.rows.iter().map(|row| row.span).collect();
    if !others.is_empty() {
        for mut other in others {
            found
                .rows
                .extend(table(view, template, other.variant, columns, &mut other.rows, &mut other.cache.paths).rows);
            places.extend(other.rows.iter().map(|row| row.span));
        }
        // Rows of all formats, in page order.
        let mut rows: Vec<(Span, Row)> = places.into_iter().zip(found.rows).collect();
        rows.sort_by_key(|(place, _)| *place);
        (places, found.rows) = rows.into_iter().unzip();
    }
    let is_only_current = template.variants.iter().enumerate().all(|(i, it)| it.superseded != (i == best.variant));
    *kit = best.cache.reusable().filter(|_| is_only_current);
    Extraction {
        similarity: best.likeness.similarity(),
        likeness: best.likeness,
        table: found,
        row_spans: places,
        limit: limit.or(view.take_limit()),
        moved_columns: None,
    }
}

/// The table of the rows under these columns of the template. May move values out of the rows.
pub fn table(
    view: &PageView<'_>,
    template: &Template,
    variant: usize,
    columns: &[usize],
    rows: &mut [AlignedRow],
    paths: &mut PathInterner,
) -> Table {
    let sources = &template.variants[variant].sources;
    let filler = Filler::from_sources(columns.iter().map(|&i| sources[i].as_ref()).collect(), paths);
    let fill = |row: &mut AlignedRow| Row { cells: filler.take(view, row, paths), page: 0 };
    let columns = columns.iter().map(|&i| template.columns()[i].name.clone()).collect();
    Table { columns, rows: rows.iter_mut().map(fill).collect() }
}

impl Extraction {
    pub fn visible(&self, template: &Template) -> Table {
        visible(&self.table, template)
    }
}

/// The table without the template's hidden columns.
pub fn visible(table: &Table, template: &Template) -> Table {
    let shown = visible_columns(template);
    let row = |row: &Row| Row { cells: shown.iter().map(|&i| row.cells[i].clone()).collect(), page: row.page };
    Table {
        columns: shown.iter().map(|&i| table.columns[i].clone()).collect(),
        rows: table.rows.iter().map(row).collect(),
    }
}

/// For each visible column: is it text of the page, not an attribute?
pub fn visible_text_columns(template: &Template) -> impl Iterator<Item = bool> {
    let shown = template.columns().iter().enumerate().filter(|(_, column)| !column.hidden);
    shown.map(|(i, _)| template.variants.iter().any(|variant| variant.reads_text(i)))
}

#[cfg(test)]
mod tests;
