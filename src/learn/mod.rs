//! PURE: learning: page → row sets → the five best candidates → templates. No clock, no files, no network.

pub mod adjust;
pub mod align;
mod assemble;
mod atypical;
mod center_star;
mod class_values;
pub mod columns;
mod custom_columns;
mod describe;
pub mod edits;
pub mod enclose;
mod features;
pub mod find;
pub mod fit;
mod header;
pub mod help;
mod inner_lists;
pub mod label;
mod layout;
mod lcs;
pub mod leaf;
pub mod limit;
pub mod list_and_detail;
pub mod merge;
pub mod mixed_formats;
mod names;
mod notation;
mod offset;
mod outlier_rows;
mod paths;
mod positions;
mod profile;
mod rank;
pub mod record_page;
pub mod repair;
pub mod row_rule;
mod sections;
mod signals;
pub mod similarity;
mod split;
mod superset;
pub mod template;

use foldhash::HashMap;

use align::align;
use columns::{AlignedRow, Columns, Filler};
use features::sample;
use find::{Finder, PageView, RowSet};
pub use help::{Help, HelpError, learn_with};
use leaf::{Leaf, MAX_LEAVES, is_too_wide, leaves};
use limit::Limit;
pub use list_and_detail::{DetailPage, ListAndDetail, learn_with_details};
use paths::PathInterner;
use rank::RankedRowSet;
use row_rule::RowRule;
pub use template::Template;

use crate::model::{Row, Table};
use crate::page::Tree;
use crate::page::encode::MAX_SYMBOLS;
use crate::page::tokens::Span;

#[derive(Clone, Debug)]
pub struct LearnOptions {
    /// Maximum number of candidates.
    pub top: usize,
    pub method: Method,
    /// The number of records, as a person said it: candidates with another count are ranked after those with it.
    pub rows: Option<usize>,
}

impl Default for LearnOptions {
    fn default() -> LearnOptions {
        LearnOptions { top: 5, method: Method::Auto, rows: None }
    }
}

/// The methods that may propose rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    #[default]
    Auto,
    /// Sibling elements only, one per record.
    Siblings,
    /// Shi et al.: token sequences that occur N times, in the paper's order.
    Cycles,
    /// IEPAD: tag patterns that occur at regular distances, best first.
    Repeats,
}

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

/// The lists of the first page, best first. Pages after the first are further pages of the same kind.
pub fn learn(pages: &[Tree], options: &LearnOptions) -> Vec<Candidate> {
    let Some((first, further)) = pages.split_first() else { return Vec::new() };
    let view = PageView::new(first);
    let further: Vec<PageView<'_>> = further.iter().map(PageView::new).collect();
    let paths = &mut PathInterner::default();
    shown_row_sets(&view, options).into_iter().map(|it| candidate(&view, it, &further, paths)).collect()
}

/// The list that a run learns without a person.
pub struct UnattendedList {
    /// The template of the best candidate, if it is plausible.
    pub template: Option<Template>,
    /// The score is far enough ahead of the second to publish provisionally, before a person has confirmed it.
    pub clearly_ahead: bool,
    /// The limit that was reached: rows or values may be missing or wrong.
    pub limit: Option<Limit>,
}

/// As [`learn`], for the first candidate only and without its rows: a page of 100,000 rows is not held in memory five
/// times.
pub fn learn_unattended(page: &Tree) -> UnattendedList {
    let view = PageView::new(page);
    let mut shown = shown_row_sets(&view, &LearnOptions::default());
    let clearly_ahead = match shown.as_slice() {
        [] => false,
        [_] => true,
        [first, second, ..] => first.score - second.score >= CLEAR_LEAD,
    };
    shown.truncate(1);
    let Some(first) = shown.pop().filter(|it| is_plausible_at(it.score, it.set.finder)) else {
        return UnattendedList { template: None, clearly_ahead, limit: None };
    };
    let LearnedRows { template, .. } = learn_rows(&view, &first.set, &mut PathInterner::default());
    UnattendedList { template: Some(template), clearly_ahead, limit: view.take_limit() }
}

/// Minimum score lead of a list that is published provisionally. On 357 pages with a known list (corpus and its further
/// pages, drift series, other sites) the first candidate is right on 317; with a lead of 0.7 on 111 of 117, with 1.0 on
/// 89 of 90. The second is mostly another cut of the same list.
const CLEAR_LEAD: f64 = 1.0;

/// Does the page have any plausible list?
pub fn has_list(page: &Tree) -> bool {
    rank_tree_row_sets(&PageView::new(page), Method::Auto).first().is_some_and(|it| it.score >= PLAUSIBLE_SCORE)
}

/// Is the candidate good enough to be used without a person? A person is shown weaker ones too.
pub fn is_plausible(candidate: &Candidate) -> bool {
    candidate.template.variants.iter().all(|it| is_plausible_at(candidate.score, it.finder))
}

fn is_plausible_at(score: f64, finder: Finder) -> bool {
    // The token-based methods find repeats in random bytes too.
    score >= PLAUSIBLE_SCORE && !matches!(finder, Finder::Cycles | Finder::Repeats)
}

/// Minimum score of a plausible list. On the pages of [`CLEAR_LEAD`] the right first candidates score -2.5 and better.
/// Accidental two-row lists on detail pages score -5 and below. Pages that have lost their list score from -9 to -1.2,
/// so no threshold separates them from lists.
const PLAUSIBLE_SCORE: f64 = -3.2;

