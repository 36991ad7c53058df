//! Slots into columns: each slot as it is, and what can be made of it: pieces of a text (drill down), whole elements
//! (roll up).

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::features::sample;
use super::find::View;
use super::leaf::{Leaf, LeafKind, PathId, Paths, Way, fingerprint, text};
use super::split::{self, Cut};
use super::template::{Slot, Source, Variant};
use crate::page::tokens::{Span, TokenKind};

/// How a column is made that is not a slot as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recipe {
    /// A piece of a slot's text, counted from 0, or from the end: -1 is the last.
    Piece { slot: usize, cut: Cut, index: i32 },
    /// The whole text of the nth element with this class path.
    Element { path: String, nth: u32 },
    /// The texts of all elements with this class path.
    Elements { path: String },
}

impl Recipe {
    pub fn slot(&self) -> Option<usize> {
        match self {
            Recipe::Piece { slot, .. } => Some(*slot),
            Recipe::Element { .. } | Recipe::Elements { .. } => None,
        }
    }
}

/// Columns of a template at most, derived ones included.
const MAX_COLUMNS: usize = 240;
/// An element is rolled up when at least this share of the rows has it.
const MIN_PRESENCE: f64 = 0.3;

/// A row and what the aligner said of it.
pub struct LaidRow {
    pub span: Span,
    pub leaves: Vec<Leaf>,
    pub cells: Vec<Option<usize>>,
}

/// Finds the variant's sources, and says of each whether it is hidden at first: constants are, and all derived columns.
pub fn find(view: &View<'_>, variant: &mut Variant, rows: &[LaidRow], paths: &mut Paths) -> Vec<bool> {
    let mut candidates: Vec<Source> = (0..variant.slots.len()).map(Source::Slot).collect();
    candidates.extend(pieces(&variant.slots, rows));
    candidates.extend(elements(view, rows, paths));
    let candidates: Vec<Option<Source>> = candidates.into_iter().map(Some).collect();
    let filler = Filler::new(&candidates, paths);
    let table: Vec<Vec<Option<String>>> = rows.iter().map(|row| filler.fill(view, row, paths)).collect();
    let mut seen = HashSet::new();
    let mut hidden = Vec::new();
    for (j, source) in candidates.iter().flatten().enumerate() {
        let values = table.iter().map(|row| row[j].as_deref());
        let is_slot = matches!(source, Source::Slot(_));
        if hidden.len() >= MAX_COLUMNS || values.clone().all(|value| value.is_none()) {
            continue;
        }
        // Slots stay even when they say the same; what is derived must say something new.
        if seen.insert(column_print(values)) || is_slot {
            hidden.push(!is_slot || is_constant(source, variant));
            variant.sources.push(Some(source.clone()));
        }
    }
    hidden
}

fn is_constant(source: &Source, variant: &Variant) -> bool {
    match source {
        Source::Slot(slot) => {
            let slot = &variant.slots[*slot];
            slot.constant().is_some() && slot.count >= variant.rows
        }
        Source::Derived(_) => false,
    }
}

fn column_print<'a>(values: impl Iterator<Item = Option<&'a str>>) -> u64 {
    values.fold(0, |print: u64, value| {
        print.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value.map_or(1, fingerprint)
    })
}

fn pieces(slots: &[Slot], rows: &[LaidRow]) -> Vec<Source> {
    let mut sources = Vec::new();
    for (slot, _) in slots.iter().enumerate().filter(|(_, slot)| slot.kind == LeafKind::Text) {
        let values: Vec<&str> =
            rows.iter().filter_map(|row| Some(row.leaves[row.cells[slot]?].value.as_str())).collect();
        for cut in split::cuts(&values) {
            let counts: Vec<usize> = values.iter().map(|value| cut.pieces(value).len()).collect();
            let most = counts.iter().copied().max().unwrap_or(0).min(split::MAX_PIECES);
            let ends_vary = counts.iter().any(|&count| count != counts[0]);
            let from_end = if ends_vary { -2..0 } else { 0..0 };
            for index in (0..most as i32).chain(from_end) {
                sources.push(Source::Derived(Recipe::Piece { slot, cut: cut.clone(), index }));
            }
        }
    }
    sources
}

