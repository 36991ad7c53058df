//! Lerman, Getoor, Minton, Knoblock: records of a list from the detail pages that it links to. What the list says of a record,
//! the record's detail page says too; where the markup shows no rows, that does.

mod words;
mod slot;
mod observe;
mod constraints;
mod model;
mod probability;
mod rows;

pub use observe::{ListExtract, MAX_DETAILS, Sighting, WordIndex};
pub use rows::{agreement, row_sets};
pub use words::{PageWord, words_of};

use super::PageView;
use crate::page::tokens::{Span, Tokens};

/// What list and detail pages have in common.
pub struct Evidence {
    /// The part of the list page that holds the table.
    pub slot: Span,
    /// Extracts of the slot that are seen on detail pages, in the order of the list.
    pub extracts: Vec<ListExtract>,
    /// How many detail pages there are.
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

/// One detail page says of no text that all records have it; that the text comes back in the list does.
fn keep_unique_texts(extracts: &mut Vec<ListExtract>) {
    let mut texts: Vec<u64> = extracts.iter().map(|it| it.text).collect();
    texts.sort_unstable();
    let count = |text: u64| texts.partition_point(|&it| it <= text) - texts.partition_point(|&it| it < text);
    extracts.retain(|it| count(it.text) == 1);
}

/// How the extracts are segmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// Constraint satisfaction: exact where list and detail pages agree, partial where not.
    Constraints,
    /// The probabilistic model: bears contradictions, and finds the columns too.
    Probability,
}

/// Which extract belongs to which record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// Of each extract: the detail page of its record.
    pub record_of: Vec<Option<usize>>,
    /// Of each extract: its column in the record; known to the probabilistic model only.
    pub column_of: Vec<Option<usize>>,
    /// Nothing that was seen contradicts it.
    pub is_exact: bool,
}

pub fn segment(evidence: &Evidence, solver: Solver) -> Segmentation {
    match solver {
        Solver::Constraints => constraints::segment(&evidence.extracts),
        Solver::Probability => probability::segment(&evidence.extracts),
    }
}

impl Segmentation {
    /// The extracts of each record, records in the order of the list.
    pub fn records(&self) -> Vec<Vec<usize>> {
        let mut records: Vec<(usize, Vec<usize>)> = Vec::new();
        for (i, record) in self.record_of.iter().enumerate() {
            let Some(record) = *record else { continue };
            match records.last_mut() {
                Some((last, extracts)) if *last == record => extracts.push(i),
                _ => records.push((record, vec![i])),
            }
        }
        records.into_iter().map(|(_, extracts)| extracts).collect()
    }
}

#[cfg(test)]
mod tests;
