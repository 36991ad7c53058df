//! What the list page and the detail pages have in common.

use super::observe::{self, ListExtract};
use super::slot;
use crate::learn::view::PageView;
use crate::page::tokens::{Span, Tokens};

/// What the list page and the detail pages have in common.
pub struct Evidence {
    /// The part of the list page that contains the table.
    pub slot: Span,
    /// Extracts of the slot that occur on detail pages, in the order of the list.
    pub extracts: Vec<ListExtract>,
    pub details: usize,
}

impl Evidence {
    /// `others` are further list pages of the same kind.
    pub fn new(list: &PageView<'_>, others: &[PageView<'_>], details: &[PageView<'_>]) -> Evidence {
        let others: Vec<&Tokens<'_>> = others.iter().map(|view| &*view.tokens).collect();
        let pages: Vec<&Tokens<'_>> = details.iter().map(|view| &*view.tokens).collect();
        let slot = slot::table_slot(&list.tokens, &others);
        let mut extracts = observe::observe(&list.tokens, slot, &others, &pages);
        if pages.len() == 1 {
            keep_unique_texts(&mut extracts);
        }
        Evidence { slot, extracts, details: pages.len().min(observe::MAX_DETAILS) }
    }
}

/// With a single detail page, texts that all records share cannot be recognised by it, but by being repeated in the
/// list.
fn keep_unique_texts(extracts: &mut Vec<ListExtract>) {
    let mut texts: Vec<u64> = extracts.iter().map(|it| it.text).collect();
    texts.sort_unstable();
    let count = |text: u64| texts.partition_point(|&it| it <= text) - texts.partition_point(|&it| it < text);
    extracts.retain(|it| count(it.text) == 1);
}
