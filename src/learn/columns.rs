//! Derives columns from slots: each slot as it is, pieces of a text (drill down), whole elements and lines (roll up),
//! values after a label, class values, and headings above the row.

use std::borrow::Cow;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use serde::{Deserialize, Serialize};

use super::class_values;
use super::custom_columns::PreparedRecipe;
use super::enclose::Delimiter;
use super::features::sample;
use super::find::PageView;
use super::layout::{self, RowHeadings};
use super::leaf::{LIST_SEPARATOR, Leaf, LeafKind, elements_in, fingerprint, text_borrowed};
use super::paths::{PathId, PathInterner};
use super::split::{self, Pieces, ScannedValue, SplitRule};
use super::template::{ColumnSource, Slot, Variant};
use crate::page::NodeId;
use crate::page::tokens::Span;

/// How a derived column is computed. Indices count from 0, or from the end: -1 is the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recipe {
    /// A range of pieces of a slot's text.
    Piece { slot: usize, cut: SplitRule, first: i32, last: i32 },
    /// The whole text of the nth element with this class path.
    Element { path: String, nth: u32 },
    /// The texts of all elements with this class path.
    Elements { path: String },
    /// A line of the nth element with this class path; without a path, of the row.
    Line { path: String, nth: u32, line: i32 },
    /// The value after this label.
    Label { label: String },
    /// The classes of the nth element with this path (tags only), without those that all rows share.
    Class { path: String, nth: u32, without: Vec<String> },
    /// The heading above the row.
    Heading,
    /// The last text before the row, outside all rows, in an element with this tag and classes.
    HeadingIn { element: String },
    /// The first of these that the row has: one field with several structures.
    First { of: Vec<ColumnSource> },
    /// All of these that the row has, joined (roll up).
    Joined { of: Vec<ColumnSource>, with: String },
    /// The nth column of a text's aligned pieces (drill down); `slots` are their profiles.
    Drilled { of: Box<ColumnSource>, at: Delimiter, slots: Vec<Slot>, nth: usize },
    /// Text or attribute of the first element in the row that matches.
    Css {
        css: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attribute: Option<String>,
    },
    /// The match of a regular expression in the row's text: its first group, or the whole match.
    Pattern { pattern: String },
}

impl Recipe {
    /// The slots that it reads.
    pub fn slots(&self) -> Vec<usize> {
        match self {
            Recipe::Piece { slot, .. } => vec![*slot],
            Recipe::First { of } | Recipe::Joined { of, .. } => of.iter().flat_map(ColumnSource::slots).collect(),
            Recipe::Drilled { of, .. } => of.slots(),
            Recipe::Element { .. }
            | Recipe::Elements { .. }
            | Recipe::Line { .. }
            | Recipe::Label { .. }
            | Recipe::Class { .. }
            | Recipe::Heading
            | Recipe::HeadingIn { .. }
            | Recipe::Css { .. }
            | Recipe::Pattern { .. } => Vec::new(),
        }
    }

    /// Does it read a heading above the row?
    pub fn is_heading(&self) -> bool {
        match self {
            Recipe::Heading | Recipe::HeadingIn { .. } => true,
            Recipe::First { of } | Recipe::Joined { of, .. } => of.iter().any(ColumnSource::is_heading),
            Recipe::Drilled { of, .. } => of.is_heading(),
            Recipe::Piece { .. }
            | Recipe::Element { .. }
            | Recipe::Elements { .. }
            | Recipe::Line { .. }
            | Recipe::Label { .. }
            | Recipe::Class { .. }
            | Recipe::Css { .. }
            | Recipe::Pattern { .. } => false,
        }
    }

    fn path(&self) -> Option<&str> {
        match self {
            Recipe::Element { path, .. }
            | Recipe::Elements { path }
            | Recipe::Line { path, .. }
            | Recipe::Class { path, .. } => Some(path),
            Recipe::Piece { .. }
            | Recipe::Label { .. }
            | Recipe::Heading
            | Recipe::HeadingIn { .. }
            | Recipe::First { .. }
            | Recipe::Joined { .. }
            | Recipe::Drilled { .. }
            | Recipe::Css { .. }
            | Recipe::Pattern { .. } => None,
        }
    }
}

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
/// Maximum tokens of an element whose text becomes a column. A page nested 240 deep, with the rest of the page at every
/// level, took 9 s for these texts alone.
const MAX_ELEMENT: u32 = 1_000;

/// A row with its leaves and their alignment.
pub struct AlignedRow {
    pub span: Span,
    pub leaves: Vec<Leaf>,
    pub cells: Vec<Option<usize>>,
    pub headings: Rc<RowHeadings>,
}

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
    derived.extend(layout::labels(view, &spans).into_iter().map(|label| Recipe::Label { label }));
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
            hidden.push(!is_shown || is_constant(source, variant));
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
            count.1 += layout::lines(view, span, false).len();
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

/// Maximum elements of a row that columns are derived from; further ones are available as slots only.
const MAX_ELEMENTS: usize = 300;

/// An element with text: class path, ordinal among elements with this path, and token span.
type TextElement = (PathId, u32, Span);

