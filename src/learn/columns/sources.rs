//! Derives columns from slots: each slot as it is, pieces of a text (drill down), whole elements and lines (roll up),
//! values after a label, class values, and headings above the row.

use std::borrow::Cow;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::filler::{Filler, ScannedRow, elements_of};
use super::split::{self, ScannedValue};
use super::{class_values, lines};
use crate::learn::align::AlignedRow;
use crate::learn::template::{ColumnSource, Recipe, Slot, Variant};
use crate::learn::view::{LeafKind, PageView, PathId, PathInterner, fingerprint, sample};
use crate::page::token_names::carries_token;
use crate::page::tokens::Span;

/// Number of columns from which no more are derived; slots and a category are always columns.
const MAX_COLUMNS: usize = 240;
/// Maximum cells of a list, as long as [`MIN_DERIVED`] columns besides the slots remain: the largest of the corpus has
/// 82,000. JSON objects nested 40 deep have the maximum number of columns, each with the text of all objects below.
const MAX_CELLS: usize = 100_000;
const MIN_DERIVED: usize = 8;
/// Minimum share of the rows for an element or line to become a column.
const MIN_PRESENCE: f64 = 0.3;
/// Maximum lines of one element, from the start and from the end.
const MAX_LINES: i32 = 8;
const LAST_LINES: i32 = 3;

/// The result of [`find`].
pub struct Columns {
    /// For each source: is it hidden at first? Constants and derived columns are.
    pub hidden: Vec<bool>,
    /// The cells of the sampled rows, by row index.
    pub filled_cells: HashMap<usize, Vec<Option<String>>>,
}

/// Finds the variant's sources.
pub fn find(view: &PageView<'_>, variant: &mut Variant, rows: &[AlignedRow], paths: &mut PathInterner) -> Columns {
    let most = (MAX_CELLS / rows.len().max(1)).max(variant.slots.len() + MIN_DERIVED).min(MAX_COLUMNS);
    let places = sample(&(0..rows.len()).collect::<Vec<_>>());
    let rows: Vec<&AlignedRow> = places.iter().map(|&place| &rows[place]).collect();
    let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
    let mut known: Vec<ScannedRow<'_>> =
        spans.iter().map(|&row| ScannedRow::new(elements_of(view, row, paths, |_, _| false))).collect();
    let mut derived = pieces(&variant.slots, &rows, &mut known);
    derived.extend(elements(view, &spans, &known, paths));
    derived.extend(lines::labels(view, &spans).into_iter().map(|label| Recipe::Label { label }));
    derived.extend(class_values::find(view, &spans, paths));
    derived.extend(headings(&rows));
    let slots = (0..variant.slots.len()).map(ColumnSource::Slot);
    let candidates: Vec<Option<ColumnSource>> =
        slots.chain(derived.into_iter().map(ColumnSource::Derived)).map(Some).collect();
    let filler = Filler::new(&candidates, paths);
    let filled = rows.iter().copied().zip(known).map(|(row, known)| filler.cells(view, row, known, paths));
    let table: Vec<Vec<Option<Cow<'_, str>>>> = filled.collect();
    let mut kept = Vec::new();
    let mut seen = HashSet::new();
    let mut hidden = Vec::new();
    for (j, source) in candidates.iter().flatten().enumerate() {
        let values = table.iter().map(|row| row[j].as_deref());
        let is_slot = matches!(source, ColumnSource::Slot(_));
        // Slots always stay; a derived column must have values, and other values than every column before it.
        let is_new = seen.insert(column_fingerprint(values.clone())) && values.flatten().next().is_some();
        let is_shown = is_slot || is_category(source, &rows);
        if is_slot || is_new && (is_shown || hidden.len() < most) {
            let values = || table.iter().filter_map(|row| row[j].as_deref());
            hidden
                .push(!is_shown || is_constant(source, variant) || is_link(source, variant) && carry_tokens(values()));
            variant.sources.push(Some(source.clone()));
            kept.push(j);
        }
    }
    let keep = |mut row: Vec<Option<Cow<'_, str>>>| {
        kept.iter().map(|&j| row[j].take().map(Cow::into_owned)).collect::<Vec<Option<String>>>()
    };
    let made = places.into_iter().zip(table.into_iter().map(keep)).collect();
    Columns { hidden, filled_cells: made }
}

fn is_constant(source: &ColumnSource, variant: &Variant) -> bool {
    match source {
        ColumnSource::Slot(slot) => {
            let slot = &variant.slots[*slot];
            slot.constant().is_some() && slot.count >= variant.rows
        }
        ColumnSource::Derived(_) => false,
    }
}

fn is_link(source: &ColumnSource, variant: &Variant) -> bool {
    matches!(source, ColumnSource::Slot(slot) if variant.slots[*slot].kind == LeafKind::Href)
}

