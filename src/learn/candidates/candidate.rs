//! One proposed list: from a row set to its template and table.

use foldhash::HashMap;

use super::exclusions::with_exclusions;
use crate::learn::align::{AlignedRow, align, assemble, headings, inner_lists, record_sibling_counts};
use crate::learn::apply::{Extraction, extract, fit, quality_floor, training_fit};
use crate::learn::columns::{self, Columns, Filler, header, names, table_columns};
use crate::learn::rank::RankedRowSet;
use crate::learn::rows::RowSet;
use crate::learn::template::{RowRule, Template};
use crate::learn::view::{Leaf, Limit, MAX_LEAVES, PageView, PathInterner, is_too_wide, leaves, sample};
use crate::model::{Row, Table};
use crate::page::Tree;
use crate::page::encode::MAX_SYMBOLS;
use crate::page::tokens::Span;

/// One proposed list: its template and the rows of the first page, hidden columns included.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub method: &'static str,
    pub score: f64,
    pub template: Template,
    pub table: Table,
    /// The token span of each row on the page.
    pub row_spans: Vec<Span>,
    /// The limit that was reached: rows or values may be missing or wrong.
    pub limit: Option<Limit>,
}

impl Candidate {
    /// The candidate with the rows that its template reads on this page: a person is shown what a run publishes. One
    /// whose template reads nothing stays as it was learned; it can be adjusted, but not published.
    #[must_use]
    pub fn read_back(self, page: &Tree) -> Candidate {
        let template = with_exclusions(&self.template, page, &self.row_spans);
        let Extraction { table, row_spans, limit, moved_columns, .. } = extract(&template, page);
        if table.rows.is_empty() {
            return self;
        }
        // Spans of a rearranged page cannot be outlined on this one.
        let row_spans = if moved_columns.is_some() { Vec::new() } else { row_spans };
        Candidate { template, table, row_spans, limit: self.limit.or(limit), ..self }
    }
}

/// The candidates of a page share one path interner. `rule` is a person's, for finding the rows on further pages.
pub fn candidate(
    rule: Option<RowRule>,
    view: &PageView<'_>,
    ranked: RankedRowSet,
    further: &[PageView<'_>],
    paths: &mut PathInterner,
) -> Candidate {
    // Discards a limit reached by the previous candidate.
    view.take_limit();
    let (mut template, table) = learn_row_set_with_paths(view, &ranked.set, paths);
    let limit = view.take_limit().or(symbol_limit(view, &ranked.set));
    template.variants[0].rule = rule;
    let template = further.iter().fold(template, |template, view| count_further_page(template, view));
    let RowSet { finder, rows: places, .. } = ranked.set;
    Candidate { method: finder.name(), score: ranked.score, template, table, row_spans: places, limit }
}

/// Token-based rows may continue beyond the symbols that the finders read.
fn symbol_limit(view: &PageView<'_>, set: &RowSet) -> Option<Limit> {
    (set.finder.is_token_based() && view.tokens.list.len() > MAX_SYMBOLS).then_some(Limit::Symbols)
}

/// Turns a row set into a template and a table of all its columns. Every method of supervision uses this function.
pub fn learn_row_set(view: &PageView<'_>, set: &RowSet) -> (Template, Table) {
    learn_row_set_with_paths(view, set, &mut PathInterner::default())
}

/// As [`learn_row_set`], with a path interner shared by other lists of the page.
fn learn_row_set_with_paths(view: &PageView<'_>, set: &RowSet, paths: &mut PathInterner) -> (Template, Table) {
    let LearnedRows { template, rows, filled_cells: mut made } = learn_rows(view, set, paths);
    let filler = Filler::new(&template.variants[0].sources, paths);
    let fill = |(i, row): (usize, &AlignedRow)| made.remove(&i).unwrap_or_else(|| filler.fill(view, row, paths));
    let rows = rows.iter().enumerate().map(fill).map(|cells| Row { cells, page: 0 }).collect();
    let columns = template.column_names();
    (template, Table { columns, rows })
}

/// What was learned from rows: the template, the aligned rows, and the cells of sampled rows, by row index.
pub struct LearnedRows {
    pub template: Template,
    rows: Vec<AlignedRow>,
    filled_cells: HashMap<usize, Vec<Option<String>>>,
}

pub fn learn_rows(view: &PageView<'_>, set: &RowSet, paths: &mut PathInterner) -> LearnedRows {
    let looked_at = sample(&(0..set.rows.len()).collect::<Vec<_>>());
    let looked_at_leaves: Vec<Vec<Leaf>> =
        looked_at.iter().map(|&i| leaves(&view.tokens, set.rows[i], paths)).collect();
    let repeats = inner_lists::find(view.tree(), &looked_at_leaves, paths);
    let mut looked_at = looked_at.into_iter().zip(looked_at_leaves).peekable();
    let read: Vec<Vec<Leaf>> = set
        .rows
        .iter()
        .enumerate()
        .map(|(i, &row)| match looked_at.next_if(|(place, _)| *place == i) {
            Some((_, leaves)) => inner_lists::fold_all(view.tree(), leaves, &repeats, paths),
            None => inner_lists::read_leaves(&view.tokens, row, &repeats, MAX_LEAVES, paths),
        })
        .collect();
    let alignment = align(&read, paths);
    view.record_limit(alignment.limit);
    view.record_limit(set.rows.iter().any(|&row| is_too_wide(&view.tokens, row)).then_some(Limit::Leaves));
    let mut variant = assemble::variant(view, set, &read, &alignment, &repeats, paths);
    let above = headings(view, &set.rows);
    let laid = set.rows.iter().zip(read).zip(alignment.cells).zip(above);
    let lay = |(((&span, leaves), cells), headings)| AlignedRow { span, leaves, cells, headings };
    let rows: Vec<AlignedRow> = laid.map(lay).collect();
    let Columns { hidden, filled_cells: made } = columns::find(view, &mut variant, &rows, paths);
    variant.floor = quality_floor(&variant, view, &rows, paths);
    variant.own = training_fit(&variant, view, &rows, paths);
    variant.header = header::above_rows(view, &set.rows);
    variant.table =
        set.rows.first().map_or_else(Vec::new, |row| table_columns::of_rows(view.tree(), view.first_node(*row)));
    record_sibling_counts(&view.tokens, &mut variant.slots, &rows, paths);
    let names = names::guess(view, &variant, &rows, &hidden);
    let template = Template::new(variant, names, &hidden);
    LearnedRows { template, rows, filled_cells: made }
}

/// Adds the rows of a further page to the slots' counts, so that presence and values rest on more than one page.
fn count_further_page(mut template: Template, view: &PageView<'_>) -> Template {
    let Some(fit) = fit(&template, view) else { return template };
    let variant = &mut template.variants[fit.variant];
    for (j, slot) in variant.slots.iter_mut().enumerate() {
        for leaf in fit.rows.iter().filter_map(|row| Some(&row.leaves[row.cells[j]?])) {
            slot.count += 1;
            for (list, path) in [(&mut slot.paths, leaf.path), (&mut slot.class_paths, leaf.class_path)] {
                let path = fit.cache.paths.path_text(path);
                if let Some((_, count)) = list.iter_mut().find(|(it, _)| *it == path) {
                    *count += 1;
                }
            }
            if let Some((_, count)) = slot.values.iter_mut().find(|(value, _)| *value == leaf.value) {
                *count += 1;
            }
        }
    }
    variant.rows += fit.rows.len() as u32;
    template
}