/// The elements of the row with text, up to the last one needed.
fn elements_of(
    view: &PageView<'_>,
    row: Span,
    paths: &mut PathInterner,
    mut is_last: impl FnMut(PathId, u32) -> bool,
) -> Vec<TextElement> {
    let is_value = |node: NodeId| {
        let span = view.span(node);
        span.stop - span.start <= MAX_ELEMENT && span.stop <= row.stop && view.tokens.weight(span) > 0
    };
    let enough = |found: &[(PathId, u32, NodeId)]| {
        found.len() >= MAX_ELEMENTS || found.last().is_some_and(|&(path, nth, _)| is_last(path, nth))
    };
    let found = elements_in(&view.tokens, row, paths, |way| way.current().1, is_value, enough);
    found.into_iter().map(|(path, nth, node)| (path, nth, view.span(node))).collect()
}

/// Scan results of a row, computed before its columns are filled.
struct ScannedRow<'r> {
    elements: Vec<TextElement>,
    /// Words and signs of the values, by slot.
    scanned: HashMap<usize, Rc<ScannedValue<'r>>>,
}

impl ScannedRow<'_> {
    fn new(elements: Vec<TextElement>) -> Self {
        ScannedRow { elements, scanned: HashMap::new() }
    }
}

/// Fills the columns of a row.
pub struct Filler<'a> {
    sources: Vec<Option<&'a ColumnSource>>,
    /// Prepared recipes of the sources that a person defined.
    prepared: Vec<Option<PreparedRecipe<'a>>>,
    /// Path of each source that reads elements.
    paths: Vec<PathId>,
    /// The sources that read an element, by element: rows have more elements than are read.
    sources_by_element: HashMap<(PathId, u32), Vec<usize>>,
    /// How many elements of a row are read; unlimited if a source reads all elements with a path.
    max_elements: usize,
    needs_elements: bool,
    needs_lines: bool,
    /// Every source is a slot, each used once.
    is_plain: bool,
}

