//! All texts and links of a page, inside and outside its rows.

use crate::learn::view::{PageView, PathInterner, first_leaves};
use crate::page::Tree;

/// Maximum number of values of a page.
const MAX_VALUES: usize = 20_000;

pub fn page_values(page: &Tree) -> impl Iterator<Item = String> {
    let view = PageView::new(page);
    let leaves = first_leaves(&view.tokens, view.tokens.all(), &mut PathInterner::default(), MAX_VALUES);
    leaves.into_iter().map(|leaf| leaf.value)
}