/// Elements of the rows that hold text: one by one, and those with the same class path together.
fn elements(view: &View<'_>, rows: &[LaidRow], paths: &mut Paths) -> Vec<Source> {
    let spans: Vec<Span> = rows.iter().map(|row| row.span).collect();
    let sampled = sample(&spans);
    let mut order: Vec<(PathId, u32)> = Vec::new();
    let mut counts: HashMap<(PathId, u32), usize> = HashMap::new();
    for &row in &sampled {
        for (path, nth, _) in elements_of(view, row, paths) {
            let count = counts.entry((path, nth)).or_default();
            if *count == 0 {
                order.push((path, nth));
            }
            *count += 1;
        }
    }
    let often = |key: &(PathId, u32)| counts[key] as f64 >= MIN_PRESENCE * sampled.len() as f64;
    let mut sources: Vec<Source> = Vec::new();
    for key in order.iter().filter(|key| often(key)) {
        sources.push(Source::Derived(Recipe::Element { path: paths.print(key.0), nth: key.1 }));
    }
    for (path, _) in order.iter().filter(|key| key.1 == 0 && counts.contains_key(&(key.0, 1))) {
        sources.push(Source::Derived(Recipe::Elements { path: paths.print(*path) }));
    }
    sources
}

/// Of each element of the row with text: its class path, how many like it came before, and its stretch.
fn elements_of(view: &View<'_>, row: Span, paths: &mut Paths) -> Vec<(PathId, u32, Span)> {
    let mut way = Way::new(&view.tokens, row);
    let mut nths: HashMap<PathId, u32> = HashMap::new();
    let mut elements = Vec::new();
    for token in view.tokens.slice(row) {
        match token.kind {
            TokenKind::Open => {
                way.enter(view.tree(), token.node, paths);
                let span = view.span(token.node);
                let path = way.here().1;
                let nth = nths.entry(path).or_default();
                if view.tokens.weight(span) > 0 && span.stop <= row.stop {
                    elements.push((path, *nth, span));
                }
                *nth += 1;
            }
            TokenKind::Close => way.leave(),
            TokenKind::Text | TokenKind::Line => {}
        }
        if elements.len() >= super::leaf::MAX_LEAVES {
            break;
        }
    }
    elements
}

/// Fills the columns of a row.
pub struct Filler<'a> {
    sources: &'a [Option<Source>],
    /// Of each source that is about elements: their path.
    paths: Vec<PathId>,
    needs_elements: bool,
}

impl<'a> Filler<'a> {
    pub fn new(sources: &'a [Option<Source>], paths: &mut Paths) -> Filler<'a> {
        let path = |source: &Option<Source>| match source {
            Some(Source::Derived(Recipe::Element { path, .. } | Recipe::Elements { path })) => paths.parse(path),
            _ => PathId::TOP,
        };
        let paths: Vec<PathId> = sources.iter().map(path).collect();
        let needs_elements = paths.iter().any(|&path| path != PathId::TOP);
        Filler { sources, paths, needs_elements }
    }

    pub fn fill(&self, view: &View<'_>, row: &LaidRow, paths: &mut Paths) -> Vec<Option<String>> {
        let elements = if self.needs_elements { elements_of(view, row.span, paths) } else { Vec::new() };
        let slot = |slot: usize| row.cells.get(slot).copied().flatten().map(|leaf| row.leaves[leaf].value.as_str());
        let cell = |(source, &wanted): (&Option<Source>, &PathId)| match source.as_ref()? {
            Source::Slot(it) => slot(*it).map(str::to_owned),
            Source::Derived(Recipe::Piece { slot: it, cut, index }) => cut.piece(slot(*it)?, *index),
            Source::Derived(Recipe::Element { nth, .. }) => {
                let (_, _, span) = elements.iter().find(|&&(path, it, _)| path == wanted && it == *nth)?;
                Some(text(&view.tokens, *span))
            }
            Source::Derived(Recipe::Elements { .. }) => {
                let parts = elements.iter().filter(|&&(path, _, _)| path == wanted);
                let parts: Vec<String> = parts.map(|&(_, _, span)| text(&view.tokens, span)).collect();
                (!parts.is_empty()).then(|| parts.join(" "))
            }
        };
        self.sources.iter().zip(&self.paths).map(cell).collect()
    }
}
