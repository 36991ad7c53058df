//! Columns defined by a person: one field with several structures, joined or split columns (OLERA's roll up and drill
//! down), and, as the last resort, a CSS selector or a regular expression.

use regex::Regex;

use super::align::{Aligner, align};
use super::columns::{AlignedRow, Filler, Recipe};
use super::enclose::Delimiter;
use super::find::PageView;
use super::leaf::{Leaf, LeafKind, text};
use super::paths::{PathId, PathInterner};
use super::profile::Profile;
use super::row_rule;
use super::template::{ColumnSource, Slot};
use crate::page::tokens::{Span, TokenKind};
use crate::page::{NodeId, Selector};

/// A recipe prepared for many rows: selectors and regular expressions are compiled once.
pub enum PreparedRecipe<'a> {
    First(Filler<'a>),
    Joined(Filler<'a>, &'a str),
    Drilled { of: Filler<'a>, at: &'a Delimiter, slots: &'a [Slot], nth: usize },
    Css(Selector, Option<&'a str>),
    Pattern(Regex),
}

impl<'a> PreparedRecipe<'a> {
    /// `None` for recipes that [`Filler`] computes itself, and for an invalid selector or expression.
    pub fn new(recipe: &'a Recipe, paths: &mut PathInterner) -> Option<PreparedRecipe<'a>> {
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
            Recipe::Pattern { pattern } => Some(PreparedRecipe::Pattern(row_rule::compile_pattern(pattern).ok()?)),
            _ => None,
        }
    }

    pub fn value(&self, view: &PageView<'_>, row: &AlignedRow, paths: &mut PathInterner) -> Option<String> {
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

/// Joins the non-empty cells; empty ones add no delimiter.
pub fn join_cells(cells: impl IntoIterator<Item = Option<String>>, with: &str) -> Option<String> {
    let parts: Vec<String> = cells.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(with))
}

/// Splits the values and aligns the pieces: the profile of each column of pieces, and the pieces of each value.
pub fn drill_down_values(values: &[Option<&str>], at: &Delimiter) -> (Vec<Slot>, Vec<Vec<Option<String>>>) {
    let mut paths = PathInterner::default();
    let pieces: Vec<Vec<Leaf>> =
        values.iter().map(|value| value.iter().flat_map(|it| at.pieces(it)).map(leaf).collect()).collect();
    let alignment = align(&pieces, &mut paths);
    let rows: Vec<Vec<Option<String>>> = pieces
        .iter()
        .zip(&alignment.cells)
        .map(|(pieces, cells)| cells.iter().map(|cell| cell.map(|leaf| pieces[leaf].value.clone())).collect())
        .collect();
    (alignment.slots(&pieces, &paths), rows)
}

fn leaf(value: String) -> Leaf {
    let nowhere = Span { start: 0, stop: 0 };
    Leaf::new(LeafKind::Text, (PathId::TOP, PathId::TOP), value, NodeId(0), nowhere)
}

/// The piece aligned to the nth column of pieces.
fn piece(slots: &[Slot], pieces: &[String], nth: usize) -> Option<String> {
    let mut paths = PathInterner::default();
    let mut aligner = Aligner::new(slots.iter().map(|slot| Profile::from_slot(slot, &mut paths)).collect());
    let leaves: Vec<Leaf> = pieces.iter().cloned().map(leaf).collect();
    let place = aligner.align(&leaves, &mut paths).get(nth).copied().flatten()?;
    Some(pieces[place].clone())
}

/// Text or attribute of the first match in the row. `:scope` is the row, if it is one element.
pub fn by_css(view: &PageView<'_>, row: Span, selector: &Selector, attribute: Option<&str>) -> Option<String> {
    let tree = view.tree();
    let tokens = view.tokens.slice(row);
    let elements = tokens.iter().filter(|token| token.kind == TokenKind::Open).map(|token| token.node);
    let scope = tokens.first().map(|first| first.node).filter(|&first| view.span(first) == row);
    let node = selector.first_of(tree, elements, scope)?;
    let value = match attribute {
        Some(name) => tree.attribute(node, name)?.trim().to_owned(),
        None => text(&view.tokens, view.span(node)),
    };
    (!value.is_empty()).then_some(value)
}

/// The first group that matched, or the whole match.
pub fn by_pattern(pattern: &Regex, text: &str) -> Option<String> {
    let found = pattern.captures(text)?;
    let group = found.iter().skip(1).flatten().next().or_else(|| found.get(0))?;
    let value = group.as_str().trim();
    (!value.is_empty()).then(|| value.to_owned())
}
