//! What is read of a row before its columns are filled: its elements with text, and the words of its values.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};

use super::split::ScannedValue;
use crate::learn::view::{PageView, PathId, PathInterner, elements_in};
use crate::page::NodeId;
use crate::page::tokens::Span;

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