impl<'a> Filler<'a> {
    pub fn new(sources: &'a [Option<ColumnSource>], paths: &mut PathInterner) -> Filler<'a> {
        Filler::from_sources(sources.iter().map(Option::as_ref).collect(), paths)
    }

    pub fn from_sources(sources: Vec<Option<&'a ColumnSource>>, paths: &mut PathInterner) -> Filler<'a> {
        let recipes: Vec<Option<&'a Recipe>> =
            sources.iter().map(|source| source.and_then(ColumnSource::recipe)).collect();
        let needs_elements = recipes.iter().flatten().any(|recipe| recipe.path().is_some());
        let needs_lines = recipes.iter().flatten().any(|recipe| matches!(recipe, Recipe::Label { .. }));
        let ready = recipes.iter().map(|recipe| PreparedRecipe::new((*recipe)?, paths)).collect();
        let path = |recipe: &Option<&Recipe>| match recipe.and_then(Recipe::path) {
            Some(path) => paths.parse(path),
            None => PathId::TOP,
        };
        let paths: Vec<PathId> = recipes.iter().map(path).collect();
        let mut wanted: HashMap<(PathId, u32), Vec<usize>> = HashMap::new();
        for (i, recipe) in recipes.iter().enumerate() {
            if let Some(Recipe::Element { nth, .. } | Recipe::Line { nth, .. }) = recipe {
                wanted.entry((paths[i], *nth)).or_default().push(i);
            }
        }
        let asks_for_all = recipes.iter().flatten().any(|recipe| matches!(recipe, Recipe::Elements { .. }));
        // The row itself is not one of its elements.
        let asked_for = wanted.keys().filter(|(path, _)| *path != PathId::TOP).count();
        let asked_for = if asks_for_all { usize::MAX } else { asked_for };
        let mut slots = HashSet::new();
        let is_plain = sources.iter().flatten().all(|it| matches!(it, ColumnSource::Slot(slot) if slots.insert(*slot)));
        Filler {
            sources,
            prepared: ready,
            paths,
            sources_by_element: wanted,
            max_elements: asked_for,
            needs_elements,
            needs_lines,
            is_plain,
        }
    }

    /// As [`Filler::fill`], for a row that is not used again: values are moved out of it if every source is a slot.
    pub fn take(&self, view: &PageView<'_>, row: &mut AlignedRow, paths: &mut PathInterner) -> Vec<Option<String>> {
        if !self.is_plain {
            return self.fill(view, row, paths);
        }
        let AlignedRow { leaves, cells, .. } = row;
        let cell = |source: &Option<&ColumnSource>| match source {
            Some(ColumnSource::Slot(slot)) => {
                cells.get(*slot).copied().flatten().map(|leaf| leaves[leaf].take_values())
            }
            Some(ColumnSource::Derived(_)) | None => None,
        };
        self.sources.iter().map(cell).collect()
    }

    pub fn fill(&self, view: &PageView<'_>, row: &AlignedRow, paths: &mut PathInterner) -> Vec<Option<String>> {
        let mut left = self.max_elements;
        let is_last = |path: PathId, nth: u32| {
            left = left.saturating_sub(usize::from(self.sources_by_element.contains_key(&(path, nth))));
            left == 0
        };
        let elements = if self.needs_elements { elements_of(view, row.span, paths, is_last) } else { Vec::new() };
        self.cells(view, row, ScannedRow::new(elements), paths)
            .into_iter()
            .map(|cell| cell.map(Cow::into_owned))
            .collect()
    }

    /// The cells, copied only if they are assembled: most candidate columns repeat another and are dropped.
    fn cells<'r>(
        &'r self,
        view: &'r PageView<'_>,
        row: &'r AlignedRow,
        known: ScannedRow<'r>,
        paths: &mut PathInterner,
    ) -> Vec<Option<Cow<'r, str>>> {
        let ScannedRow { mut elements, scanned } = known;
        let mut places: Vec<Option<Span>> = Vec::new();
        if self.needs_elements {
            elements.push((PathId::TOP, 0, row.span));
            places.resize(self.sources.len(), None);
        }
        for &(path, nth, span) in &elements {
            let asking = self.sources_by_element.get(&(path, nth)).into_iter().flatten();
            asking.for_each(|&source| places[source] = Some(span));
        }
        let lines = if self.needs_lines { layout::lines(view, row.span, true) } else { Vec::new() };
        let lines: Vec<Cow<'r, str>> = lines.into_iter().map(|line| text_borrowed(&view.tokens, line)).collect();
        let mut cutter = PieceCutter { row, scanned, last: None };
        // The next column usually reads the next line of the same element.
        let mut lined: Option<(Span, Vec<Span>)> = None;
        let mut coded: Option<class_values::ClassedElements> = None;
        let cell = |(i, source): (usize, &Option<&'a ColumnSource>)| match source.as_ref()? {
            ColumnSource::Slot(slot) => {
                row.cells.get(*slot).copied().flatten().map(|leaf| row.leaves[leaf].all_values())
            }
            ColumnSource::Derived(recipe) => match recipe {
                Recipe::Piece { slot, cut, first, last } => cutter.piece(*slot, cut, *first, *last).map(Cow::Borrowed),
                Recipe::Element { .. } => Some(text_borrowed(&view.tokens, places[i]?)),
                Recipe::Elements { .. } => {
                    let parts = elements.iter().filter(|&&(path, _, _)| path == self.paths[i]);
                    let parts: Vec<Cow<'r, str>> =
                        parts.map(|&(_, _, span)| text_borrowed(&view.tokens, span)).collect();
                    (!parts.is_empty()).then(|| Cow::Owned(parts.join(LIST_SEPARATOR)))
                }
                Recipe::Line { line, .. } => {
                    let span = places[i]?;
                    if lined.as_ref().is_none_or(|(it, _)| *it != span) {
                        lined = Some((span, layout::lines(view, span, false)));
                    }
                    let (_, lines) = lined.as_ref()?;
                    Some(text_borrowed(&view.tokens, *lines.get(split::resolve_index(*line, lines.len())?)?))
                }
                Recipe::Label { label } => layout::value_after_label(&lines, label).map(Cow::Owned),
                Recipe::Class { nth, without, .. } => {
                    let coded = coded.get_or_insert_with(|| class_values::elements(view, row.span, paths));
                    class_values::value(view, coded, self.paths[i], *nth, without).map(Cow::Owned)
                }
                Recipe::Heading => row.headings.last.as_deref().map(Cow::Borrowed),
                Recipe::HeadingIn { element } => row.headings.level(element).map(Cow::Borrowed),
                Recipe::First { .. }
                | Recipe::Joined { .. }
                | Recipe::Drilled { .. }
                | Recipe::Css { .. }
                | Recipe::Pattern { .. } => self.prepared[i].as_ref()?.value(view, row, paths).map(Cow::Owned),
            },
        };
        self.sources.iter().enumerate().map(cell).collect()
    }
}

/// Splits values. Keeps the pieces of the last one, because the next column usually reads the next piece.
struct PieceCutter<'r> {
    row: &'r AlignedRow,
    scanned: HashMap<usize, Rc<ScannedValue<'r>>>,
    last: Option<(usize, &'r SplitRule, Pieces)>,
}

impl<'r> PieceCutter<'r> {
    fn value(&self, slot: usize) -> Option<&'r str> {
        self.row.cells.get(slot).copied().flatten().map(|leaf| self.row.leaves[leaf].value.as_str())
    }

    fn piece(&mut self, slot: usize, cut: &'r SplitRule, first: i32, last: i32) -> Option<&'r str> {
        let value = self.value(slot)?;
        if !self.last.as_ref().is_some_and(|(it, with, _)| *it == slot && *with == cut) {
            let scanned = self.scanned.entry(slot).or_insert_with(|| Rc::new(ScannedValue::new(value)));
            self.last = Some((slot, cut, cut.pieces(scanned)));
        }
        let (_, _, pieces) = self.last.as_ref()?;
        let (first, last) = (split::resolve_index(first, pieces.len())?, split::resolve_index(last, pieces.len())?);
        (first <= last).then(|| &value[pieces[first].0..pieces[last].1])
    }
}
