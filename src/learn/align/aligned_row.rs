//! A row with its leaves and their alignment.

use std::rc::Rc;

use super::headings::RowHeadings;
use crate::learn::view::Leaf;
use crate::page::tokens::Span;

pub struct AlignedRow {
    pub span: Span,
    pub leaves: Vec<Leaf>,
    pub cells: Vec<Option<usize>>,
    pub headings: Rc<RowHeadings>,
}
