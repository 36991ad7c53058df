//! Fills the columns of a row from their sources.

use std::borrow::Cow;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use regex::Regex;

use super::custom_values::{by_css, by_pattern, join_cells, piece};
use super::split::{self, Pieces, ScannedValue};
use super::{class_values, lines};
use crate::learn::align::AlignedRow;
use crate::learn::template::{ColumnSource, Delimiter, Recipe, Slot, SplitRule, compile_pattern};
use crate::learn::view::{LIST_SEPARATOR, PageView, PathId, PathInterner, elements_in, text, text_borrowed};
use crate::page::tokens::Span;
use crate::page::{NodeId, Selector};

/// Scan results of a row, computed before its columns are filled.
pub struct ScannedRow<'r> {
    pub elements: Vec<TextElement>,
    /// Words and signs of the values, by slot.
    pub scanned: HashMap<usize, Rc<ScannedValue<'r>>>,
}

impl ScannedRow<'_> {
    pub fn new(elements: Vec<TextElement>) -> Self {
        ScannedRow { elements, scanned: HashMap::new() }
    }
}

/// Maximum elements of a row that columns are derived from; further ones are available as slots only.
const MAX_ELEMENTS: usize = 300;

/// An element with text: class path, ordinal among elements with this path, and token span.
pub type TextElement = (PathId, u32, Span);

/// The elements of the row with text, up to the last one needed.
pub fn elements_of(
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
/// Maximum tokens of an element whose text becomes a column. A page nested 240 deep, with the rest of the page at every
/// level, took 9 s for these texts alone.
const MAX_ELEMENT: u32 = 1_000;

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
    pub fn cells<'r>(
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
        let lines = if self.needs_lines { lines::lines(view, row.span, true) } else { Vec::new() };
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
                        lined = Some((span, lines::lines(view, span, false)));
                    }
                    let (_, lines) = lined.as_ref()?;
                    Some(text_borrowed(&view.tokens, *lines.get(split::resolve_index(*line, lines.len())?)?))
                }
                Recipe::Label { label } => lines::value_after_label(&lines, label).map(Cow::Owned),
                Recipe::Class { nth, without, .. } => {
                    let coded = coded.get_or_insert_with(|| class_values::elements(view, row.span, paths));
                    class_values::value(view, coded, self.paths[i], *nth, without).map(Cow::Owned)
                }
                Recipe::Heading => row.headings.last.as_deref().map(Cow::Borrowed),
                Recipe::HeadingIn { element } => row.headings.level(element).map(Cow::Borrowed),
                _ => self.prepared[i].as_ref()?.value(view, row, paths).map(Cow::Owned),
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
            self.last = Some((slot, cut, scanned.pieces(cut)));
        }
        let (_, _, pieces) = self.last.as_ref()?;
        let (first, last) = (split::resolve_index(first, pieces.len())?, split::resolve_index(last, pieces.len())?);
        (first <= last).then(|| &value[pieces[first].0..pieces[last].1])
    }
}

/// A recipe prepared for many rows: selectors and regular expressions are compiled once.
enum PreparedRecipe<'a> {
    First(Filler<'a>),
    Joined(Filler<'a>, &'a str),
    Drilled { of: Filler<'a>, at: &'a Delimiter, slots: &'a [Slot], nth: usize },
    Css(Selector, Option<&'a str>),
    Pattern(Regex),
}

impl<'a> PreparedRecipe<'a> {
    /// `None` for recipes that [`Filler`] computes itself, and for an invalid selector or expression.
    fn new(recipe: &'a Recipe, paths: &mut PathInterner) -> Option<PreparedRecipe<'a>> {
        let filler = |of: &'a [ColumnSource], paths: &mut PathInterner| {
            Filler::from_sources(of.iter().map(Some).collect(), paths)
        };
        match recipe {
            Recipe::First { of } => Some(PreparedRecipe::First(filler(of, paths))),
            Recipe::Joined { of, with } => Some(PreparedRecipe::Joined(filler(of, paths), with)),
            Recipe::Drilled { of, at, slots, nth } => {
                let of = filler(std::slice::from_ref(of.as_ref()), paths);
                Some(PreparedRecipe::Drilled { of, at, slots, nth: *nth })
            }
            Recipe::Css { css, attribute } => {
                Some(PreparedRecipe::Css(Selector::parse(css).ok()?, attribute.as_deref()))
            }
            Recipe::Pattern { pattern } => Some(PreparedRecipe::Pattern(compile_pattern(pattern).ok()?)),
            _ => None,
        }
    }

    fn value(&self, view: &PageView<'_>, row: &AlignedRow, paths: &mut PathInterner) -> Option<String> {
        match self {
            PreparedRecipe::First(of) => of.fill(view, row, paths).into_iter().flatten().next(),
            PreparedRecipe::Joined(of, with) => join_cells(of.fill(view, row, paths), with),
            PreparedRecipe::Drilled { of, at, slots, nth } => {
                let value = of.fill(view, row, paths).pop().flatten()?;
                piece(slots, &at.pieces(&value), *nth)
            }
            PreparedRecipe::Css(selector, attribute) => by_css(view, row.span, selector, *attribute),
            PreparedRecipe::Pattern(pattern) => by_pattern(pattern, &text(&view.tokens, row.span)),
        }
    }
}