/// The row sets that would be shown, for `pieme explain`.
pub fn explain_rows(page: &Tree, options: &LearnOptions) -> Vec<(String, Vec<String>)> {
    let view = PageView::new(page);
    let describe = |it: RankedRowSet| {
        let features = format!("{:.3?}", it.features);
        let features = features.trim_start_matches("Features { ").trim_end_matches(" }");
        let head = format!("{} {} rows, score {:.2}: {features}", it.set.finder.name(), it.set.rows.len(), it.score);
        let rows = it.set.rows.iter().map(|&row| leaf::text(&view.tokens, row)).collect();
        (head, rows)
    };
    shown_row_sets(&view, options).into_iter().map(describe).collect()
}

fn shown_row_sets(view: &PageView<'_>, options: &LearnOptions) -> Vec<RankedRowSet> {
    let mut ranked = match options.method {
        Method::Auto => with_token_row_sets(view, rank_tree_row_sets(view, Method::Auto)),
        Method::Siblings => rank_tree_row_sets(view, Method::Siblings),
        Method::Cycles => rank::measure_all(view, find::cycles::find(view, options.rows)),
        Method::Repeats => rank::measure_all(view, find::repeats::find(view)),
    };
    if let Some(wanted) = options.rows {
        // The sort is stable: both halves stay ordered by score.
        ranked.sort_by_key(|it| it.set.rows.len().abs_diff(wanted) > 0);
    }
    match options.method {
        Method::Auto | Method::Siblings => rank::select_candidates(&view.tokens, ranked, options.top),
        // The paper's own order; our score is only reported.
        Method::Cycles | Method::Repeats => ranked.into_iter().take(options.top).collect(),
    }
}

fn rank_tree_row_sets(view: &PageView<'_>, method: Method) -> Vec<RankedRowSet> {
    let mut sets = find::row_sets(view);
    if method == Method::Siblings {
        sets.retain(|set| set.finder == Finder::Siblings);
    }
    rank::rank(view, sets)
}

/// Penalty for token repeats: rotated rows score nearly as well as right ones (docs/design/learning.md 1, 2.3).
const TOKEN_REPEAT_PENALTY: f64 = 1.5;

/// Adds token-based row sets if the tree-based ones contain no plausible list.
fn with_token_row_sets(view: &PageView<'_>, mut ranked: Vec<RankedRowSet>) -> Vec<RankedRowSet> {
    if ranked.first().is_some_and(|it| it.score >= PLAUSIBLE_SCORE) {
        return ranked;
    }
    let mut sets = find::repeats::find(view);
    sets.extend(find::cycles::find(view, None));
    for mut it in rank::measure_all(view, sets) {
        it.score -= TOKEN_REPEAT_PENALTY;
        ranked.push(it);
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

/// The candidates of a page share one path interner.
fn candidate(
    view: &PageView<'_>,
    ranked: RankedRowSet,
    further: &[PageView<'_>],
    paths: &mut PathInterner,
) -> Candidate {
    candidate_with_rule(None, view, ranked, further, paths)
}

/// As [`candidate`], with a person's rule that finds the rows on further pages.
fn candidate_with_rule(
    rule: Option<RowRule>,
    view: &PageView<'_>,
    ranked: RankedRowSet,
    further: &[PageView<'_>],
    paths: &mut PathInterner,
) -> Candidate {
    // Discards a limit reached by the previous candidate.
    view.take_limit();
    let (mut template, table) = teach_with_paths(view, &ranked.set, paths);
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
pub fn teach(view: &PageView<'_>, set: &RowSet) -> (Template, Table) {
    teach_with_paths(view, set, &mut PathInterner::default())
}

/// As [`teach`], with a path interner shared by other lists of the page.
fn teach_with_paths(view: &PageView<'_>, set: &RowSet, paths: &mut PathInterner) -> (Template, Table) {
    let LearnedRows { template, rows, filled_cells: mut made } = learn_rows(view, set, paths);
    let filler = Filler::new(&template.variants[0].sources, paths);
    let fill = |(i, row): (usize, &AlignedRow)| made.remove(&i).unwrap_or_else(|| filler.fill(view, row, paths));
    let rows = rows.iter().enumerate().map(fill).map(|cells| Row { cells, page: 0 }).collect();
    let table = Table { columns: template.columns().iter().map(|it| it.name.clone()).collect(), rows };
    (template, table)
}

/// What was learned from rows: the template, the aligned rows, and the cells of sampled rows, by row index.
struct LearnedRows {
    template: Template,
    rows: Vec<AlignedRow>,
    filled_cells: HashMap<usize, Vec<Option<String>>>,
}

fn learn_rows(view: &PageView<'_>, set: &RowSet, paths: &mut PathInterner) -> LearnedRows {
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
    let headings = layout::headings(view, &set.rows);
    let laid = set.rows.iter().zip(read).zip(alignment.cells).zip(headings);
    let lay = |(((&span, leaves), cells), above)| AlignedRow { span, leaves, cells, headings: above };
    let rows: Vec<AlignedRow> = laid.map(lay).collect();
    let Columns { hidden, filled_cells: made } = columns::find(view, &mut variant, &rows, paths);
    variant.floor = fit::quality_floor(&variant, view, &rows, paths);
    variant.own = fit::training_fit(&variant, view, &rows, paths);
    variant.header = header::above_rows(view, &set.rows);
    positions::record_sibling_counts(&view.tokens, &mut variant.slots, &rows, paths);
    let names = names::guess(view, &variant, &rows, &hidden);
    let template = Template::new(variant, names, &hidden);
    LearnedRows { template, rows, filled_cells: made }
}

/// Adds the rows of a further page to the slots' counts, so that presence and values rest on more than one page.
fn count_further_page(mut template: Template, view: &PageView<'_>) -> Template {
    let Some(fit) = fit::fit(&template, view) else { return template };
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