/// Whether most of these links carry a token: they would change with every session.
fn carry_tokens<'a>(links: impl Iterator<Item = &'a str> + Clone) -> bool {
    let carrying = links.clone().filter(|link| carries_token(link)).count();
    carrying * 2 > links.count()
}

fn column_fingerprint<'a>(values: impl Iterator<Item = Option<&'a str>>) -> u64 {
    values.fold(0, |print: u64, value| {
        print.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value.map_or(1, fingerprint)
    })
}

fn pieces<'r>(slots: &[Slot], rows: &[&'r AlignedRow], known: &mut [ScannedRow<'r>]) -> Vec<Recipe> {
    let mut recipes = Vec::new();
    let is_list =
        |slot: usize| rows.iter().any(|row| row.cells[slot].is_some_and(|it| !row.leaves[it].more_values.is_empty()));
    let texts = slots.iter().enumerate().filter(|(_, slot)| slot.kind == LeafKind::Text);
    for (slot, _) in texts.filter(|&(slot, _)| !is_list(slot)) {
        let mut distinct: Vec<Rc<ScannedValue<'r>>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (row, known) in rows.iter().zip(known.iter_mut()) {
            let Some(leaf) = row.cells[slot] else { continue };
            let value = row.leaves[leaf].value.as_str();
            let place = *places.entry(value).or_insert_with(|| {
                distinct.push(Rc::new(ScannedValue::new(value)));
                distinct.len() - 1
            });
            known.scanned.insert(slot, Rc::clone(&distinct[place]));
        }
        for (cut, places) in split::split_rules(&distinct) {
            let made = places.into_iter().map(|(first, last)| Recipe::Piece { slot, cut: cut.clone(), first, last });
            recipes.extend(made);
        }
    }
    recipes
}

/// Heading columns: there are at least two headings, and some heading has several rows.
fn headings(rows: &[&AlignedRow]) -> Vec<Recipe> {
    let are_headings = |texts: Vec<&str>| {
        let distinct: HashSet<&str> = texts.iter().copied().collect();
        distinct.len() >= 2 && distinct.len() < texts.len()
    };
    let mut recipes = Vec::new();
    if are_headings(rows.iter().filter_map(|row| row.headings.last.as_deref()).collect()) {
        recipes.push(Recipe::Heading);
    }
    // Levels accumulate from row to row, so the last row has them all.
    let levels = rows.last().map_or(&[][..], |row| &row.headings.levels);
    for (element, _) in levels {
        if are_headings(rows.iter().filter_map(|row| row.headings.level(element)).collect()) {
            recipes.push(Recipe::HeadingIn { element: element.clone() });
        }
    }
    recipes
}

/// A heading that is always alone and in the same kind of element is a category, and is shown.
fn is_category(source: &ColumnSource, rows: &[&AlignedRow]) -> bool {
    let is_one = |row: &&AlignedRow| row.headings.is_alone && row.headings.element == rows[0].headings.element;
    matches!(source, ColumnSource::Derived(Recipe::Heading)) && rows.iter().all(is_one)
}

/// Recipes for elements with text: single ones, all with the same class path together, and their lines.
fn elements(view: &PageView<'_>, rows: &[Span], known: &[ScannedRow<'_>], paths: &PathInterner) -> Vec<Recipe> {
    let mut order: Vec<(PathId, u32)> = Vec::new();
    // For each element: the number of rows that have it, and the sum of its lines.
    let mut counts: HashMap<(PathId, u32), (usize, usize)> = HashMap::new();
    for (&row, known) in rows.iter().zip(known) {
        let whole = (PathId::TOP, 0, row);
        for (path, nth, span) in std::iter::once(whole).chain(known.elements.iter().copied()) {
            let count = counts.entry((path, nth)).or_default();
            if count.0 == 0 {
                order.push((path, nth));
            }
            count.0 += 1;
            count.1 += lines::lines(view, span, false).len();
        }
    }
    order.retain(|key| counts[key].0 as f64 >= MIN_PRESENCE * rows.len() as f64);
    let mut recipes: Vec<Recipe> = Vec::new();
    for &(path, nth) in order.iter().filter(|key| key.0 != PathId::TOP) {
        recipes.push(Recipe::Element { path: paths.path_text(path), nth });
    }
    for (path, _) in order.iter().filter(|key| key.1 == 0 && counts.contains_key(&(key.0, 1))) {
        recipes.push(Recipe::Elements { path: paths.path_text(*path) });
    }
    for &(path, nth) in &order {
        let (present, lines) = counts[&(path, nth)];
        if lines * 2 > present * 3 {
            let places = (0..MAX_LINES).chain(-LAST_LINES..0);
            recipes.extend(places.map(|line| Recipe::Line { path: paths.path_text(path), nth, line }));
        }
    }
    recipes
}
